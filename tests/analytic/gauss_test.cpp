// SPDX-License-Identifier: Apache-2.0
//
// Gauss rules and Legendre polynomials against their definitions. All numbers are of order one and come from at most a few dozen
// operations: 1e-14 is a hundred roundings.
#include "invar/geom/gauss.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace invar::testing {
namespace {

constexpr double kRounding = 1e-14;

double integral_of_power(const GaussRule& rule, int power) {
  double sum = 0;
  for (int i = 0; i < rule.size; ++i)
    sum += rule.weight[static_cast<std::size_t>(i)] * std::pow(rule.point[static_cast<std::size_t>(i)], power);
  return sum;
}

TEST(GaussRule, IsExactToDegreeTwoNLessOneAndNotBeyond) {
  for (int n = 1; n <= kMaxGaussPoints; ++n) {
    const GaussRule rule = gauss_rule(n);
    for (int power = 0; power < 2 * n; ++power)
      EXPECT_NEAR(integral_of_power(rule, power), 1.0 / (power + 1), kRounding) << n << " points, power " << power;
    // The error at degree 2n is (n!)^4 / ((2n + 1) (2n)!²).
    double error = 1.0 / (2 * n + 1);
    for (int k = 1; k <= n; ++k) error *= std::pow(k / ((2.0 * k - 1) * 2 * k) * k, 2);
    EXPECT_NEAR(1.0 / (2 * n + 1) - integral_of_power(rule, 2 * n), error, kRounding) << n << " points";
  }
}

TEST(GaussRule, IsSymmetricWithAscendingPoints) {
  for (int n = 1; n <= kMaxGaussPoints; ++n) {
    const GaussRule rule = gauss_rule(n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      const std::size_t mirror = static_cast<std::size_t>(n) - 1 - i;
      EXPECT_NEAR(rule.point[i] + rule.point[mirror], 1, 1e-16);
      EXPECT_EQ(rule.weight[i], rule.weight[mirror]);
      EXPECT_TRUE(i == 0 || rule.point[i] > rule.point[i - 1]);
    }
  }
}

TEST(Legendre, PolynomialsAreOrthogonal) {
  const GaussRule rule = gauss_rule(kMaxGaussPoints);
  for (int j = 0; j <= 7; ++j)
    for (int k = 0; k <= 7; ++k) {
      double sum = 0;
      for (std::size_t i = 0; i < kMaxGaussPoints; ++i)
        sum += rule.weight[i] * legendre(j, rule.point[i]) * legendre(k, rule.point[i]);
      EXPECT_NEAR(sum, j == k ? 1.0 / (2 * k + 1) : 0.0, kRounding) << j << " " << k;
    }
}

TEST(Legendre, SlopesAndIntegralsBelongToTheirPolynomials) {
  for (int k = 0; k <= 7; ++k)
    for (const double tau : {0.0, 0.1, 0.5, 0.77, 1.0}) {
      // Integrals by a rule that is exact for them; the slope through the fundamental theorem.
      const GaussRule rule = gauss_rule(kMaxGaussPoints);
      double integral = 0, change = 0;
      for (std::size_t i = 0; i < kMaxGaussPoints; ++i) {
        integral += tau * rule.weight[i] * legendre(k, tau * rule.point[i]);
        change += tau * rule.weight[i] * legendre_slope(k, tau * rule.point[i]);
      }
      EXPECT_NEAR(legendre_integral(k, tau), integral, kRounding);
      EXPECT_NEAR(legendre(k, tau) - legendre(k, 0), change, 10 * kRounding);  // slopes reach k (k + 1)
    }
}

TEST(GaussBasis, IsOneAtItsPointZeroAtTheOthersAndIntegratesToTheWeight) {
  for (int n = 1; n <= kMaxGaussPoints; ++n) {
    const GaussBasis basis(n);
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i)
        EXPECT_NEAR(basis.basis(j, basis.rule().point[static_cast<std::size_t>(i)]), i == j ? 1 : 0, kRounding);
      EXPECT_NEAR(basis.integral(j, 1), basis.rule().weight[static_cast<std::size_t>(j)], kRounding);
      EXPECT_NEAR(basis.integral(j, 0), 0, kRounding);
    }
  }
}

}  // namespace
}  // namespace invar::testing
