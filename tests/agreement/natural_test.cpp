// SPDX-License-Identifier: Apache-2.0
//
// Natural coordinates against the unreduced equations: two formulations that share joint frames, loads and nothing else.
// Bound 1e-10 of the largest acceleration, or 8 u cond(K) with loops where that is more: two exact solutions of inputs that
// differ by a rounding u differ by that much (support/agreement.hpp).
#include <gtest/gtest.h>

#include "support/agreement.hpp"
#include "support/campaign.hpp"
#include "support/natural_samples.hpp"
#include "support/newton_euler.hpp"

namespace invar::testing {
namespace {

constexpr double kBound = 1e-10;

Answer answer(Formulation& formulation, const Sample& s, const std::string& what) {
  State x;
  Evaluation out;
  formulation.set(s.bodies, x);
  const Verdict verdict = formulation.evaluate(x, s.load, out);
  EXPECT_TRUE(verdict.ok()) << what << ": " << name(verdict.status) << " body " << verdict.body << " joint " << verdict.joint;
  if (verdict.ok()) expect_newton_euler(s.mechanism.spec, out, s.load, what);
  return {out.accelerations, out.reactions, out.couplings};
}

void expect_same_motion(const Sample& s, const NaturalOptions& options, const std::string& what) {
  Augmented augmented(s.model);
  Natural natural(s.model, options);
  Answer a = answer(natural, s, what);
  const Answer b = answer(augmented, s, what);
  if (::testing::Test::HasFailure()) return;
  // What the natural equations say, not what is evaluated for recordings.
  State x;
  natural.set(s.bodies, x);
  ASSERT_TRUE(natural.accelerations(x, s.load, a.accelerations).ok()) << what;
  const double found = differences(s.model, s.load, a, b).acceleration;
  const double bound = found <= kBound ? kBound : std::max(kBound, 8 * 1.1e-16 * judge(s.model, s.bodies, s.load).condition);
  EXPECT_LE(found, bound) << what << ": " << describe(s.mechanism.spec);
}

TEST(NaturalAccelerations, AreThoseOfTheUnreducedEquationsOnTrees) {
  for (int k = 0; k < cases(60); ++k) {
    const std::uint64_t at = seed(4100) + static_cast<std::uint64_t>(k);
    MechanismOptions options{.bodies = 1 + k % 8, .floating = k % 5 == 4, .kinds = {}};
    expect_same_motion(natural_sample(at, options, k % 3), {}, "seed " + std::to_string(at));
  }
}

TEST(NaturalAccelerations, AreThoseOfTheUnreducedEquationsWithLoops) {
  for (int k = 0; k < cases(40); ++k) {
    const std::uint64_t at = seed(4200) + static_cast<std::uint64_t>(k);
    MechanismOptions options{.bodies = 4 + k % 5, .loops = 1 + k % 2, .redundant = k % 4 == 3 ? 1 : 0, .kinds = {}};
    expect_same_motion(natural_sample(at, options, k % 3), {}, "seed " + std::to_string(at));
  }
}

TEST(NaturalAccelerations, AreThoseOfTheUnreducedEquationsOnPlanarChains) {
  for (int k = 0; k < cases(48); ++k) {
    const std::uint64_t at = seed(4300) + static_cast<std::uint64_t>(k);
    const Sample s = planar_chain(at, 1 + k % 6, k % 2 == 0, k % 4);
    ASSERT_TRUE(NaturalCoordinates(s.model).plane().has_value());
    expect_same_motion(s, {}, "plane, seed " + std::to_string(at));
    expect_same_motion(s, {.flat = false}, "space, seed " + std::to_string(at));
  }
}

TEST(NaturalAccelerations, AreThoseOfTheUnreducedEquationsOnPlanarLoops) {
  for (int k = 0; k < cases(24); ++k) {
    const std::uint64_t at = seed(4400) + static_cast<std::uint64_t>(k);
    Sample s = natural_sample(at, {.bodies = 4 + k % 5, .loops = 1 + k % 2, .planar = true, .kinds = {}}, k % 3);
    expect_same_motion(s, {}, "seed " + std::to_string(at));
  }
}

}  // namespace
}  // namespace invar::testing
