// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/dense.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>

namespace invar {

Svd full_svd(const MatX& A) {
  const Eigen::JacobiSVD<MatX> svd(A, Eigen::ComputeFullU | Eigen::ComputeFullV);
  return {svd.singularValues(), svd.matrixU(), svd.matrixV()};
}

struct SvdOf::Memory {
  Eigen::JacobiSVD<MatX> svd;
};
SvdOf::SvdOf(Eigen::Index rows, Eigen::Index columns)
    : memory_(new Memory{Eigen::JacobiSVD<MatX>(rows, columns, Eigen::ComputeFullU | Eigen::ComputeFullV)}) {}
SvdOf::SvdOf(SvdOf&&) noexcept = default;
SvdOf& SvdOf::operator=(SvdOf&&) noexcept = default;
SvdOf::~SvdOf() = default;

void SvdOf::compute(const MatX& A, VecX& values, MatX& left, MatX& right) {
  memory_->svd.compute(A);
  values = memory_->svd.singularValues();
  left = memory_->svd.matrixU();
  right = memory_->svd.matrixV();
}

std::vector<std::complex<double>> eigenvalues(const MatX& A) {
  const Eigen::EigenSolver<MatX> solver(A, false);
  return {solver.eigenvalues().data(), solver.eigenvalues().data() + A.rows()};
}

struct PencilRoots::Memory {
  Eigen::PartialPivLU<MatX> lu;
  Eigen::EigenSolver<MatX> solver;
  MatX at, B, X;
  std::vector<std::complex<double>> roots;
};
PencilRoots::PencilRoots(Eigen::Index n)
    : memory_(new Memory{Eigen::PartialPivLU<MatX>(n), Eigen::EigenSolver<MatX>(n), MatX(n, n), MatX(n, n), MatX(n, n), {}}) {
  memory_->roots.reserve(static_cast<std::size_t>(n));
}
PencilRoots::PencilRoots(PencilRoots&&) noexcept = default;
PencilRoots& PencilRoots::operator=(PencilRoots&&) noexcept = default;
PencilRoots::~PencilRoots() = default;

// Padded to the largest size: what is added has eigenvalues zero, roots at infinity.
const std::vector<std::complex<double>>& PencilRoots::compute(const Eigen::Ref<const VecX>& A, const Eigen::Ref<const MatX>& B,
                                                              double s) {
  Memory& m = *memory_;
  const Eigen::Index n = A.size();
  m.roots.clear();
  m.at.setIdentity();
  m.at.topLeftCorner(n, n) = s * B;
  m.at.diagonal().head(n) += A;
  m.B.setZero();
  m.B.topLeftCorner(n, n) = B;
  m.lu.compute(m.at);
  if (!(m.lu.matrixLU().diagonal().cwiseAbs().minCoeff() > 0)) return m.roots;
  m.X = m.lu.solve(m.B);
  if (!m.X.allFinite()) return m.roots;
  m.solver.compute(m.X, false);
  for (Eigen::Index i = 0; i < m.X.rows(); ++i)
    if (const std::complex<double> l = m.solver.eigenvalues()[i]; std::abs(l) > 1e-9) m.roots.push_back(s - 1.0 / l);
  return m.roots;
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

MatX leading_directions(const MatX& A, Eigen::Index count) {
  const Eigen::ColPivHouseholderQR<MatX> qr(A);
  return qr.householderQ() * MatX::Identity(A.rows(), count);
}

// A P = Q [R; 0] with R of full row rank, Rᵀ = Q' L: of all x = P z with R z = Qᵀ b the least has z = Q' L⁻ᵀ Qᵀ b.
VecX least_norm_solution(const MatX& A, const VecX& b, double threshold, Eigen::Index most) {
  const Eigen::ColPivHouseholderQR<MatX> qr(A);
  const auto pivots = qr.matrixQR().diagonal().cwiseAbs();
  Eigen::Index n = 0;
  while (n < std::min(most, pivots.size()) && pivots[n] > threshold * pivots[0]) ++n;
  if (n == 0) return VecX::Zero(A.cols());
  const MatX R = qr.matrixQR().topRows(n).triangularView<Eigen::Upper>();
  const Eigen::HouseholderQR<MatX> across(R.transpose());
  VecX z = VecX::Zero(A.cols());
  z.head(n) = (qr.householderQ().adjoint() * b).head(n);
  across.matrixQR().topRows(n).triangularView<Eigen::Upper>().transpose().solveInPlace(z.head(n));
  return qr.colsPermutation() * (across.householderQ() * z);
}

}  // namespace invar
