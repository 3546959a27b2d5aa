// SPDX-License-Identifier: Apache-2.0
#include "invar/integrate/radau_tableau.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>

namespace invar {

// Collocation integrates polynomials up to degree 2 exactly: A V = D with V_jk = c_j^k, D_ik = c_i^(k+1)/(k+1), k = 0..2.
// Weights of the second formula: 1/real at the start, b̂ at the nodes, with b̂ V = 1/(k+1) - (1/real) [k = 0]. Its difference
// from the result, whose weights are the last row of A, is (b̂ - b) h f = (b̂ - b) A⁻¹ z.
RadauTableau::RadauTableau() {
  const double root = std::sqrt(6.0);
  c = Vec3((4 - root) / 10, (4 + root) / 10, 1);
  Mat3 V, D;
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) V(i, k) = std::pow(c[i], k), D(i, k) = std::pow(c[i], k + 1) / (k + 1);
  const Mat3 A = D * V.inverse();
  A_inverse = A.inverse();

  const Eigen::EigenSolver<Mat3> eigen(A_inverse);
  for (int k = 0; k < 3; ++k) {
    const std::complex<double> value = eigen.eigenvalues()[k];
    if (value.imag() == 0) {
      real = value.real();
      T.col(0) = eigen.eigenvectors().col(k).real();
    } else if (value.imag() > 0) {
      pair = value;
      T.col(1) = eigen.eigenvectors().col(k).real();
      T.col(2) = eigen.eigenvectors().col(k).imag();
    }
  }
  T_inverse = T.inverse();

  const Vec3 moments(1 - 1 / real, 1.0 / 2, 1.0 / 3);
  const Vec3 b_hat = V.transpose().inverse() * moments;
  e = A_inverse.transpose() * (b_hat - A.row(2).transpose());
}

Vec3 RadauTableau::weights(double s) const {
  Vec3 out;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    out[i] = s * (s - c[j]) * (s - c[k]) / (c[i] * (c[i] - c[j]) * (c[i] - c[k]));
  }
  return out;
}

const RadauTableau& RadauTableau::get() {
  static const RadauTableau tableau;
  return tableau;
}

}  // namespace invar
