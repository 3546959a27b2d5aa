// SPDX-License-Identifier: Apache-2.0
// What a step costs, and what it keeps: steppers over the tree against rk4 on the augmented formulation, in the same run. Every
// line gives microseconds per step (best of several stretches of processor time), Newton iterations per step, and over the whole
// ride the largest residuals of position and velocity and of the energy, relative to the largest kinetic energy.
// The bars are those of a prototype in C++ (clang, Zen 4); the column `bar` is time over bar.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "clock.hpp"
#include "invar/integrate/make.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/natural.hpp"
#include "invar/run/observers.hpp"
#include "invar/run/start.hpp"

namespace {

using namespace invar;
using bench::now;

struct Case {
  std::string name;
  Model model;
  double h;
  long steps;                     // over which accuracy is looked at
  double plain, shelled, order4;  // bars, us; 0: none
};

struct Cost {
  double us = 0, iterations = 0, gap = 0, rate = 0, energy = 0;
};

// One method on one mechanism: first the time of undisturbed stretches, then the same motion again with eyes open.
Cost measure(const Case& c, bool natural, const char* method, Composition composition) {
  std::unique_ptr<Formulation> formulation;
  if (natural)
    formulation = std::make_unique<Natural>(c.model);
  else
    formulation = std::make_unique<Augmented>(c.model);
  const State start = *state_at(*formulation, Start(c.model));
  System system(*formulation);
  IntegratorOptions options;
  options.stepper.composition = composition;
  auto integrator = std::move(*make_integrator(method, options));
  Cost cost;
  cost.us = 1e300;
  double done = 0;
  const long stretch = std::max(10l, c.steps / 10);
  State x = start;
  integrator->reset(system, x, c.h);
  for (int k = 0; k < 10; ++k) {
    const double began = now();
    for (long i = 0; i < stretch; ++i)
      if (!integrator->step(system, 0, c.h, x, done).ok()) return {std::nan("")};
    cost.us = std::min(cost.us, 1e6 * (now() - began) / static_cast<double>(stretch));
  }
  Observer observer(c.model);
  Observation seen;
  x = start;
  integrator->reset(system, x, c.h);
  observer.observe(0, *formulation, x, seen);
  double kinetic = 0, iterations = 0;
  for (long i = 0; i < c.steps; ++i) {
    if (!integrator->step(system, 0, c.h, x, done).ok()) return {std::nan("")};
    observer.observe(0, *formulation, x, seen, integrator->report());
    iterations += integrator->report().iterations;
    kinetic = std::max(kinetic, seen.energy.kinetic);
    cost.energy = std::max(cost.energy, std::abs(seen.hamiltonian_balance));
    cost.gap = std::max(cost.gap, seen.error.position);
    cost.rate = std::max(cost.rate, seen.error.velocity);
  }
  cost.energy /= kinetic;
  cost.iterations = iterations / static_cast<double>(c.steps);
  return cost;
}

void line(const Case& c, const char* what, const Cost& cost, double bar, double rk4) {
  fmt::print("{:<18} {:<28} {:>9.3f} {:>6} {:>7.2f} {:>6.2f} {:>9.1e} {:>9.1e} {:>9.1e}\n", c.name, what, cost.us,
             bar > 0 ? fmt::format("{:.2f}", cost.us / bar) : "", cost.us / rk4, cost.iterations, cost.gap, cost.rate,
             cost.energy);
}

void run(const Case& c) {
  const Cost rk4 = measure(c, false, "rk4", Composition::None);
  line(c, "augmented rk4", rk4, 0, rk4.us);
  line(c, "discrete_gradient", measure(c, true, "discrete_gradient", Composition::None), c.plain, rk4.us);
  line(c, "conserving", measure(c, true, "conserving", Composition::None), c.shelled, rk4.us);
  line(c, "discrete_gradient triple_jump", measure(c, true, "discrete_gradient", Composition::TripleJump), c.order4, rk4.us);
  line(c, "conserving suzuki", measure(c, true, "conserving", Composition::Suzuki), 0, rk4.us);
}

/// Paper C's chain with n links.
Model chain(int n, bool springs) {
  ModelSpec spec;
  spec.gravity = {0, -1, 0};
  const auto link = [](int i) { return "link" + std::to_string(i); };
  for (int i = 0; i < n; ++i) {
    BodySpec body;
    body.name = link(i);
    body.inertia = {1, Vec3(0.5, 0, 0), Mat3::Identity()};
    spec.bodies.push_back(body);
    JointSpec joint;
    joint.name = "j" + std::to_string(i);
    joint.kind = JointKind::Revolute;
    if (i > 0) joint.parent = link(i - 1), joint.at_parent.p = {1, 0, 0};
    joint.child = body.name;
    spec.joints.push_back(joint);
    if (!springs) continue;
    TendonSpec tendon;
    tendon.name = "s" + std::to_string(i);
    tendon.points = {{i > 0 ? link(i - 1) : "world", "", Vec3(i > 0 ? 1 : 0, 0.4, 0)}, {body.name, "", Vec3(1, 0.4, 0)}};
    tendon.stiffness = 1, tendon.length = 0.2;
    spec.tendons.push_back(tendon);
  }
  return *Model::build(spec);
}

Model top() {
  ModelSpec spec;
  BodySpec body;
  body.name = "top";
  body.inertia = {1, Vec3(0, 0, 0.3), Vec3(0.02, 0.02, 0.01).asDiagonal()};
  spec.bodies.push_back(body);
  JointSpec joint;
  joint.name = "tip", joint.kind = JointKind::Spherical, joint.child = "top";
  spec.joints.push_back(joint);
  spec.initial["tip"] = {std::cos(0.3), std::sin(0.3), 0, 0};
  return *Model::build(spec);
}

Model file(const std::string& name) { return *read_model(std::string(INVAR_MODELS) + "/" + name + ".toml"); }

}  // namespace

int main() {
  fmt::print("{:<18} {:<28} {:>9} {:>6} {:>7} {:>6} {:>9} {:>9} {:>9}\n", "mechanism", "method", "us/step", "bar", "rk4",
             "Newton", "gap", "rate", "energy");
  run({"three links", chain(3, false), 0.01, 10000, 0.25, 1.2, 0.8});
  run({"three, springs", chain(3, true), 0.01, 10000, 0.45, 0, 0});
  run({"1000 links", chain(1000, false), 0.01, 100, 80, 0, 0});
  run({"1000, springs", chain(1000, true), 0.01, 100, 150, 0, 0});
  run({"heavy top", top(), 0.001, 10000, 0.8, 1.4, 0});
  run({"ring7", file("ring7"), 0.001, 10000, 6, 10, 0});
  run({"ring20", file("ring20"), 0.001, 10000, 19, 29, 0});
  run({"ring50", file("ring50"), 0.001, 10000, 55, 80, 0});
  run({"four-bar", file("four_bar"), 0.001, 10000, 0, 0, 0});
  run({"stewart", file("stewart"), 0.001, 10000, 29, 46, 0});
  run({"bricard", file("bricard"), 0.001, 10000, 0, 0, 0});
}
