// SPDX-License-Identifier: Apache-2.0
//
// Linkages whose rows depend on each other in every configuration, going round. Stages of a step lie off the constraints, where
// such rows contradict each other a little and seem independent: whoever counts them there, or leaves out others from stage to
// stage, loses energy. Judges: Bennett's formula tan(j1/2) tan(j2/2) = k for the places, energy for the motion (one freedom: the
// two together are the motion), and Newton's and Euler's equations of every recorded sample.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "invar/base/random.hpp"
#include "support/campaign.hpp"
#include "support/case.hpp"
#include "support/linkages.hpp"
#include "support/outcome.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

struct Way {
  const char* formulation;
  const char* integrator;
};
constexpr Way kFixed[] = {{"augmented", "rk4"}, {"natural", "rk4"}, {"minimal", "rk4"}};
constexpr Way kControlled[] = {{"augmented", "dopri5"}, {"natural", "dopri5"}, {"minimal", "dopri5"}};

struct Drawn {
  Bennett bennett;
  Scenario scenario;
  std::string what;
};

/// Any joint is cut, another one may be named as independent; thrown at j1, so that it goes round or swings.
Drawn drawn_bennett(std::uint64_t at, double end) {
  Random random(at);
  Drawn out{random_bennett(random), {}, {}};
  ModelSpec spec = out.bennett.spec();
  const int joints = static_cast<int>(spec.joints.size()), cut = random.below(joints), independent = random.below(joints);
  spec.joints[static_cast<std::size_t>(cut)].cut = true;
  if (independent != cut) spec.joints[static_cast<std::size_t>(independent)].independent = true;
  Scenario& s = out.scenario;
  set_model(s, spec);
  s.start = Start(*s.model);
  s.start.named.assign(spec.joints.size(), false);
  s.start.named[0] = true;
  s.start.joints.v[0] = random.uniform(-5, 5);
  s.end_time = end;
  out.what = fmt::format("seed {}: a {}, b {}, alpha {}, start {}, cut {}, independent {}", at, out.bennett.a, out.bennett.b,
                         out.bennett.alpha, out.bennett.start, cut, independent);
  return out;
}

void with_tolerance(Scenario& s, double tolerance) {
  ErrorControl& o = s.method.options.dopri5;
  o.relative_tolerance = o.position_tolerance = o.velocity_tolerance = o.auxiliary_tolerance = tolerance;
}

/// Places of samples (of steps: dense output is off the constraints), and the fastest link.
void expect_bennett(const Bennett& bennett, const Memory& memory, std::size_t from, const std::string& what, double& fastest) {
  double worst = 0;
  for (std::size_t k = from; k < memory.size(); ++k) {
    const double one = memory.at("joints/j1/q", k)[0], two = memory.at("joints/j2/q", k)[0];
    // The product loses 1/sin of either angle.
    if (std::abs(std::sin(one)) > 1e-2 && std::abs(std::sin(two)) > 1e-2)
      worst = std::max(worst, std::abs(std::tan(0.5 * one) * std::tan(0.5 * two) / bennett.k() - 1));
    for (const char* joint : {"j1", "j2", "j3", "j4"})
      fastest = std::max(fastest, std::abs(memory.at(std::string("joints/") + joint + "/v", k)[0]));
  }
  EXPECT_LT(worst, 1e-9) << what;
}

void expect_constant_rank(const Outcome& out, const std::string& what) {
  EXPECT_EQ(metric(out, "rank"), 17) << what;
  EXPECT_EQ(metric(out, "rank_changes"), 0) << what;
  EXPECT_EQ(metric(out, "singular_passages"), 0) << what;
  EXPECT_TRUE(out.unresolved.empty()) << what << ": " << out.unresolved;
  for (const std::string& note : out.notes)
    EXPECT_NE(note.find("independent coordinates are now"), std::string::npos) << what << ": " << note;
}

// rk4 with 2 ms, 2 s: links turn up to two or three times a second. The error of a step is (w h)⁵/120 of the energies, w the
// largest rate of a joint anywhere on the way (twice over: E depends on the square), taken as if it lasted.
TEST(Linkages, DrawnBennettsKeepEnergyAndRankWithFixedSteps) {
  const double h = 2e-3, end = 2;
  for (int k = 0; k < cases(12); ++k) {
    Drawn drawn = drawn_bennett(seed(9100) + static_cast<std::uint64_t>(k), end);
    for (const Way& way : kFixed) {
      const std::string what = fmt::format("{} {}, {}", way.formulation, way.integrator, drawn.what);
      drawn.scenario.method.formulation = way.formulation, drawn.scenario.method.integrator = way.integrator;
      drawn.scenario.method.step = h;
      Memory memory;
      const Outcome out = outcome_of(drawn.scenario, &memory);
      ASSERT_EQ(out.end, Outcome::End::Finished) << what << ": " << out.words;
      double w = 0;
      expect_bennett(drawn.bennett, memory, 0, what, w);
      expect_constant_rank(out, what);
      EXPECT_LT(metric(out, "energy_drift"), end / h * std::pow(w * h, 5) / 60 * metric(out, "kinetic_max") + 1e-9) << what;
      EXPECT_LT(metric(out, "joint_gap"), 1e-12 * (1 + drawn.bennett.b)) << what;
    }
  }
}

// The bar of motions without any difficulty: 100 J x tolerance + 5e-9 J.
TEST(Linkages, DrawnBennettsKeepEnergyAndRankWithEveryTolerance) {
  for (int k = 0; k < cases(12); ++k) {
    Drawn drawn = drawn_bennett(seed(9100) + static_cast<std::uint64_t>(k), 2);
    for (const Way& way : kControlled) {
      const double tolerance = std::pow(10.0, -4 - (k + (&way - kControlled)) % 8);
      const std::string what = fmt::format("{} {} {}, {}", way.formulation, way.integrator, tolerance, drawn.what);
      drawn.scenario.method.formulation = way.formulation, drawn.scenario.method.integrator = way.integrator;
      drawn.scenario.method.step = 0;
      with_tolerance(drawn.scenario, tolerance);
      Memory memory;
      const Outcome out = outcome_of(drawn.scenario, &memory);
      ASSERT_EQ(out.end, Outcome::End::Finished) << what << ": " << out.words;
      double w = 0;
      expect_bennett(drawn.bennett, memory, memory.size() - 1, what, w);
      expect_constant_rank(out, what);
      EXPECT_LT(metric(out, "energy_drift"), 100 * tolerance + 5e-9) << what;
    }
  }
}

}  // namespace
}  // namespace invar::testing
