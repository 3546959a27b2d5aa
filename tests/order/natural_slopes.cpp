// SPDX-License-Identifier: Apache-2.0
//
// Orders of the steppers of natural coordinates, from a moving start: a planar chain with tendons, springs and dampers, and three
// bodies in space with a tendon. The reference is another formulation and another method: Augmented with dopri5 at 1e-13, whose
// own error (some 1e-12) is below every error measured here by two orders of magnitude.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/integrate/petrov_galerkin.hpp"
#include "invar/integrate/rattle.hpp"
#include "support/convergence.hpp"
#include "support/march.hpp"
#include "support/natural_samples.hpp"

namespace invar::testing {
namespace {

constexpr double kEnd = 0.5;  // s

struct Case {
  Sample sample;
  State reference;  // in natural coordinates
};

Case with_reference(Sample sample) {
  const Bodies bodies = exact_end({"", sample.mechanism.spec, sample.model, sample.bodies}, kEnd);
  Case out{std::move(sample), {}};
  Natural natural(out.sample.model);
  natural.set(bodies, out.reference);
  return out;
}

const std::vector<Case>& cases_in_both_forms() {
  static const std::vector<Case> all = [] {
    std::vector<Case> cases;
    cases.push_back(with_reference(planar_chain(77, 3, true, 2)));
    cases.push_back(with_reference(natural_sample(
        78,
        {.bodies = 3, .mass_ratio = 3, .passive = false, .locked = false, .kinds = {JointKind::Revolute, JointKind::Spherical}},
        1, true)));
    return cases;
  }();
  return all;
}

struct Slopes {
  double x, v;
};

Slopes slopes(const Case& c, Integrator& method, int steps) {
  double ex[2], ev[2];
  for (int fine = 0; fine < 2; ++fine) {
    Natural natural(c.sample.model);
    System system(natural);
    State x;
    natural.set(c.sample.bodies, x);
    EXPECT_TRUE(march(c.sample.mechanism.spec, system, method, 0, kEnd, kEnd / (fine ? 2 * steps : steps), x).verdict.ok());
    ex[fine] = (x.q - c.reference.q).norm();
    ev[fine] = (x.v - c.reference.v).norm();
  }
  return {std::log2(ex[0] / ex[1]), std::log2(ev[0] / ev[1])};
}

// Steps at which the leading term rules, per degree.
int steps_of(int degree) { return degree == 0 ? 64 : degree == 1 ? 32 : 16; }

// Slopes between h and h/2 deviate by what the next terms of the error leave: 0.1 for second and fourth order, 0.5 beyond.
TEST(PetrovGalerkin, HasOrderTwoMPlusTwoInPositions) {
  for (const Case& c : cases_in_both_forms())
    for (int m = 0; m <= 3; ++m) {
      PetrovGalerkin method({.degree = m});
      EXPECT_NEAR(slopes(c, method, steps_of(m)).x, 2 * m + 2, m < 2 ? 0.1 : 0.5) << "degree " << m;
      EXPECT_EQ(method.order(), 2 * m + 2);
    }
}

TEST(PetrovGalerkin, StabilisedHasItsOrderInPositionsAndVelocities) {
  for (const Case& c : cases_in_both_forms())
    for (int m = 0; m <= 3; ++m) {
      PetrovGalerkin method({.degree = m, .stabilised = true});
      const Slopes s = slopes(c, method, steps_of(m));
      EXPECT_NEAR(s.x, 2 * m + 2, m < 2 ? 0.1 : 0.5) << "degree " << m;
      EXPECT_GT(s.v, 2 * m + 2 - (m < 2 ? 0.1 : 0.5)) << "degree " << m;
    }
}

// Without stabilisation velocities leave the constraints by O(h²) for m = 1, whatever positions do.
TEST(PetrovGalerkin, PlainVelocitiesLoseOrder) {
  for (const Case& c : cases_in_both_forms()) {
    PetrovGalerkin method({.degree = 1});
    EXPECT_NEAR(slopes(c, method, steps_of(1)).v, 2, 0.1);
  }
}

TEST(Rattle, HasOrderTwo) {
  for (const Case& c : cases_in_both_forms()) {
    Rattle method;
    const Slopes s = slopes(c, method, 256);
    EXPECT_NEAR(s.x, 2, 0.1);
    EXPECT_NEAR(s.v, 2, 0.1);
  }
}

TEST(Midpoint, HasOrderTwo) {
  for (const Case& c : cases_in_both_forms()) EXPECT_NEAR(slopes(c, *make_midpoint(), 64).x, 2, 0.1);
}

// Flows take natural coordinates too.
TEST(Rk4, HasOrderFourInNaturalCoordinates) {
  for (const Case& c : cases_in_both_forms()) {
    const auto rk4 = std::move(*make_integrator("rk4"));
    EXPECT_NEAR(slopes(c, *rk4, 128).x, 4, 0.2);
  }
}

}  // namespace
}  // namespace invar::testing
