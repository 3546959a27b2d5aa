// SPDX-License-Identifier: Apache-2.0
//
// Paper C, section 4: the constraint and energy errors of Figs. 5, 6 and 7, with the data of Table 2, springs counter-clockwise
// (docs/papers.md C2), r_4 = 0.4 m and a start at rest, which the table does not say.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/integrate/make.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/natural.hpp"
#include "invar/mech/planar_chain.hpp"
#include "support/march.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

/// What 10 s leave: the average energy error (43), the largest one (42), the largest squared constraint error (41), and the
/// largest rate |G v| of a constraint.
struct Errors {
  double average = 0, largest = 0, squared = 0, rate = 0;
};

Errors after_ten_seconds(const std::string& name, const char* method, const StepperOptions& stepper, double h) {
  const ModelSpec spec = *read_model_file(source_path("models/paper_c_") + name + ".toml");
  const Model model = *Model::build(spec);
  const PlanarChain chain = *PlanarChain::of(model);
  Natural formulation(model);
  System system(formulation);
  State x;
  Bodies bodies = place(model, JointState::initial(model));
  formulation.set(bodies, x);
  const double H_0 = formulation.hamiltonian(x);
  IntegratorOptions options;
  options.stepper = stepper;
  const auto integrator = std::move(*make_integrator(method, options));
  Errors out;
  long steps = 0;
  VecX rates(formulation.coordinates().rows());
  const March ended = march(spec, system, *integrator, 0, 10, h, x, [&](double, double) {
    const double error = std::abs(formulation.hamiltonian(x) - H_0);
    out.average += error, out.largest = std::max(out.largest, error), ++steps;
    formulation.bodies(x, bodies);
    const VecX g = chain.g(chain.xi_from_x(chain.x_of(bodies)));
    out.squared = std::max(out.squared, 2 * g.cwiseAbs().maxCoeff());
    formulation.coordinates().apply_rows(x.q, x.v, rates);
    out.rate = std::max(out.rate, rates.lpNorm<Eigen::Infinity>());
  });
  EXPECT_TRUE(ended.verdict.ok());
  out.average /= static_cast<double>(steps + 1);
  return out;
}

StepperOptions gauss(int points) { return {.quadrature = points}; }
StepperOptions discrete(bool stabilised) { return {.gradient = Gradient::Discrete, .stabilised = stabilised}; }

double average(double h, int points) { return after_ten_seconds("springs", "petrov_galerkin", gauss(points), h).average; }

TEST(PaperCFigure5, SquaredConstraintErrorsStayAtRoundOff) {
  for (const char* name : {"pendulum", "springs", "tendon"})
    for (const char* method : {"midpoint", "petrov_galerkin", "discrete_gradient", "conserving"})
      // Positions of 3 m in double precision: 1e-15 in each link's vector of 0.5 m.
      EXPECT_LE(after_ten_seconds(name, method, {}, 0.01).squared, 1e-15) << name << " " << method;
}

TEST(PaperCFigure6, WithoutSpringsTheMidpointRuleKeepsTheEnergy) {
  EXPECT_LE(after_ten_seconds("pendulum", "midpoint", {}, 0.01).largest, 1e-14);
}

TEST(PaperCFigure6, WithSpringsItDoesNotAndThreeGaussPointsDo) {
  EXPECT_GE(after_ten_seconds("springs", "midpoint", {}, 0.01).largest, 1e-6);
  EXPECT_LE(after_ten_seconds("springs", "petrov_galerkin", gauss(3), 0.01).largest, 5e-14);  // 3.1e-9 (0.01/0.1)^6 and round-off
}

TEST(PaperCFigure7, AverageErrorsOfTheMidpointRuleHaveTheirValuesAndOrderTwo) {
  EXPECT_NEAR(after_ten_seconds("springs", "midpoint", {}, 0.1).average, 3.96e-4, 0.05 * 3.96e-4);
  EXPECT_NEAR(after_ten_seconds("springs", "midpoint", {}, 0.01).average, 3.99e-6, 0.05 * 3.99e-6);
  const double coarse = average(0.1, 1), fine = average(0.025, 1);
  EXPECT_NEAR(std::log2(coarse / fine) / 2, 2, 0.05) << coarse << " " << fine;
}

TEST(PaperCFigure7, TwoAndThreeGaussPointsHaveOrdersFourAndSix) {
  const double two[] = {average(0.1, 2), average(0.025, 2)}, three[] = {average(0.1, 3), average(0.025, 3)};
  EXPECT_NEAR(std::log2(two[0] / two[1]) / 2, 4, 0.05) << two[0] << " " << two[1];
  EXPECT_NEAR(std::log2(three[0] / three[1]) / 2, 6, 0.1) << three[0] << " " << three[1];
  EXPECT_NEAR(three[0], 3.1e-9, 0.05 * 3.1e-9);
}

TEST(PaperCFigure7, TheDiscreteGradientIsAtRoundOffForEveryStep) {
  for (const double h : {0.1, 0.05, 0.02, 0.01})
    for (const char* name : {"springs", "tendon"}) {
      for (const bool stabilised : {false, true})
        EXPECT_LE(after_ten_seconds(name, "petrov_galerkin", discrete(stabilised), h).average, 1e-14) << name << " " << h;
      for (const char* method : {"discrete_gradient", "conserving"})
        EXPECT_LE(after_ten_seconds(name, method, {}, h).average, 1e-14) << name << " " << method << " " << h;
    }
}

// docs/papers.md C6: g holds at the nodes, G v does not; the stabilised form and the default keep both.
TEST(PaperC, VelocitiesLeaveTheConstraintsUnlessStabilised) {
  const auto rate = [](const char* method, const StepperOptions& o) {
    return after_ten_seconds("springs", method, o, 0.05).rate;
  };
  EXPECT_GT(rate("petrov_galerkin", discrete(false)), 1e-4);
  EXPECT_LT(rate("petrov_galerkin", discrete(true)), 1e-14);
  EXPECT_LT(rate("conserving", {}), 1e-13);  // the rounding of its shell, some units in the last place of 10 m/s
}

}  // namespace
}  // namespace invar::testing
