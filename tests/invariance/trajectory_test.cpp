// SPDX-License-Identifier: Apache-2.0
//
// Motions, not only single evaluations, are the same in every World, order of a file and system of units. The measure is what
// rounding does anyway: the same motion from an initial state changed by 1e-15 of itself. Ten times that is allowed.
#include <gtest/gtest.h>

#include <optional>

#include "invar/base/largest.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/augmented.hpp"
#include "support/campaign.hpp"
#include "support/redescribed.hpp"

namespace invar::testing {
namespace {

/// The state after one second. Nothing where a loop runs into a dead point on the way: there the motion has no continuation.
std::optional<Bodies> after_one_second(const ModelSpec& spec, const Bodies& start, double seconds = 1) {
  const Model model = build(spec);
  Augmented dynamics(model);
  System system(dynamics);
  State x;
  dynamics.set(start, x);
  const auto rk4 = std::move(*make_integrator("rk4"));
  rk4->reset(x);
  const double h = 0.005 * seconds;
  for (int k = 0; k < 200; ++k) {
    double done = 0;
    if (!rk4->step(system, h * k, h, x, done).ok()) return {};
  }
  Bodies out;
  dynamics.bodies(x, out);
  return out;
}

double apart(const Bodies& a, const Bodies& b) {
  double d = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    keep_largest(d, (a[k].p_WC - b[k].p_WC).norm());
    keep_largest(d, (a[k].v_WC - b[k].v_WC).norm());
    keep_largest(d, (a[k].w_WB - b[k].w_WB).norm());
    keep_largest(d, log_so3(a[k].q_WB.conjugate() * b[k].q_WB).norm());
  }
  return d;
}

Bodies nudged(Random& random, const Bodies& bodies) {
  Bodies out = bodies;
  for (BodyState& b : out) {
    for (Vec3* v : {&b.p_WC, &b.v_WC, &b.w_WB}) *v += 1e-15 * v->norm() * random_unit(random);
    b.q_WB = turned(b.q_WB, 1e-15 * random_unit(random));
  }
  return out;
}

/// Trees, floating trees, loops and redundant loops in turn.
Sample draw(int i) {
  MechanismOptions o;
  o.bodies = 2 + i % 6, o.floating = i % 3 == 1, o.loops = i % 2, o.redundant = i % 4 > 1 ? 1 : 0, o.mass_ratio = 10;
  o.passive = false;
  o.kinds = {JointKind::Revolute,    JointKind::Spherical, JointKind::Universal,
             JointKind::Cylindrical, JointKind::Prismatic, JointKind::Planar};
  return random_sample(seed(900) + static_cast<std::uint64_t>(i), o);
}

/// `change` makes the other description; motions that end at a dead point are counted and left out.
template <class Change>
void expect_same_motion(const Change& change) {
  int compared = 0;
  const int total = cases(16);
  for (int i = 0; i < total; ++i) {
    const Sample s = draw(i);
    const std::string what = "case " + std::to_string(i) + ": " + describe(s.mechanism.spec);
    Random random(static_cast<std::uint64_t>(i), 11);
    const auto here = after_one_second(s.mechanism.spec, s.bodies);
    if (!here) continue;
    // The largest of a few nudges: one of them may happen to lie in a quiet direction.
    double noise = 0;
    bool complete = true;
    for (int n = 0; n < 6; ++n) {
      const auto beside = after_one_second(s.mechanism.spec, nudged(random, s.bodies));
      complete = complete && beside;
      if (beside) keep_largest(noise, apart(*here, *beside));
    }
    const Redescribed there = change(s, random);
    const auto moved = after_one_second(there.spec, there.bodies, there.seconds);
    ASSERT_TRUE(complete && moved) << what;
    EXPECT_LT(apart(*here, there.bodies_back(*moved)), 10 * noise) << what;
    ++compared;
  }
  EXPECT_GE(compared, 3 * total / 4);
}

TEST(Motion, IsTheSameInEveryWorld) {
  expect_same_motion([](const Sample& s, Random& random) { return in_another_world(s, random); });
}

TEST(Motion, IsTheSameInEveryOrderOfBodiesAndJoints) {
  expect_same_motion([](const Sample& s, Random& random) { return in_another_order(s, random); });
}

// Powers of ten are no powers of two: every number is rounded anew.
TEST(Motion, IsTheSameInMillimetresGramsAndMilliseconds) {
  expect_same_motion([](const Sample& s, Random&) { return in_other_units(s, {1e3, 1e3, 1e3}); });
}
TEST(Motion, IsTheSameInKilometresTonnesAndHours) {
  expect_same_motion([](const Sample& s, Random&) { return in_other_units(s, {1e-3, 1e-3, 1.0 / 3600}); });
}

}  // namespace
}  // namespace invar::testing
