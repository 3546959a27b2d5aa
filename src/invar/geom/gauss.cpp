// SPDX-License-Identifier: Apache-2.0
//
// Shifted Legendre polynomials, with s = 2 tau - 1:
//   P_0 = 1,  P_1 = s,  (k + 1) P_k+1 = (2k + 1) s P_k - k P_k-1
//   (1 - s²) dP_k/ds = k (P_k-1 - s P_k),   d/dtau = 2 d/ds
//   integral from 0 to tau of P_k:  (P_k+1 - P_k-1) / (2 (2k + 1)),  tau for k = 0
// The points are the zeros of P_n; the weights 1 / ((1 - s²) (dP_n/ds)²), which are those of [-1, 1] halved.
#include "invar/geom/gauss.hpp"

#include <cmath>
#include <numbers>

#include "invar/base/check.hpp"

namespace invar {
namespace {

/// P_k and P_k-1 at s in [-1, 1].
struct Pair {
  double p, before;
};

Pair legendre_pair(int k, double s) {
  double before = 0, p = 1;
  for (int j = 0; j < k; ++j) {
    const double next = ((2 * j + 1) * s * p - j * before) / (j + 1);
    before = p;
    p = next;
  }
  return {p, before};
}

// Away from the ends only; there the quotient is 0/0.
double slope_inside(int k, double s) {
  const Pair pair = legendre_pair(k, s);
  return k * (pair.before - s * pair.p) / ((1 - s) * (1 + s));
}

}  // namespace

double legendre(int k, double tau) { return legendre_pair(k, 2 * tau - 1).p; }

// dP_k = sum of (2j + 1) P_j over j = k - 1, k - 3, ..: no quotient.
double legendre_slope(int k, double tau) {
  double sum = 0;
  for (int j = k - 1; j >= 0; j -= 2) sum += (2 * j + 1) * legendre(j, tau);
  return 2 * sum;
}

double legendre_integral(int k, double tau) {
  if (k == 0) return tau;
  return (legendre(k + 1, tau) - legendre(k - 1, tau)) / (2 * (2 * k + 1));
}

GaussRule gauss_rule(int n) {
  INVAR_CHECK(n >= 1 && n <= kMaxGaussPoints, "Gauss rules have one to nine points");
  GaussRule rule;
  rule.size = n;
  for (int i = 0; i < (n + 1) / 2; ++i) {
    // Newton from Tricomi's estimate; the zero in the middle is zero.
    double s = 2 * i + 1 == n ? 0 : -std::cos(std::numbers::pi * (i + 0.75) / (n + 0.5));
    for (int k = 0; k < 6; ++k) s -= legendre_pair(n, s).p / slope_inside(n, s);
    const double slope = slope_inside(n, s);
    const auto left = static_cast<std::size_t>(i), right = static_cast<std::size_t>(n - 1 - i);
    rule.point[left] = 0.5 * (1 + s);
    rule.point[right] = 0.5 * (1 - s);
    rule.weight[left] = rule.weight[right] = 1 / ((1 - s) * (1 + s) * slope * slope);
  }
  return rule;
}

double GaussBasis::basis(int j, double tau) const {
  const auto i = static_cast<std::size_t>(j);
  double sum = 0;
  for (int k = 0; k < size(); ++k) sum += (2 * k + 1) * legendre(k, rule_.point[i]) * legendre(k, tau);
  return rule_.weight[i] * sum;
}

double GaussBasis::integral(int j, double tau) const {
  const auto i = static_cast<std::size_t>(j);
  double sum = 0;
  for (int k = 0; k < size(); ++k) sum += (2 * k + 1) * legendre(k, rule_.point[i]) * legendre_integral(k, tau);
  return rule_.weight[i] * sum;
}

}  // namespace invar
