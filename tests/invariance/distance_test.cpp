// SPDX-License-Identifier: Apache-2.0
//
// Accuracy does not depend on the distance L from the World origin. A position at distance L is rounded to u L when it is written
// down: hinges and balls never subtract positions, so they do not even see that; joints that slide measure how far by a
// difference of positions, and can know it no better than the positions say (docs/augmented.md). The law for them: an evaluation
// adds nothing to that. So positions are drawn that stay the same numbers when they are moved: multiples of 2^-32 m, below 2^5 m,
// moved by multiples of 1 m up to 2^20 m, fit into 53 bits.
//
// Tolerance: 1e-12, or 8 u cond(K) with loops, as for the judge: arms and angles are the same numbers at both places.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/kinematics.hpp"
#include "support/campaign.hpp"
#include "support/newton_euler.hpp"
#include "support/redescribed.hpp"

namespace invar::testing {
namespace {

const Vec3 kFar(1048000, -654321, 786543);

Vec3 on_grid(const Vec3& p) {
  const double grid = 0x1p-32;
  return (p / grid).array().round() * grid;
}

/// The sample with positions on the grid, at the origin or moved. Gaps of 2^-32 open in its joints, the same at both places.
Sample placed(const Sample& s, const Vec3& at) {
  Sample out = s;
  for (JointSpec& j : out.mechanism.spec.joints)
    if (j.parent == "world") j.at_parent.p = on_grid(j.at_parent.p) + at;
  for (BodyState& b : out.bodies) b.p_WC = on_grid(b.p_WC) + at;
  out.model = build(out.mechanism.spec);
  return out;
}

void expect_the_same_far_away(const MechanismOptions& o, std::uint64_t which) {
  const Sample s = random_sample(which, o);
  const std::string what = "seed " + std::to_string(which) + ": " + describe(s.mechanism.spec);
  for (const BodyState& b : s.bodies) ASSERT_LT(b.p_WC.norm(), 32) << "does not fit on the grid\n  " << what;
  const Sample here = placed(s, Vec3::Zero()), there = placed(s, kFar);
  const Answer a = evaluated(here.mechanism.spec, here.model, here.bodies, here.load, what),
               b = evaluated(there.mechanism.spec, there.model, there.bodies, there.load, what);
  if (a.accelerations.empty() || b.accelerations.empty()) return;
  const double bound = std::max(1e-12, o.loops > 0 ? 8 * 1.1e-16 * judge(here.model, here.bodies, here.load).condition : 0.0);
  const Differences d = differences(here.model, here.load, b, a);
  EXPECT_LT(d.acceleration, bound) << what;
  EXPECT_LT(d.reaction, bound) << what;
  EXPECT_LT(d.coupling, bound) << what;
}

MechanismOptions with(std::vector<JointKind> kinds, int i, int loops) {
  MechanismOptions o;
  o.bodies = 3 + i % 10, o.loops = loops, o.mass_ratio = 100, o.floating = i % 3 == 1, o.kinds = std::move(kinds);
  return o;
}

TEST(FarFromTheOrigin, SlidingJointsAreAsExactAsNearIt) {
  for (int i = 0; i < cases(30); ++i)
    expect_the_same_far_away(with({JointKind::Prismatic, JointKind::Cylindrical, JointKind::Planar, JointKind::Screw,
                                   JointKind::Free, JointKind::Revolute},
                                  i, 0),
                             seed(960) + static_cast<std::uint64_t>(i));
}

TEST(FarFromTheOrigin, LoopsAreAsExactAsNearIt) {
  for (int i = 0; i < cases(30); ++i) expect_the_same_far_away(with({}, i, 1 + i % 3), seed(990) + static_cast<std::uint64_t>(i));
}

TEST(FarFromTheOrigin, EveryKindAloneIsAsExactAsNearIt) {
  for (int kind = 0; kind < kJointKinds; ++kind)
    for (int i = 0; i < 3; ++i)
      expect_the_same_far_away(with({static_cast<JointKind>(kind)}, 3 * i, i % 2), seed(1030) + static_cast<std::uint64_t>(i));
}

// Where sliding distances are not on the grid, what is lost is the rounding of the data: two ends, each u L in three components.
TEST(FarFromTheOrigin, ASlideIsMeasuredAsWellAsItsEndsAreKnown) {
  ModelSpec spec;
  for (const char* name : {"rail", "slider"}) spec.bodies.push_back({name, solid_box(1, {0.3, 0.2, 0.1}), {}, {}});
  JointSpec slide;
  slide.name = "slide", slide.kind = JointKind::Prismatic, slide.parent = "rail", slide.child = "slider";
  slide.axis = Vec3(1, 2, 2) / 3;
  spec.joints = {slide};
  const Model model = build(spec);
  Random random(5);
  for (int i = 0; i < 20; ++i) {
    const double q = random.uniform(-1, 1);
    Bodies bodies(2);
    bodies[0].p_WC = kFar, bodies[1].p_WC = kFar + q * slide.axis;
    VecX measured, v;
    joint_coordinates(model, bodies, measured, v);
    EXPECT_NEAR(measured[0], q, 2 * 1.1e-16 * kFar.norm()) << i;
  }
}

// Hinges, balls and universal joints never subtract positions: any data will do.
TEST(FarFromTheOrigin, TurningJointsDoNotSeeTheirPositions) {
  for (int i = 0; i < cases(12); ++i) {
    MechanismOptions o = with({JointKind::Revolute, JointKind::Spherical, JointKind::Universal}, i, i % 2);
    o.floating = false;
    const Sample s = random_sample(seed(950) + static_cast<std::uint64_t>(i), o);
    Sample there = s;
    for (JointSpec& j : there.mechanism.spec.joints)
      if (j.parent == "world") j.at_parent.p += kFar;
    for (BodyState& b : there.bodies) b.p_WC += kFar;
    there.model = build(there.mechanism.spec);
    const std::string what = describe(s.mechanism.spec);
    const Answer a = evaluated(s.mechanism.spec, s.model, s.bodies, s.load, what),
                 b = evaluated(there.mechanism.spec, there.model, there.bodies, there.load, what);
    if (a.accelerations.empty() || b.accelerations.empty()) continue;
    const Differences d = differences(s.model, s.load, b, a);
    const double bound = std::max(1e-12, o.loops > 0 ? 8 * 1.1e-16 * judge(s.model, s.bodies, s.load).condition : 0.0);
    EXPECT_LT(d.acceleration, bound) << what;
    EXPECT_LT(d.reaction, bound) << what;
  }
}

// Assembled from joint coordinates: what rounding leaves of the joints far away (u L) is no gap to close.
TEST(Distance, DoesNotMatterToMechanismsAssembledByJoints) {
  for (int i = 0; i < cases(20); ++i) {
    MechanismOptions o;
    o.bodies = 4, o.kinds = {JointKind::Revolute, JointKind::Spherical, JointKind::Universal}, o.passive = false,
    o.mass_ratio = 10;
    const Sample s = random_sample(seed(77) + static_cast<std::uint64_t>(i), o);
    const auto vdot = [&](const Vec3& at) {
      ModelSpec spec = s.mechanism.spec;
      for (JointSpec& j : spec.joints)
        if (j.parent == "world") j.at_parent.p += at;
      const Model model = build(spec);
      Random random(static_cast<std::uint64_t>(i), 5);
      JointState joints = JointState::initial(model);
      for (int k = 0; k < joints.v.size(); ++k) joints.v[k] = random.normal();
      for (const Joint& j : model.joints())
        for (int k = 0; k < j.nq && j.nq == j.nv; ++k) joints.q[j.q0 + k] = random.normal();
      Augmented dynamics(model);
      State x;
      dynamics.set(*make_consistent(model, place(model, joints)), x);
      Evaluation e;
      EXPECT_TRUE(dynamics.evaluate(x, Load(model), e).ok());
      expect_newton_euler(spec, e, Load(model));
      return e.vdot;
    };
    const VecX here = vdot(Vec3::Zero());
    for (const double far : {1e4, 1e7, 1e9})
      EXPECT_LT((vdot(far * Vec3(1, -2, 0.5)) - here).norm(), 1e-11 * (1 + here.norm())) << i << " at " << far;
  }
}

}  // namespace
}  // namespace invar::testing
