// SPDX-License-Identifier: Apache-2.0
//
// Natural coordinates and their steppers on mechanisms of unusual sizes: a four-bar of 1 km beside one of 1 mm, one of 10 km, one
// with a massless crank and rocker, and a step that is solvable whole.
#include <cmath>

#include "invar/mech/assemble.hpp"
#include "invar/mech/natural.hpp"
#include "support/case.hpp"

namespace invar::testing {
namespace {

double metric(const Outcome& outcome, const std::string& name) {
  for (const Metric& m : outcome.metrics)
    if (m.name == name) return m.value;
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

// Lengths a million times smaller under the same weight: angular accelerations a million times larger, to the rounding of lengths
// that are not scaled by a power of two. 13270.68634692 is what each formulation gives for the small one alone.
TEST(FourBarsOf1kmAnd1mm, DoNotInfluenceEachOtherInNaturalCoordinates) {
  const Scenario s = read_case("edges", "run_two_rk4");
  Natural natural(*s.model);
  State x;
  Evaluation out;
  const auto start = make_consistent(*s.model, place(*s.model, JointState::initial(*s.model)));
  ASSERT_TRUE(start.has_value());
  natural.set(*start, x);
  ASSERT_TRUE(natural.evaluate(x, Load(*s.model), out).ok());
  const auto rate = [&](const char* joint) {
    return out.vdot[s.model->joints()[static_cast<std::size_t>(*s.model->find_joint(joint))].v0];
  };
  EXPECT_NEAR(rate("a2"), 13270.68634692, 1e-7);
  EXPECT_NEAR(rate("a2") / rate("a1"), 1e6, 1e-4);
}

// The gap of the small one is measured in its own millimetre: positions of 1e-3 m round by 2e-19, some operations make 1e-17.
TEST(FourBarsOf1kmAnd1mm, BothStayClosedInRuns) {
  for (const char* name : {"run_two_conserving", "run_two_petrov_galerkin"}) {
    Memory m;
    const Outcome outcome = outcome_of(read_case("edges", name), &m);
    EXPECT_TRUE(outcome.verdict.ok()) << name;
    for (std::size_t k = 0; k < m.size(); ++k) {
      const VecX p = m.at("bodies/r2/p", k), q = m.at("bodies/r2/q", k);
      const Vec3 tip = Vec3(p[0], p[1], p[2]) + Quat(q[0], q[1], q[2], q[3]) * Vec3(0.0004, 0, 0);
      ASSERT_LT((tip - Vec3(0.001, 0, 0)).norm(), 1e-16) << name << " sample " << k;
    }
  }
}

// As at 1 m: energies are those of 1 m times 1e4, and kept to round-off of them.
TEST(FourBarOf10km, RunsAsAtOneMetre) {
  const Outcome outcome = outcome_of(read_case("edges", "run_four_bar_10km"));
  EXPECT_TRUE(outcome.verdict.ok()) << outcome.words;
  EXPECT_LT(metric(outcome, "energy_drift"), 1e-13 * std::abs(metric(outcome, "energy_start")));
}

// Only the coupler has mass; it moves as the unreduced equations say. conserving has order two: 1 ms leaves some 1e-5 of the
// motion.
TEST(FourBarWithMasslessSides, RunsUnderEveryMethodOfNaturalCoordinates) {
  Memory judge;
  Scenario s = read_case("edges", "run_four_bar_massless_sides", "augmented", "dopri5");
  outcome_of(s, &judge);
  for (const char* method : {"dopri5", "rk4", "conserving", "discrete_gradient", "midpoint", "rattle"}) {
    Memory m;
    const Outcome outcome = outcome_of(read_case("edges", "run_four_bar_massless_sides", "natural", method, 0.001), &m);
    EXPECT_TRUE(outcome.verdict.ok()) << method << " " << outcome.words;
    EXPECT_LT((m.last("bodies/coupler/p") - judge.last("bodies/coupler/p")).norm(), 1e-4) << method;
    EXPECT_LT(metric(outcome, "joint_gap"), 1e-12) << method;
  }
}

TEST(SolvableStep, IsNotDivided) {
  const Outcome outcome = outcome_of(read_case("edges", "divided_step"));
  EXPECT_TRUE(outcome.verdict.ok());
  EXPECT_EQ(metric(outcome, "substeps_max"), 1);
}

}  // namespace
}  // namespace invar::testing
