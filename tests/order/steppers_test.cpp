// SPDX-License-Identifier: Apache-2.0
//
// Steppers and their compositions on mechanisms, against the unreduced formulation with dopri5 at 1e-13: do positions converge
// with the order that each claims, and does the composition keep the energy that a step keeps?
#include <gtest/gtest.h>

#include <cmath>

#include "support/convergence.hpp"

namespace invar::testing {
namespace {

struct Motion : Moving {
  double T;      ///< s
  int coarsest;  ///< steps
};

/// In the plane with springs and without loops; in the plane with a loop; in space with a loop. The steps are short enough for
/// the term of the next order, which the rounds of a velocity shell add, to be small.
std::vector<Motion> motions() {
  return {{shipped("paper_c_springs", {0.7, -1.2, 0.4}), 1, 16},
          {shipped("four_bar", {1.0}), 0.5, 160},
          {shipped("ring7"), 0.5, 160}};
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
  const Stepped coarse = stepped(m, exact, method, options, m.T, m.coarsest);
  const Stepped fine = stepped(m, exact, method, options, m.T, 2 * m.coarsest);
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
    const Bodies exact = exact_end(m, m.T);
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
    const Bodies exact = exact_end(m, m.T);
    for (const char* name : {"conserving", "discrete_gradient"})
      for (const Composition kind : {Composition::None, Composition::TripleJump, Composition::Suzuki}) {
        SCOPED_TRACE(m.name + " " + name);
        StepperOptions o;
        o.composition = kind;
        EXPECT_LE(stepped(m, exact, name, o, m.T, m.coarsest).kept, 1e-12);
      }
  }
}

}  // namespace
}  // namespace invar::testing
