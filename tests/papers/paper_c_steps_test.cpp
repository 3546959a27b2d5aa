// SPDX-License-Identifier: Apache-2.0
//
// Paper C, section 4: the three-link mechanism of Table 2 from its horizontal start at rest, 10 s. The average energy error is
// C (43). Expected values: docs/papers.md C7.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/integrate/petrov_galerkin.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/natural.hpp"

namespace invar::testing {
namespace {

struct Figures {
  double energy = 0;      // average |ΔH|, C (43), J
  double constraint = 0;  // largest |e_c²|, C (41): of the vectors ξ_i, m²
  double rates = 0;       // largest |G v|
};

Figures simulate(const std::string& name, const PetrovGalerkinOptions& options, double h) {
  const Model model = *Model::build(*read_model_file(INVAR_SOURCE_DIR "/models/paper_c_" + name + ".toml"));
  Natural natural(model);
  EXPECT_TRUE(natural.coordinates().plane().has_value());
  System system(natural);
  State x;
  natural.set(place(model, JointState::initial(model)), x);
  PetrovGalerkin method(options);
  method.reset(system, x, h);
  const double H0 = natural.hamiltonian(x);
  const int steps = static_cast<int>(std::lround(10 / h));
  Figures out;
  VecX r(natural.coordinates().rows());
  for (int k = 0; k < steps; ++k) {
    double done = 0;
    EXPECT_TRUE(method.step(system, k * h, h, x, done).ok());
    out.energy += std::abs(method.report().hamiltonian - H0) / steps;
    // ξ_i from joint i to the centre of link i, from the centres alone: joints are where the links before end.
    Eigen::Vector2d joint = Eigen::Vector2d::Zero();
    for (int b = 0; b < 3; ++b) {
      const Eigen::Vector2d centre = x.q.segment<2>(4 * b), xi = centre - joint;
      out.constraint = std::max(out.constraint, std::abs(xi.squaredNorm() - 0.25));
      joint += 2 * xi;
    }
    natural.coordinates().apply_rows(x.q, x.v, r);
    out.rates = std::max(out.rates, r.lpNorm<Eigen::Infinity>());
  }
  return out;
}

PetrovGalerkinOptions gauss(int points) { return {.degree = 0, .quadrature = points}; }

TEST(PaperC, SquaredConstraintsStayAtMachinePrecision) {
  for (const char* name : {"pendulum", "springs", "tendon"}) EXPECT_LE(simulate(name, gauss(1), 0.01).constraint, 1e-15) << name;
}

TEST(PaperC, WithoutSpringsTheMidpointRuleKeepsTheEnergy) { EXPECT_LT(simulate("pendulum", gauss(1), 0.01).energy, 1e-14); }

TEST(PaperC, AverageEnergyErrorOfTheMidpointRule) {
  EXPECT_NEAR(simulate("springs", gauss(1), 0.1).energy, 3.96e-4, 0.05 * 3.96e-4);
  EXPECT_NEAR(simulate("springs", gauss(1), 0.01).energy, 3.99e-6, 0.05 * 3.99e-6);
}

TEST(PaperC, AverageEnergyErrorOfThreePointGauss) {
  EXPECT_NEAR(simulate("springs", gauss(3), 0.1).energy, 3.1e-9, 0.05 * 3.1e-9);
}

// Figure 7: orders of the quadrature, between h = 0.1 and 0.025.
TEST(PaperC, EnergyErrorsFallWithTheOrderOfTheQuadrature) {
  for (int points = 1; points <= 3; ++points) {
    const double coarse = simulate("springs", gauss(points), 0.1).energy, fine = simulate("springs", gauss(points), 0.025).energy;
    EXPECT_NEAR(0.5 * std::log2(coarse / fine), 2 * points, points < 3 ? 0.05 : 0.1) << points << " points";
  }
}

TEST(PaperC, TheDiscreteGradientKeepsTheEnergyForEveryStep) {
  for (const char* name : {"springs", "tendon"})
    for (const double h : {0.1, 0.05, 0.01})
      for (const bool stabilised : {false, true})
        EXPECT_LT(simulate(name, {.discrete = true, .stabilised = stabilised}, h).energy, 1e-14) << name << ", h = " << h;
}

// docs/papers.md C6: g holds at the nodes, G v does not; the stabilised form keeps both.
TEST(PaperC, VelocitiesLeaveTheConstraintsUnlessStabilised) {
  EXPECT_GT(simulate("springs", {.discrete = true}, 0.05).rates, 1e-4);
  EXPECT_LT(simulate("springs", {.discrete = true, .stabilised = true}, 0.05).rates, 1e-14);
}

}  // namespace
}  // namespace invar::testing
