// SPDX-License-Identifier: Apache-2.0
//
// Motions, not only single evaluations, are the same in every World, order of a file and system of units. The measure is what
// rounding does anyway: the same motion from an initial state changed by 1e-15 of itself. Ten times that is allowed.
#include <gtest/gtest.h>

#include <algorithm>
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
  const double h = 0.005 * seconds;
  rk4->reset(system, x, h);
  for (int k = 0; k < 200; ++k) {
    double done = 0;
    if (!rk4->step(system, h * k, h, x, done).ok()) return {};
  }
  Bodies out;
  dynamics.bodies(x, out);
  return out;
}

/// Half a unit in the last place of the largest number, once per stage: what 200 steps of four stages round off by themselves
/// where nothing makes it grow.
double rounding(const Bodies& bodies) {
  double largest = 1;
  for (const BodyState& b : bodies)
    for (const Vec3* v : {&b.p_WC, &b.v_WC, &b.w_WB}) keep_largest(largest, v->norm());
  return 200 * 4 * 1.1e-16 * largest;
}

/// Trees, floating trees, loops and redundant loops in turn.
Sample draw(int i) {
  MechanismOptions o;
  o.bodies = 2 + i % 6, o.floating = i % 3 == 1, o.loops = i % 2, o.redundant = i % 4 > 1 ? 1 : 0, o.mass_ratio = 10;
  o.passive = false, o.planar = i % 8 == 5;
  o.kinds = {JointKind::Revolute,    JointKind::Spherical, JointKind::Universal,
             JointKind::Cylindrical, JointKind::Prismatic, JointKind::Planar};
  return random_sample(seed(900) + static_cast<std::uint64_t>(i), o);
}

/// What nudges of the initial state do to the motion within one second, in seconds and metres of the first description. The
/// largest of a few: one of them may happen to lie in a quiet direction. Nothing if one of them runs into a dead point.
template <class Back>
std::optional<double> noise_of(const ModelSpec& spec, const Bodies& start, double seconds, const Bodies& end, const Back& back,
                               Random& random) {
  double noise = 0;
  for (int n = 0; n < 4; ++n) {
    const auto beside = after_one_second(spec, nudged(random, start), seconds);
    if (!beside) return {};
    keep_largest(noise, apart(end, back(*beside)));
  }
  return noise;
}

/// `change` makes the other description. Neither of the two is the first one, so the noise is the larger one of both (a World
/// farther away has larger positions). Motions that end at a dead point, or do so when they are
/// nudged, are left out; the count at the end allows for a quarter.
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
    const auto here_noise = noise_of(s.mechanism.spec, s.bodies, 1, *here, [](const Bodies& b) { return b; }, random);
    if (!here_noise) continue;
    const Redescribed other = change(s, random);
    const auto moved = after_one_second(other.spec, other.bodies, other.seconds);
    ASSERT_TRUE(moved) << what;
    const Bodies there = other.bodies_back(*moved);
    const auto there_noise = noise_of(other.spec, other.bodies, other.seconds, there, other.bodies_back, random);
    if (!there_noise) continue;
    EXPECT_LT(apart(*here, there), 10 * std::max(*here_noise, *there_noise) + rounding(*here)) << what;
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
