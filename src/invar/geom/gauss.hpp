// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

namespace invar {

/// Points and weights of Gauss-Legendre quadrature on [0, 1]; the first `size` entries count, points ascending.
/// Law: exact for polynomials of degree 2 size - 1; symmetric about 1/2; weights positive with sum 1.
inline constexpr int kMaxGaussPoints = 9;
struct GaussRule {
  int size = 0;
  std::array<double, kMaxGaussPoints> point{};
  std::array<double, kMaxGaussPoints> weight{};
};

/// The rule with n points, 1 <= n <= kMaxGaussPoints.
GaussRule gauss_rule(int n);

/// Legendre polynomial of degree k shifted to [0, 1]: P_k(0) = (-1)^k, P_k(1) = 1, and the integral of P_j P_k is 1/(2k + 1) for
/// j = k and 0 otherwise.
double legendre(int k, double tau);
/// Its derivative, and its integral from 0 to tau.
double legendre_slope(int k, double tau);
double legendre_integral(int k, double tau);

/// Polynomials of degree size - 1 given by their values at the points of a Gauss rule (Lagrange's basis): basis(j, tau) is 1 at
/// point j and 0 at the others; integral(j, tau) is its integral from 0 to tau. Both come from the expansion in Legendre
/// polynomials, weight_j sum_k (2k + 1) P_k(point_j) P_k(tau), which is as well-conditioned as the rule itself.
class GaussBasis {
 public:
  explicit GaussBasis(int n) : rule_(gauss_rule(n)) {}

  const GaussRule& rule() const { return rule_; }
  int size() const { return rule_.size; }
  double basis(int j, double tau) const;
  double integral(int j, double tau) const;

 private:
  GaussRule rule_;
};

}  // namespace invar
