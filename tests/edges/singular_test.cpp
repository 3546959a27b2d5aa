// SPDX-License-Identifier: Apache-2.0
//
// Named cases at singular configurations: passed, counted, started from.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "support/case.hpp"
#include "support/flat_loops.hpp"
#include "support/outcome.hpp"

namespace invar::testing {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(SingularCases, AStepBesideTheFlatPositionKeepsEnergy) {
  const Outcome out = outcome_of(read_case("edges", "parallelogram_rk4"));
  ASSERT_EQ(out.end, Outcome::End::Finished) << out.words;
  EXPECT_LT(metric(out, "energy_drift"), 1e-8);  // as the README of the cases asks
}

TEST(SingularCases, ErrorControlPassesTheFlatPosition) {
  const Outcome out = outcome_of(read_case("edges", "parallelogram_adaptive"));
  ASSERT_EQ(out.end, Outcome::End::Finished) << out.words;
  EXPECT_LT(metric(out, "energy_drift"), 100 * 1e-11 + 5e-9);
}

TEST(SingularCases, AFlatStartIsTakenAsNamed) {
  Memory memory;
  const Outcome out = outcome_of(read_case("edges", "flat_start"), &memory);
  ASSERT_EQ(out.end, Outcome::End::Finished) << out.words;
  EXPECT_NEAR(memory.at("joints/a/q", 0)[0], 0, 1e-14);
  EXPECT_NEAR(memory.at("joints/a/v", 0)[0], 2, 1e-9);
  ASSERT_FALSE(out.notes.empty());
  EXPECT_TRUE(has(out.notes[0], "rank is 16 and mobility 2")) << out.notes[0];
}

// The other freedom of the sleeve follows the thread: 0.1 m per radian.
TEST(SingularCases, ADrivenFreedomStartsWhereItsDriveDoes) {
  for (const int freedom : {0, 1}) {
    Memory memory;
    const Outcome out = outcome_of(read_case("edges", "drive_start_" + std::to_string(freedom)), &memory);
    ASSERT_EQ(out.end, Outcome::End::Finished) << out.words;
    const VecX v = memory.at("joints/sleeve/v", 0);
    EXPECT_NEAR(v[freedom], 0.3, 1e-12);
    EXPECT_NEAR(v[1 - freedom], freedom == 0 ? 0.03 : 3.0, 1e-10);
    EXPECT_TRUE(out.notes.empty()) << out.notes[0];
  }
}

// Flat, two rows depend on the others: rank 27, mobility 3. Ten times in ten seconds.
void expect_ten_passages(const Scenario& s, double most, const std::string& what) {
  const Outcome out = outcome_of(s);
  ASSERT_EQ(out.end, Outcome::End::Finished) << what << ": " << out.words;
  EXPECT_EQ(metric(out, "singular_passages"), 10) << what;
  EXPECT_LT(metric(out, "energy_drift"), most) << what;
  int told = 0;  // one sentence for all of them
  for (const std::string& note : out.notes) {
    if (has(note, "passed a singular")) {
      ++told;
      EXPECT_TRUE(has(note, "where rank is 27 and mobility 3: 10 times")) << what << ": " << note;
    }
    EXPECT_FALSE(has(note, "may lose energy")) << what << ": " << note;
  }
  EXPECT_EQ(told, 1) << what;
}

// 70 J, at up to 6.9 rad/s. Of 2000 steps each leaves (w h)⁵/120 of that with rk4; rattle swings by (w h)² of it. The others keep
// energy by construction (a polynomial of degree two in natural coordinates): what they may lose is the bar for passages.
TEST(SingularCases, EveryMethodCountsTenPassagesOfTwoWindowsAndKeepsItsEnergy) {
  const double joules = 70, wh = 6.9 * 0.005, fixed = 2000 * joules * std::pow(wh, 5) / 120;
  const double controlled = 100 * ErrorControl{}.relative_tolerance + 5e-9;
  for (const auto& [formulation, integrator, most] : {std::tuple{"augmented", "rk4", fixed},
                                                      {"augmented", "radau", controlled},
                                                      {"augmented", "dopri5", controlled},
                                                      {"natural", "rk4", fixed},
                                                      {"natural", "conserving", 5e-8},
                                                      {"natural", "rattle", joules * wh * wh},
                                                      {"natural", "midpoint", 5e-8},
                                                      {"natural", "petrov_galerkin", 5e-8},
                                                      {"natural", "discrete_gradient", 5e-8},
                                                      {"minimal", "rk4", fixed},
                                                      {"minimal", "dopri5", controlled}})
    expect_ten_passages(read_case("reference", "a02_n2_s", formulation, integrator, 0.005), most,
                        std::string(formulation) + " " + integrator);
  for (const double tolerance : {1e-3, 1e-6, 1e-9, 1e-12}) {
    Scenario s = read_case("reference", "a02_n2_s", "augmented", "dopri5");
    with_tolerance(s, tolerance);
    expect_ten_passages(s, 100 * tolerance + 5e-9, "dopri5 " + std::to_string(tolerance));
  }
}

}  // namespace
}  // namespace invar::testing
