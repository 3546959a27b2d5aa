// SPDX-License-Identifier: Apache-2.0
//
// Steppers and their compositions on mechanisms, against the unreduced formulation with dopri5 at 1e-13: do positions converge
// with the order that each claims, and does the composition keep the energy that a step keeps?
#include <gtest/gtest.h>

#include <cmath>

#include "invar/integrate/make.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/energy.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/natural.hpp"
#include "support/march.hpp"

namespace invar::testing {
namespace {

struct Motion {
  std::string name;
  Model model;
  Bodies start;
  double T;      ///< s
  int coarsest;  ///< steps
};

/// A shipped model with its hinges moving at these rates.
Motion moving(const std::string& name, double T, int coarsest, const std::vector<double>& rates) {
  Model model = *Model::build(*read_model_file(INVAR_SOURCE_DIR "/models/" + name + ".toml"));
  JointState joints = JointState::initial(model);
  for (std::size_t k = 0; k < rates.size(); ++k) joints.v[static_cast<Eigen::Index>(k)] = rates[k];
  auto bodies = make_consistent(model, place(model, joints));
  EXPECT_TRUE(bodies);
  return {name, std::move(model), std::move(*bodies), T, coarsest};
}

/// In the plane with springs and without loops; in the plane with a loop; in space with a loop. The steps are short enough for
/// the term of the next order, which the rounds of a velocity shell add, to be small.
std::vector<Motion> motions() {
  std::vector<Motion> out;
  out.push_back(moving("paper_c_springs", 1, 16, {0.7, -1.2, 0.4}));
  out.push_back(moving("four_bar", 0.5, 160, {1.0}));
  out.push_back(moving("ring7", 0.5, 160, {}));
  return out;
}

struct End {
  Bodies bodies;
  double drift = 0;  ///< J; largest change of the energy that the method keeps
};

End after(const Motion& m, Formulation& formulation, Integrator& integrator, double h) {
  System system(formulation);
  State x;
  formulation.set(m.start, x);
  VecX q(m.model.nq()), v(m.model.nv());
  joint_coordinates(m.model, m.start, q, v);
  const double H = energy(m.model, m.start, q, v).total();
  End out;
  const March march_ended = march(system, integrator, 0, m.T, h, x, [&](double, double) {
    double now = integrator.report().hamiltonian;
    if (std::isnan(now)) {
      formulation.bodies(x, out.bodies);
      joint_coordinates(m.model, out.bodies, q, v);
      unwind(m.model, x.wound, q);
      now = energy(m.model, out.bodies, q, v).total();
    }
    out.drift = std::max(out.drift, std::abs(now - H));
  });
  EXPECT_TRUE(march_ended.verdict.ok()) << m.name;
  formulation.bodies(x, out.bodies);
  return out;
}

Bodies reference(const Motion& m) {
  IntegratorOptions tight;
  tight.dopri5.relative_tolerance = tight.dopri5.position_tolerance = tight.dopri5.velocity_tolerance = 1e-13;
  Augmented formulation(m.model);
  return after(m, formulation, **make_integrator("dopri5", tight), m.T).bodies;
}

struct Error {
  double position = 0, drift = 0;
};
Error error(const Motion& m, const Bodies& exact, const char* method, const StepperOptions& options, int steps) {
  IntegratorOptions o;
  o.stepper = options;
  Natural formulation(m.model);
  const End end = after(m, formulation, **make_integrator(method, o), m.T / steps);
  Error out{0, end.drift};
  for (std::size_t b = 0; b < exact.size(); ++b)
    out.position = std::max(out.position, (end.bodies[b].p_WC - exact[b].p_WC).norm());
  return out;
}

// Symmetric methods have even powers of h only: the slope over one halving is off by O(h²). Steps are chosen so that errors of
// 1e-12 (round-off and the reference) are not reached. A composition that did not raise the order would be off by two.
void expect_order(const Motion& m, const Bodies& exact, const char* method, const StepperOptions& options, int order) {
  const auto made = make_integrator(method, [&] {
    IntegratorOptions o;
    o.stepper = options;
    return o;
  }());
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ((*made)->order(), order);
  const Error coarse = error(m, exact, method, options, m.coarsest), fine = error(m, exact, method, options, 2 * m.coarsest);
  const double slope = std::log2(coarse.position / fine.position);
  EXPECT_GE(slope, order - 0.3) << coarse.position << " " << fine.position;
  // `conserving` finds the multipliers of its shell in one pass, from extrapolation: what that leaves unsymmetric is small of a
  // higher power of h, and where it is the larger part of the error, as in compositions, that falls faster.
  const bool one_pass = std::string(method) == "conserving" && options.composition != Composition::None;
  if (one_pass) return;
  EXPECT_LE(slope, order + 0.3) << coarse.position << " " << fine.position;
}

TEST(Steppers, AndTheirCompositionsConvergeWithTheOrderThatTheyClaim) {
  for (const Motion& m : motions()) {
    const Bodies exact = reference(m);
    for (const std::string& name : stepper_names()) {
      SCOPED_TRACE(m.name + " " + name);
      StepperOptions o;
      expect_order(m, exact, name.c_str(), o, 2);
      o.composition = Composition::Suzuki;
      expect_order(m, exact, name.c_str(), o, 4);
      o.composition = Composition::TripleJump;
      expect_order(m, exact, name.c_str(), o, 4);
    }
  }
}

// Steppers that keep their energy exactly. Round-off: some hundred sub-steps of a few units in the last place of 10 J.
TEST(Compositions, KeepTheEnergyThatAStepKeeps) {
  for (const Motion& m : motions()) {
    const Bodies exact = reference(m);
    for (const char* name : {"conserving", "discrete_gradient"})
      for (const Composition kind : {Composition::None, Composition::TripleJump, Composition::Suzuki}) {
        SCOPED_TRACE(m.name + " " + name);
        StepperOptions o;
        o.composition = kind;
        EXPECT_LE(error(m, exact, name, o, m.coarsest).drift, 1e-12);
      }
  }
}

}  // namespace
}  // namespace invar::testing
