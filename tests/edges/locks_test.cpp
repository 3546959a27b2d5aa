// SPDX-License-Identifier: Apache-2.0
//
// A body of 1 kg whose centre of mass is at M, 0.5 m along a slide from F. At the joint point, M, its weight has no moment,
// locked or not; at F it would have 4.905 N m.
#include <gtest/gtest.h>

#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "support/campaign.hpp"
#include "support/case.hpp"
#include "support/places.hpp"
#include "support/random_mechanism.hpp"
#include "support/recorded.hpp"

namespace invar::testing {
namespace {

Evaluation slider(const std::string& name) {
  auto spec = read_model_file(source_path("tests/edges/cases/") + name + ".toml");
  EXPECT_TRUE(spec) << spec.error().text();
  const Model model = *Model::build(*spec);
  Augmented dynamics(model);
  State x;
  dynamics.set(place(model, JointState::initial(model)), x);
  Evaluation e;
  EXPECT_TRUE(dynamics.evaluate(x, Load(model), e).ok());
  expect_newton_euler(*spec, e, Load(model), name);
  return e;
}

}  // namespace

TEST(LockedSlider, HasNoMomentAtTheOriginOfM) {
  for (const char* name : {"locked_slider", "unlocked_slider"}) {
    const Evaluation e = slider(name);
    EXPECT_LT((e.reactions[0].force - Vec3(0, 0, -9.81)).norm(), 1e-14) << name;
    EXPECT_LT(e.reactions[0].moment.norm(), 1e-14) << name;
    EXPECT_LT((e.bodies[0].p_WC - Vec3(0.5, 0, 0)).norm(), 1e-15) << name;
  }
}

// Nothing moves and nothing changes: locking is no event for the reaction, in any formulation.
TEST(LockedSlider, DoesNotJumpWhenItIsLockedInARun) {
  for (const char* formulation : {"augmented", "minimal", "natural"}) {
    const Scenario s = read_case("edges", "lock_edit", formulation, "rk4");
    Memory memory;
    const Result<Outcome> outcome = judged_run(s, &memory, formulation);
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(outcome->end, Outcome::End::Finished) << outcome->words;
    for (std::size_t k = 0; k < memory.size(); ++k) {
      EXPECT_LT((memory.at("joints/slide/force", k) - Vec3(0, 0, -9.81)).norm(), 1e-13) << formulation << memory.time(k);
      EXPECT_LT(memory.at("joints/slide/moment", k).norm(), 1e-13) << formulation << memory.time(k);
      EXPECT_LT(memory.at("joints/slide/residual", k).norm(), 1e-13) << formulation << memory.time(k);
    }
  }
}

// A lock puts its joint where it says, and the unlock of the same instant lets it go from there; what hangs on it comes along.
// Without q the joint stays.
TEST(LockAndUnlock, OfOneInstantLeaveTheJointWhereTheLockPutIt) {
  Random random(seed(2410));
  int judged = 0;
  for (int i = 0; i < cases(20); ++i) {
    MechanismOptions options;
    options.bodies = 4, options.locked = false;
    const ModelSpec spec = random_mechanism(random, options).spec;
    const JointSpec* hinge = nullptr;
    for (const JointSpec& joint : spec.joints)
      if (joint.kind == JointKind::Revolute || joint.kind == JointKind::Prismatic) hinge = &joint;
    if (hinge == nullptr || !spec.couplings.empty()) continue;
    for (const bool elsewhere : {true, false}) {
      const double q = random.uniform(-1, 1);
      Scenario s;
      set_model(s, spec);
      s.start = Start(*s.model);
      s.method.step = 1e-3, s.end_time = 0.02;
      Lock lock{hinge->name, {}};
      if (elsewhere) lock.at = {q};
      s.edits = {{0.01, {lock, Unlock{hinge->name}}}};
      Memory memory;
      const Result<Outcome> out = judged_run(s, &memory, std::to_string(i));
      ASSERT_TRUE(out) << out.error().text();
      ASSERT_EQ(out->end, Outcome::End::Finished) << out->words;
      const std::string of = "joints/" + hinge->name;
      std::size_t k = 0;
      while (memory.time(k) < 0.01 - 1e-9) ++k;
      const double before = memory.at(of + "/q", k - 1)[0] + 1e-3 * memory.at(of + "/v", k - 1)[0];
      EXPECT_NEAR(memory.at(of + "/q", k)[0], elsewhere ? q : before, elsewhere ? 1e-12 : 1e-3) << i;
      ++judged;
    }
  }
  EXPECT_GT(judged, cases(20) / 2);
}

}  // namespace invar::testing
