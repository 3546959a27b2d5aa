// SPDX-License-Identifier: Apache-2.0
//
// Rows that follow from others: minimal coordinates go on where the rows that were kept at the start lose rank, and all
// formulations agree.
#include <algorithm>
#include <cmath>

#include "support/case.hpp"
#include "support/outcome.hpp"

namespace invar::testing {
namespace {

// Spins once in 3.1 s. rk4 with 1 ms at 2 rad/s leaves (w h)⁵/120 · 4000 = 1e-12.
TEST(RedundantRows, BallAndTableGoRound) {
  VecX first;
  for (const char* formulation : {"augmented", "minimal", "natural"}) {
    Memory recording;
    const Outcome out = outcome_of(read_case("edges", std::string("minimal_redundant_rows_") + formulation), &recording);
    ASSERT_EQ(out.end, Outcome::End::Finished) << formulation << ": " << out.words;
    for (const std::string& note : out.notes) EXPECT_EQ(note.find("singular"), std::string::npos) << formulation << ": " << note;
    const VecX p = recording.last("bodies/disc/p");
    if (first.size() == 0) first = p;
    EXPECT_LT((p - first).norm(), 1e-10) << formulation;
  }
}

// 320 s at 2 rad/s: 102 turns; whichever of the two joints is cut, the other one carries the rate.
TEST(RedundantRows, BallAndTableGoRoundAHundredTimes) {
  for (const char* cut : {"ball", "table"}) {
    Scenario s = read_case("edges", "minimal_redundant_rows_minimal", "minimal", "rk4", 0.01);
    ASSERT_TRUE(s.spec) << cut;
    ModelSpec spec = *s.spec;
    for (JointSpec& joint : spec.joints) joint.cut = joint.name == cut;
    s.spec = std::make_shared<const ModelSpec>(spec);
    const auto model = Model::build(spec);
    ASSERT_TRUE(model) << model.error().text();
    s.model = std::make_shared<const Model>(*model);
    s.end_time = 320;
    Memory memory;
    const Outcome out = outcome_of(s, &memory);
    ASSERT_EQ(out.end, Outcome::End::Finished) << cut << ": " << out.words;
    for (const std::string& note : out.notes) EXPECT_EQ(note.find("singular"), std::string::npos) << cut << ": " << note;
    // A coordinate of the table moves up to three times as fast as the one that describes it: (3 w h)⁵/60 of the energy a step.
    EXPECT_LT(metric(out, "energy_drift"), 32000 * std::pow(3 * 2 * 0.01, 5) / 60 * metric(out, "kinetic_max")) << cut;
    EXPECT_LT(metric(out, "joint_gap"), 1e-12) << cut;
  }
}

// j1 after 5 s and Bennett's constant, from the literature and by agreement of formulations.
TEST(RedundantRows, BennettIsWhereItShouldBe) {
  Memory recording;
  Scenario s = read_case("reference", "bennett_s", "minimal");
  const Outcome out = outcome_of(s, &recording);
  ASSERT_EQ(out.end, Outcome::End::Finished) << out.words;
  EXPECT_NEAR(recording.last("joints/j1/q")[0], 1.597119259072, 1e-9);
  double worst = 0;
  for (std::size_t k = 0; k < recording.size(); ++k)
    worst = std::max(
        worst, std::abs(std::tan(0.5 * recording.at("joints/j1/q", k)[0]) * std::tan(0.5 * recording.at("joints/j2/q", k)[0]) -
                        3.9209518668856));
  EXPECT_LT(worst, 1e-11);
}

}  // namespace
}  // namespace invar::testing
