// SPDX-License-Identifier: Apache-2.0
//
// Friction with its usual smoothing, 1e-3 rad/s, is a jump for steps that change rates by 0.05 rad/s and more. Friction grows
// with the rate, so the equation for the velocity in the middle of a step has one solution, and rattle finds it or divides the
// step.
#include <gtest/gtest.h>

#include "invar/integrate/petrov_galerkin.hpp"
#include "invar/integrate/rattle.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/natural.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

Model rubbing(const std::string& name, double level) {
  ModelSpec spec = *read_model_file(source_path("models/") + name + ".toml");
  for (JointSpec& joint : spec.joints)
    if (joint.kind == JointKind::Revolute) joint.friction = {level};
  return *Model::build(spec);
}

struct Rubbed {
  Verdict verdict;
  Bodies end;
  int most_parts = 0;
  double rows = 0, rates = 0;  // largest residuals
  double least_loss = 0;       // J, in one step
};

Rubbed rub(Stepper& method, const Model& model, double h, double duration) {
  Natural natural(model);
  System system(natural);
  State x;
  natural.set(place(model, JointState::initial(model)), x);
  method.reset(system, x, h);
  VecX r(natural.coordinates().rows());
  Rubbed out;
  for (int k = 0; k * h < duration; ++k) {
    double done = 0;
    const double lost = x.aux[kDissipated];
    out.verdict = method.step(system, k * h, h, x, done);
    if (!out.verdict.ok()) return out;
    out.least_loss = std::min(out.least_loss, x.aux[kDissipated] - lost);
    out.most_parts = std::max(out.most_parts, method.report().substeps);
    natural.coordinates().residual(x.q, r);
    out.rows = std::max(out.rows, r.lpNorm<Eigen::Infinity>());
    natural.coordinates().apply_rows(x.q, x.v, r);
    out.rates = std::max(out.rates, r.lpNorm<Eigen::Infinity>());
  }
  natural.bodies(x, out.end);
  return out;
}

// Rows are pure numbers, and rates their changes per second at 10 rad/s and less: round-off times the condition of the loop.
constexpr double kRows = 2e-14, kRates = 1e-11;

TEST(Rattle, SlidesUnderFrictionUntilItHolds) {
  const Model model = rubbing("pendulum", 0.5);
  for (const double h : {0.001, 0.01, 0.05}) {
    Rattle method;
    const Rubbed end = rub(method, model, h, 5);
    ASSERT_TRUE(end.verdict.ok()) << name(end.verdict.status) << " at h = " << h;
    EXPECT_LT(end.rows, kRows) << h;
    EXPECT_LT(end.rates, kRates) << h;
    EXPECT_GE(end.least_loss, 0) << h;
    // At rest friction balances the weight, tanh < 1 times its level; what creeps needs no force worth a percent.
    EXPECT_LT(9.81 * std::abs(end.end[0].p_WC.x()), 1.01 * 0.5) << h;
  }
}

TEST(Rattle, DividesStepsInWhichFrictionTurnsRound) {
  const Model model = rubbing("four_bar", 0.3);
  Rattle method;
  const Rubbed end = rub(method, model, 0.05, 5);
  ASSERT_TRUE(end.verdict.ok()) << name(end.verdict.status);
  EXPECT_GT(end.most_parts, 1);
  EXPECT_LT(end.rows, kRows);
  EXPECT_LT(end.rates, kRates);
  EXPECT_GE(end.least_loss, 0);
}

// With tangents alone steps fall into sixteen parts; with chords six were seen.
TEST(PetrovGalerkin, DividesStepsInWhichFrictionTurnsRoundIntoFewParts) {
  PetrovGalerkin method({});
  const Rubbed end = rub(method, rubbing("four_bar", 0.3), 0.05, 5);
  ASSERT_TRUE(end.verdict.ok()) << name(end.verdict.status);
  EXPECT_LE(end.most_parts, 8);
  EXPECT_LT(end.rows, kRows);
  EXPECT_GE(end.least_loss, 0);
}

TEST(Rattle, LeavesTheStateAloneWhereItFails) {
  const Model model = rubbing("four_bar", 0);
  Natural natural(model);
  System system(natural);
  State x;
  natural.set(place(model, JointState::initial(model)), x);
  const State before = x;
  Rattle method;
  method.reset(system, x, 1e6);
  double done = 1;
  EXPECT_FALSE(method.step(system, 0, 1e6, x, done).ok());
  EXPECT_EQ(done, 0);
  EXPECT_EQ(x.q, before.q);
  EXPECT_EQ(x.v, before.v);
}

}  // namespace
}  // namespace invar::testing
