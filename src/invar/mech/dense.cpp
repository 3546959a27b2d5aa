// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/dense.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>

namespace invar {

Svd full_svd(const MatX& A) {
  const Eigen::JacobiSVD<MatX> svd(A, Eigen::ComputeFullU | Eigen::ComputeFullV);
  return {svd.singularValues(), svd.matrixU(), svd.matrixV()};
}

std::vector<std::complex<double>> eigenvalues(const MatX& A) {
  const Eigen::EigenSolver<MatX> solver(A, false);
  return {solver.eigenvalues().data(), solver.eigenvalues().data() + A.rows()};
}

std::vector<std::complex<double>> pencil_roots(const MatX& A, const MatX& B, double s) {
  const Svd at = full_svd(A + s * B);
  if (A.rows() == 0 || !(at.values[A.rows() - 1] > 0)) return {};
  std::vector<std::complex<double>> out;
  for (const std::complex<double>& l : eigenvalues(at.right * at.values.cwiseInverse().asDiagonal() * at.left.transpose() * B))
    if (std::abs(l) > 1e-9) out.push_back(s - 1.0 / l);
  return out;
}

std::vector<int> strongest_rows(const MatX& A) {
  const Eigen::ColPivHouseholderQR<MatX> qr(A.transpose());
  return {qr.colsPermutation().indices().data(), qr.colsPermutation().indices().data() + A.rows()};
}

void orthogonal_factors(const MatX& B, MatX& Q, MatX& R) {
  const Eigen::HouseholderQR<MatX> qr(B);
  Q = qr.householderQ() * MatX::Identity(B.rows(), B.rows());
  R = qr.matrixQR().topRows(B.cols()).triangularView<Eigen::Upper>();
}

VecX least_norm_solution(const MatX& A, const VecX& b, double threshold) {
  Eigen::CompleteOrthogonalDecomposition<MatX> cod;
  cod.setThreshold(threshold);
  cod.compute(A);
  return cod.solve(b);
}

}  // namespace invar
