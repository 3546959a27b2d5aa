// SPDX-License-Identifier: Apache-2.0
// A double pendulum swings for two seconds; its energy stays what it was.
#include <cmath>
#include <cstdio>

#include "invar/integrate/make.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/energy.hpp"
#include "invar/mech/kinematics.hpp"

namespace {

using namespace invar;

double total_energy(const Model& model, const Bodies& bodies) {
  VecX q(model.nq()), v(model.nv());
  joint_coordinates(model, bodies, q, v);
  return energy(model, bodies, q, v).total();
}

}  // namespace

int main() {
  const auto model = read_model("models/double_pendulum.toml");
  if (!model) return std::puts(model.error().text().c_str()), 2;

  // Start: out to the side, at rest.
  JointState start = JointState::initial(*model);
  start.q.setConstant(1.0);
  start.known.assign(start.known.size(), true);
  Bodies bodies = place(*model, start);
  const double before = total_energy(*model, bodies);

  // Formulation, what acts on it (nothing but gravity), and a method.
  Augmented dynamics(*model);
  System system(dynamics);
  auto rk4 = make_integrator("rk4");
  State x;
  dynamics.set(bodies, x);
  const double h = 1e-3;
  (*rk4)->reset(system, x, h);

  for (int k = 0; k < 2000; ++k) {
    double done = 0;
    if (!(*rk4)->step(system, k * h, h, x, done).ok()) return 3;
  }
  dynamics.bodies(x, bodies);
  const double drift = std::abs(total_energy(*model, bodies) - before);
  std::printf("energy moved by %.1e J\n", drift);
  return drift < 1e-7 ? 0 : 1;
}
