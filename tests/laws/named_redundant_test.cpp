// SPDX-License-Identifier: Apache-2.0
//
// Door, table, four-bar and Bricard's linkage as model files: what is held twice is shared out in one way only, the least one,
// whatever acts, wherever it is seen from, with gravity or without.
#include <gtest/gtest.h>

#include <algorithm>

#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "support/newton_euler.hpp"
#include "support/places.hpp"
#include "support/redescribed.hpp"

namespace invar::testing {
namespace {

/// The mechanism of a file at its start, at rest and without load.
Sample still(const std::string& file, bool gravity) {
  ModelSpec spec = *read_model_file(source_path("models/") + file + ".toml");
  if (!gravity) spec.gravity.setZero();
  Model model = build(spec);
  Bodies bodies = *make_consistent(model, place(model, JointState::initial(model)), 1e-12);
  spec.initial.clear();
  Load load(model);
  return {{spec, {}, {}}, std::move(model), std::move(bodies), std::move(load)};
}

Evaluation evaluation(const Sample& s, Mobility* mobility = nullptr) {
  Augmented dynamics(s.model);
  State x;
  dynamics.set(s.bodies, x);
  Evaluation e;
  EXPECT_TRUE(dynamics.evaluate(x, s.load, e).ok());
  expect_newton_euler(s.mechanism.spec, e, s.load);
  if (mobility) *mobility = dynamics.mobility();
  return e;
}

struct Count {
  const char* file;
  int rows, rank;
};
const Count kCounts[] = {{"door", 10, 5}, {"table", 36, 30}, {"four_bar", 18, 17}, {"bricard", 30, 29}};

TEST(RedundantModels, CountTheSameWithAndWithoutGravity) {
  for (const Count& c : kCounts) {
    Mobility held, floating;
    const Evaluation a = evaluation(still(c.file, true), &held), b = evaluation(still(c.file, false), &floating);
    for (const Mobility& m : {held, floating}) {
      EXPECT_EQ(m.rows, c.rows) << c.file;
      EXPECT_EQ(m.rank, c.rank) << c.file;
    }
    double total = 0;
    for (std::size_t j = 0; j < a.verdicts.size(); ++j) {
      EXPECT_EQ(a.verdicts[j].determined, b.verdicts[j].determined) << c.file;
      EXPECT_EQ(a.verdicts[j].together_with, b.verdicts[j].together_with) << c.file;
      EXPECT_LT((a.verdicts[j].force - b.verdicts[j].force).norm(), 1e-12) << c.file;
      EXPECT_LT((a.verdicts[j].moment - b.verdicts[j].moment).norm(), 1e-12) << c.file;
      total += a.verdicts[j].force.trace() + a.verdicts[j].moment.trace();
    }
    EXPECT_NEAR(total, c.rows - c.rank, 1e-9) << c.file;  // the trace of a projector is its rank
  }
}

TEST(RedundantModels, HoldNothingWhereNothingActs) {
  for (const Count& c : kCounts) {
    const Evaluation e = evaluation(still(c.file, false));
    for (const Wrench& w : e.reactions) EXPECT_EQ(w.force.norm() + w.moment.norm(), 0) << c.file;
    for (const BodyAcceleration& a : e.accelerations) EXPECT_EQ(a.a_WC.norm() + a.alpha_WB.norm(), 0) << c.file;
  }
}

/// The same in motion and under load.
Sample stirred(const std::string& file, bool gravity, std::uint64_t seed) {
  Sample s = still(file, gravity);
  Random random(seed);
  draw_velocities(random, s.model, s.bodies);
  s.load = random_load(random, s.model);
  return s;
}

TEST(RedundantModels, ReactionsAreTheLeastUnderAnyLoad) {
  for (const Count& c : kCounts)
    for (const bool gravity : {true, false}) {
      const Sample s = stirred(c.file, gravity, 3);
      expect_agreement(s.mechanism.spec, s.model, s.bodies, s.load, c.file);
    }
}

TEST(RedundantModels, ReactionsAreTheSameInEveryDescription) {
  for (const Count& c : kCounts)
    for (const bool gravity : {true, false}) {
      const Sample s = stirred(c.file, gravity, 4);
      Random random(5);
      const Answer here = evaluated(s.mechanism.spec, s.model, s.bodies, s.load, c.file);
      // Both descriptions are rounded differently: an uncertainty of u in the inputs.
      const double bound = std::max(1e-13, 4 * 1.1e-16 * judge(s.model, s.bodies, s.load).condition);
      for (const Redescribed& there :
           {in_another_world(s, random), in_another_order(s, random), in_other_units(s, {1e3, 1e3, 1e3})}) {
        const Answer other = evaluated(there.spec, build(there.spec), there.bodies, there.load, c.file);
        const Differences d = differences(s.model, s.load, there.answer_back(other), here);
        EXPECT_LT(d.acceleration, bound) << c.file;
        EXPECT_LT(d.reaction, bound) << c.file;
      }
    }
}

const Wrench& at(const Sample& s, const Evaluation& e, const std::string& joint) {
  return e.reactions[static_cast<std::size_t>(*s.model.find_joint(joint))];
}

// A symmetric table: a quarter of the weight on every foot, a quarter of the top's on every corner.
TEST(Table, StandsOnItsFeetInEqualParts) {
  const Sample s = still("table", true);
  const Evaluation e = evaluation(s);
  for (const char* number : {"1", "2", "3", "4"}) {
    EXPECT_NEAR(at(s, e, std::string("foot") + number).force.z(), -18 * 9.81 / 4, 1e-12) << number;
    EXPECT_NEAR(at(s, e, std::string("corner") + number).force.z(), 12 * 9.81 / 4, 1e-12) << number;
    EXPECT_FALSE(e.verdicts[static_cast<std::size_t>(*s.model.find_joint(std::string("foot") + number))].determined);
  }
}

// The weight W at 0.45 m from the axis wants H 1.4 + 2 m = 0.45 W of forces ±H across the hinges, 1.4 m apart, and moments m. Of
// all pairs that with the least 2 H² + 2 m²/l² has H = 0.35 k, m = l² k / 2, k = 0.45 W / (0.49 + l²).
TEST(Door, BalancesForcesAndMomentsOfItsHinges) {
  const Sample s = still("door", true);
  const Evaluation e = evaluation(s);
  const double l = s.model.length(), k = 0.45 * 20 * 9.81 / (0.49 + l * l);
  // The leaf leans outward at the top: its upper hinge is pulled towards the leaf, on the frame.
  EXPECT_NEAR(at(s, e, "upper_hinge").force.x(), 0.35 * k, 1e-12 * k);
  EXPECT_NEAR(at(s, e, "lower_hinge").force.x(), -0.35 * k, 1e-12 * k);
  for (const char* hinge : {"upper_hinge", "lower_hinge"}) {
    EXPECT_NEAR(at(s, e, hinge).moment.y(), 0.5 * l * l * k, 1e-12 * k) << hinge;
    EXPECT_NEAR(at(s, e, hinge).force.z(), -10 * 9.81, 1e-11) << hinge;
  }
}

}  // namespace
}  // namespace invar::testing
