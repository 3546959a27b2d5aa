// SPDX-License-Identifier: Apache-2.0
//
// The inertia of a mechanism, body by body, across edits: to the bit that of partition_at, and not one part more than the edit
// reaches is computed anew.
#include <gtest/gtest.h>

#include "invar/mech/assemble.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/minimal/partition.hpp"
#include "invar/model/live_model.hpp"
#include "support/campaign.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

// Bodies whose motion the joint takes part in: beyond it in the tree.
std::vector<int> beyond(const JointTree& tree, int joint) {
  std::vector<int> out;
  for (int b = 0; b < static_cast<int>(tree.model().bodies().size()); ++b)
    for (int i = tree.node_of_body(b); i >= 0; i = tree.nodes()[static_cast<std::size_t>(i)].inner)
      if (tree.nodes()[static_cast<std::size_t>(i)].joint == joint) out.push_back(b);
  return out;
}

void expect_same(const LivePartition& live, const Partition& p, const std::string& what) {
  ASSERT_EQ(live.parts().size(), p.Gamma_parts.size());
  for (std::size_t b = 0; b < live.parts().size(); ++b) EXPECT_EQ(live.parts()[b], p.Gamma_parts[b]) << what << ", body " << b;
  EXPECT_EQ(live.Gamma(), p.Gamma) << what;
}

}  // namespace

TEST(LivePartition, ComputesThePartsThatAnEditReachesAndNoOthers) {
  for (int k = 0; k < cases(30); ++k) {
    MechanismOptions options{.bodies = 3 + k % 5, .kinds = {}};
    for (int kind = 0; kind < kJointKinds; ++kind)
      if (kind != static_cast<int>(JointKind::Free)) options.kinds.push_back(static_cast<JointKind>(kind));
    options.mass_ratio = 10, options.locked = false, options.loops = k % 3 == 2 ? 1 : 0;
    const Sample sample = random_sample(seed(6000) + static_cast<std::uint64_t>(k), options);
    auto live = LiveModel::build(sample.mechanism.spec);
    ASSERT_TRUE(live);
    const Model& model = *live->model();
    Minimal minimal(model);
    State x;
    minimal.set(sample.bodies, x);
    LivePartition parts(minimal.tree());
    ASSERT_TRUE(parts.update(x.q, x.wound).ok());
    EXPECT_EQ(parts.touched().size(), model.bodies().size()) << "the first time all of them";
    ASSERT_TRUE(parts.update(x.q, x.wound).ok());
    EXPECT_TRUE(parts.touched().empty());
    const std::vector<MatX> before = parts.parts();
    const std::string what = "case " + std::to_string(k) + ": " + describe(sample.mechanism.spec);
    Random random(seed(6100) + static_cast<std::uint64_t>(k));
    const auto refresh = [&] {
      ASSERT_TRUE(minimal.adopt(live->change()));
      ASSERT_TRUE(minimal.tree().choose(x.q).ok());
      ASSERT_TRUE(parts.update(x.q, x.wound).ok());
      Partition p;
      ASSERT_TRUE(partition_at(minimal.tree(), x.q, x.v, x.wound, sample.load, p).ok());
      expect_same(parts, p, what);
    };
    for (int b = 0; b < static_cast<int>(model.bodies().size()); ++b) {
      // Another mass at the same place, in any mechanism; with the centre of mass elsewhere where no loop measures lengths by it.
      const std::string name = model.bodies()[static_cast<std::size_t>(b)].name;
      Inertia inertia = random_inertia(random, 1, 0.3);
      if (options.loops > 0) inertia.p_BC = model.bodies()[static_cast<std::size_t>(b)].inertia.p_BC;
      ASSERT_TRUE(live->apply(SetInertia{name, inertia}));
      refresh();
      EXPECT_EQ(parts.touched(), std::vector<int>{b}) << what;
    }
    if (options.loops > 0) continue;
    for (std::size_t j = 0; j < model.joints().size(); ++j) {
      const JointSpec& joint = live->spec().joints[j];
      Pose at = joint.at_parent;
      at.p += random_vector(random, 0.1);
      ASSERT_TRUE(live->apply(SetJointFrame{joint.name, at, {}}));
      refresh();
      EXPECT_EQ(parts.touched(), beyond(minimal.tree(), static_cast<int>(j))) << what << ", joint " << joint.name;
    }
  }
}

// A floating part is described by its root: with another mass there Γ of the root is new, with another centre of mass all of
// them.
TEST(LivePartition, SeesTheRootOfAFloatingPart) {
  ModelSpec spec;
  for (const char* name : {"heavy", "light"}) spec.bodies.push_back({name, solid_box(1, {0.3, 0.2, 0.1}), {}, {}});
  spec.bodies[0].inertia.mass = 5;
  JointSpec hinge;
  hinge.name = "hinge", hinge.kind = JointKind::Revolute, hinge.parent = "heavy", hinge.child = "light";
  hinge.at_child.p = Vec3(0.4, 0, 0);
  spec.joints.push_back(hinge);
  auto live = LiveModel::build(spec);
  ASSERT_TRUE(live);
  Minimal minimal(*live->model());
  LivePartition parts(minimal.tree());
  const auto touched_by = [&](const Edit& edit) {
    EXPECT_TRUE(live->apply(edit) && minimal.adopt(live->change()));
    State x;
    minimal.set(place(*live->model(), JointState::initial(*live->model())), x);
    EXPECT_TRUE(parts.update(x.q, x.wound).ok());
    return parts.touched();
  };
  Inertia inertia = spec.bodies[0].inertia;
  touched_by(SetInertia{"heavy", inertia});
  inertia.mass = 6;
  EXPECT_EQ(touched_by(SetInertia{"heavy", inertia}), std::vector<int>{0});
  EXPECT_EQ(touched_by(Attach{"bag", "light", solid_sphere(0.5, 0.1)}), std::vector<int>{1});
  inertia.p_BC = Vec3(0.1, 0, 0);
  EXPECT_EQ(touched_by(SetInertia{"heavy", inertia}), (std::vector<int>{0, 1}));
}

}  // namespace invar::testing
