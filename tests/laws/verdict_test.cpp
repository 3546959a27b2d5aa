// SPDX-License-Identifier: Apache-2.0
//
// Which reactions follow from the motion, on mechanisms where a pencil can tell.
#include <gtest/gtest.h>

#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "support/newton_euler.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

struct Seen {
  ModelSpec spec;
  Model model;
  Evaluation e;
  Mobility mobility;
  const JointVerdict& at(const char* joint) const { return e.verdicts[static_cast<std::size_t>(*model.find_joint(joint))]; }
  const Wrench& reaction(const char* joint) const { return e.reactions[static_cast<std::size_t>(*model.find_joint(joint))]; }
};

Seen evaluate(const std::string& name) {
  const ModelSpec spec = *read_model_file(INVAR_SOURCE_DIR "/models/" + name + ".toml");
  Seen seen{spec, build(spec), {}, {}};
  Augmented dynamics(seen.model);
  State x;
  dynamics.set(*make_consistent(seen.model, place(seen.model, JointState::initial(seen.model))), x);
  EXPECT_TRUE(dynamics.evaluate(x, Load(seen.model), seen.e).ok());
  expect_newton_euler(spec, seen.e, Load(seen.model));
  seen.mobility = dynamics.mobility();
  return seen;
}

TEST(Door, SharesEveryReactionBetweenItsHinges) {
  const Seen door = evaluate("door");
  EXPECT_EQ(door.mobility.rank, 5);
  EXPECT_EQ(door.mobility.freedoms, 1);
  const JointVerdict& lower = door.at("lower_hinge");
  ASSERT_EQ(lower.together_with.size(), 1u);
  EXPECT_FALSE(lower.determined);
  // Along the axis both hinges are alike: one can take all that the other gives up, so half of it is open.
  EXPECT_NEAR(lower.force.z(), 0.5, 1e-9);
  EXPECT_NEAR(lower.moment.z(), 0, 1e-12);  // nothing is held about the axis
  // Least norm: the weight is carried in equal parts, by both on the door, so each pulls down on the frame.
  EXPECT_NEAR(door.reaction("lower_hinge").force.z(), door.reaction("upper_hinge").force.z(), 1e-9);
}

TEST(PlanarFourBar, DeterminesForcesInItsPlaneOnly) {
  const Seen four_bar = evaluate("four_bar");  // last joint a ball: one self-stress
  EXPECT_EQ(four_bar.mobility.rows - four_bar.mobility.rank, 1);
  for (const char* joint : {"j1", "j2", "j3"}) {
    // F's axes: z along the hinge (y of World), x and y in the plane of motion.
    EXPECT_LT(four_bar.at(joint).force.head<2>().maxCoeff(), 1e-10) << joint;
    EXPECT_GT(four_bar.at(joint).force.z(), 1e-3) << joint;
  }
}

TEST(Bricard, HasOneSelfStressThroughAllSixHinges) {
  const Seen bricard = evaluate("bricard");
  EXPECT_EQ(bricard.mobility.rank, 29);
  EXPECT_EQ(bricard.mobility.freedoms, 1);
  double total = 0;
  for (const JointVerdict& v : bricard.e.verdicts) {
    EXPECT_FALSE(v.determined);
    EXPECT_EQ(v.together_with.size(), 5u);
    total += v.force.sum() + v.moment.sum();
  }
  EXPECT_NEAR(total, 1, 1e-9);  // the trace of a projector is its rank
}

TEST(Ring, ThatMovesInSpaceHasNoSelfStress) {
  const Seen ring = evaluate("ring7");
  for (const JointVerdict& v : ring.e.verdicts) EXPECT_TRUE(v.determined);
}

}  // namespace
}  // namespace invar::testing
