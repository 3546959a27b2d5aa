// SPDX-License-Identifier: Apache-2.0
//
// One evaluation of the dynamics knows nothing of the World frame, of the order of a file, or of units. Every mechanism is
// described twice, the second time changed, and the results are changed back and compared.
//
// Tolerance: 1e-13 of the largest acceleration (reaction), or 4 u cond(K) where that is more: the two descriptions are rounded
// differently, which is an uncertainty of u in the inputs.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/campaign.hpp"
#include "support/redescribed.hpp"

namespace invar::testing {
namespace {

constexpr double kUnit = 1.1e-16;

Sample draw(int i) {
  MechanismOptions o;
  o.bodies = 2 + i % 9;
  o.floating = i % 3 == 1;
  o.loops = i % 4 == 0 ? 0 : i % 3;
  o.redundant = i % 5 == 2 ? 1 : 0;
  o.couplings = i % 6 == 0 ? 1 : 0;
  o.mass_ratio = 100;
  return random_sample(seed(500) + static_cast<std::uint64_t>(i), o);
}

/// The same without stops and friction on joints that mix angles with lengths.
Sample draw_with_plain_units(int i) {
  Sample s = draw(i);
  for (JointSpec& j : s.mechanism.spec.joints)
    if (j.kind == JointKind::Free || j.kind == JointKind::Cylindrical || j.kind == JointKind::Planar)
      j.friction.clear(), j.limits = {};
  s.model = build(s.mechanism.spec);
  return s;
}

void expect_same(const Sample& s, const Redescribed& there, int i) {
  const std::string what = "case " + std::to_string(i) + ": " + describe(s.mechanism.spec);
  const Answer here = evaluated(s.mechanism.spec, s.model, s.bodies, s.load, what);
  const Answer other = evaluated(there.spec, build(there.spec), there.bodies, there.load, what);
  if (here.accelerations.empty() || other.accelerations.empty()) return;
  const Differences d = differences(s.model, s.load, there.answer_back(other), here);
  const double bound = std::max(1e-13, 4 * kUnit * judge(s.model, s.bodies, s.load).condition);
  EXPECT_LT(d.acceleration, bound) << what;
  EXPECT_LT(d.reaction, bound) << what;
  EXPECT_LT(d.coupling, bound) << what;
}

constexpr int kCases = 36;

TEST(Evaluation, IsTheSameInEveryWorld) {
  for (int i = 0; i < cases(kCases); ++i) {
    const Sample s = draw(i);
    Random random(static_cast<std::uint64_t>(i), 7);
    expect_same(s, in_another_world(s, random), i);
  }
}

TEST(Evaluation, IsTheSameInEveryOrderOfBodiesAndJoints) {
  for (int i = 0; i < cases(kCases); ++i) {
    const Sample s = draw(i);
    Random random(static_cast<std::uint64_t>(i), 8);
    expect_same(s, in_another_order(s, random), i);
  }
}

void expect_same_in(const Units& u) {
  for (int i = 0; i < cases(kCases); ++i) {
    const Sample s = draw_with_plain_units(i);
    expect_same(s, in_other_units(s, u), i);
  }
}

TEST(Evaluation, IsTheSameInMillimetresGramsAndMilliseconds) { expect_same_in({1e3, 1e3, 1e3}); }
TEST(Evaluation, IsTheSameInKilometresTonnesAndHours) { expect_same_in({1e-3, 1e-3, 1.0 / 3600}); }
TEST(Evaluation, IsTheSameInMicrometresAndMicrograms) { expect_same_in({1e6, 1e9, 1}); }

}  // namespace
}  // namespace invar::testing
