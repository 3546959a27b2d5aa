// SPDX-License-Identifier: Apache-2.0
//
// A frame is brought to where it was seen in another configuration: by some configuration, not necessarily that one.

#include <gtest/gtest.h>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/inverse_kinematics.hpp"
#include "support/campaign.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

struct Arm {
  Model model;
  JointTree tree;
  VecX q, wound;
  int frame;

  Arm(const Mechanism& mechanism, const ModelSpec& spec) : model(build(spec)), tree(model), frame(*model.find_frame("tip")) {
    const Bodies bodies = at_rest(model, mechanism.X_WB);
    wound = wound_at(model, bodies, VecX());
    VecX v;
    tree.measure(bodies, wound, q, v);
    EXPECT_TRUE(tree.choose(q).ok());
  }
};

Arm draw(std::uint64_t at, int bodies, int loops, bool limits) {
  Random random(at, 91);
  MechanismOptions options;
  options.bodies = bodies, options.loops = loops, options.passive = false, options.locked = false;
  options.kinds = {JointKind::Revolute, JointKind::Prismatic, JointKind::Spherical, JointKind::Cylindrical};
  const Mechanism mechanism = random_mechanism(random, options);
  ModelSpec spec = mechanism.spec;
  FrameSpec tip;
  tip.name = "tip", tip.body = spec.bodies.back().name, tip.at = random_pose(random, 0.3);
  spec.frames.push_back(tip);
  for (std::size_t j = 0; limits && j < spec.joints.size(); ++j) {
    if (spec.joints[j].kind != JointKind::Revolute && spec.joints[j].kind != JointKind::Prismatic) continue;
    const double is = mechanism.coordinates[j][0];
    spec.joints[j].limits.lower = {is - 0.1}, spec.joints[j].limits.upper = {is + 0.1};
    spec.joints[j].limits.stiffness = {1e3};
  }
  return Arm(mechanism, spec);
}

// A configuration some way off, on the closures.
Bodies elsewhere(const Arm& arm, double by) {
  VecX u = VecX::Zero(arm.tree.nv()), v = u, q;
  for (const int i : arm.tree.independent()) u[i] = by * std::sin(3.0 * i + 1);
  arm.tree.retract(arm.q, u, q);
  Bodies bodies;
  return arm.tree.complete(q, v, arm.wound, bodies).ok() ? bodies : Bodies{};
}

TEST(Reach, BringsAFrameToWhereItCanBe) {
  int reached = 0, asked = 0;
  for (int k = 0; k < cases(40); ++k) {
    const std::uint64_t at = seed(7000) + static_cast<std::uint64_t>(k);
    const Arm arm = draw(at, 3 + k % 5, k % 3 == 2 ? 1 : 0, false);
    const Bodies there = elsewhere(arm, 0.2);
    if (there.empty()) continue;
    Reach out;
    ASSERT_TRUE(reach(arm.tree, arm.model.frames()[static_cast<std::size_t>(arm.frame)], frame_pose(arm.model, arm.frame, there),
                      arm.q, arm.wound, {}, out)
                    .ok());
    ++asked;
    if (!out.reached) continue;
    ++reached;
    // What it says is so, and the mechanism is closed.
    const Pose is = frame_pose(arm.model, arm.frame, out.bodies), should = frame_pose(arm.model, arm.frame, there);
    EXPECT_LE((is.p - should.p).norm(), 1e-11 * (1 + arm.model.length())) << at;
    EXPECT_LE(log_so3(normalized(is.q.conjugate() * should.q)).norm(), 1e-11) << at;
    EXPECT_LE(constraint_error(arm.model, out.bodies, arm.wound).position, 1e-12 * (1 + arm.model.length())) << at;
  }
  // Least squares may end in a hollow or at a singular configuration: rarely, from this near.
  EXPECT_GE(10 * reached, 9 * asked) << reached << " of " << asked;
  EXPECT_GT(asked, 0);
}

TEST(Reach, StaysWithinLimits) {
  int bound = 0;
  for (int k = 0; k < cases(30); ++k) {
    const std::uint64_t at = seed(7200) + static_cast<std::uint64_t>(k);
    const Arm arm = draw(at, 3 + k % 4, 0, true);
    const Bodies there = elsewhere(arm, 0.5);
    if (there.empty()) continue;
    Reach out;
    ASSERT_TRUE(reach(arm.tree, arm.model.frames()[static_cast<std::size_t>(arm.frame)], frame_pose(arm.model, arm.frame, there),
                      arm.q, arm.wound, {}, out)
                    .ok());
    Reach start;
    ReachOptions none;
    none.iterations = 0;
    ASSERT_TRUE(reach(arm.tree, arm.model.frames()[static_cast<std::size_t>(arm.frame)], frame_pose(arm.model, arm.frame, there),
                      arm.q, arm.wound, none, start)
                    .ok());
    EXPECT_LE(out.position / arm.model.length() + out.attitude, 2 * (start.position / arm.model.length() + start.attitude)) << at;
    for (int f = 0; f < arm.tree.nv(); ++f) {
      const Joint& joint = arm.model.joints()[static_cast<std::size_t>(arm.tree.joint_of(f))];
      const Passive& p = joint.passive[static_cast<std::size_t>(arm.tree.freedom_of_model(f) - joint.v0)];
      if (joint.nq != joint.nv || !std::isfinite(p.lower)) continue;
      const double is = out.q[arm.tree.coordinate_of(f)];
      EXPECT_GE(is, p.lower - 1e-12) << at;
      EXPECT_LE(is, p.upper + 1e-12) << at;
      bound += is < p.lower + 1e-9 || is > p.upper - 1e-9;
    }
  }
  EXPECT_GT(bound, 0) << "no limit was met: the law was not tried";
}

}  // namespace
}  // namespace invar::testing
