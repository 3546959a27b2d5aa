// SPDX-License-Identifier: Apache-2.0
//
// Rows that follow from others: minimal coordinates go on where the rows that were kept at the start lose rank, and all
// formulations agree.
#include <algorithm>
#include <cmath>

#include "support/case.hpp"

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

// 320 s at 2 rad/s: 102 turns.
TEST(RedundantRows, BallAndTableGoRoundAHundredTimes) {
  Scenario s = read_case("edges", "minimal_redundant_rows_minimal", "minimal", "rk4", 0.01);
  s.end_time = 320;
  const Outcome out = outcome_of(s);
  EXPECT_EQ(out.end, Outcome::End::Finished) << out.words;
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
