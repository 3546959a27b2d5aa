// SPDX-License-Identifier: Apache-2.0
//
// Bodies placed by joint coordinates show these coordinates again, whichever body of a joint was placed first.
#include <gtest/gtest.h>

#include "invar/mech/assemble.hpp"
#include "invar/mech/kinematics.hpp"
#include "support/campaign.hpp"
#include "support/dense_kkt.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

TEST(PlacedBodies, HaveTheJointCoordinatesAndRatesThatWereAsked) {
  for (int i = 0; i < cases(60); ++i) {
    MechanismOptions o;
    o.bodies = 2 + i % 8;
    const Sample s = random_sample(seed(500) + static_cast<std::uint64_t>(i), o);
    JointState wanted = JointState::initial(s.model);
    joint_coordinates(s.model, s.bodies, wanted.q, wanted.v);
    wanted.known.assign(s.model.joints().size(), true);
    const Bodies placed = place(s.model, wanted);
    VecX q, v;
    joint_coordinates(s.model, placed, q, v);
    // Positions and velocities pass through at most nine joints with numbers up to 20, each rounding a dozen times; a
    // quaternion and its negative are the same attitude.
    constexpr double round_off = 9 * 12 * 20 * 2.2e-16;
    for (const Joint& joint : s.model.joints()) {
      const int ball = joint.kind == JointKind::Spherical ? 0 : (joint.kind == JointKind::Free ? 3 : joint.nq);
      const VecX a = wanted.q.segment(joint.q0, joint.nq), b = q.segment(joint.q0, joint.nq);
      const double turned_over = ball < joint.nq && a.tail<4>().dot(b.tail<4>()) < 0 ? -1 : 1;
      EXPECT_LT((a.head(ball) - b.head(ball)).norm() + (a.tail(joint.nq - ball) - turned_over * b.tail(joint.nq - ball)).norm(),
                round_off)
          << name(joint.kind) << " in " << describe(s.mechanism.spec);
    }
    EXPECT_LT((v - wanted.v).lpNorm<Eigen::Infinity>(), round_off) << describe(s.mechanism.spec);
    const ConstraintError error = constraint_error(s.model, placed, VecX::Zero(s.model.nv()));
    EXPECT_LT(error.position, round_off) << describe(s.mechanism.spec);
    EXPECT_LT(error.velocity, round_off) << describe(s.mechanism.spec);
  }
}

}  // namespace
}  // namespace invar::testing
