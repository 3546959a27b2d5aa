// SPDX-License-Identifier: Apache-2.0
//
// M x + Jᵀ F = f, J x = g in pure numbers. Rows independent: LU of the whole matrix with full pivoting. Rows dependent: singular
// value decomposition of J, motion in its null space, multipliers of least norm. Large systems: a QR factorization of Jᵀ with
// pivoting chooses independent rows, LU with partial pivoting solves with them, and what the multipliers hold of ker Jᵀ is taken
// away. All are refined with residuals in extended precision, so what is left is the uncertainty of the assembled numbers.
#include <Eigen/Dense>
#include <algorithm>

#include "support/dense_kkt.hpp"

namespace invar::testing {

namespace {

/// The same system in pure numbers: ν (v, l w), rows of unit length, forces (f, m/l)/m0.
struct Scaled {
  MatX M, J;
  VecX gamma, force;
  VecX column;  // 6N: ν = ν_scaled / column
  VecX row;     // R: F = m0 F_scaled / row
};

Scaled scaled(const Model& model, const DenseKkt& k) {
  Scaled s;
  const Eigen::Index n = k.M.rows() / 2;
  s.column = VecX::Ones(2 * n);
  s.column.tail(n).setConstant(model.length());
  s.row = k.row_length;
  const VecX per_column = s.column.cwiseInverse(), per_row = s.row.cwiseInverse();
  s.M = per_column.asDiagonal() * k.M * per_column.asDiagonal() / model.mean_mass();
  s.J = per_row.asDiagonal() * k.J * per_column.asDiagonal();
  s.gamma = per_row.cwiseProduct(k.gamma);
  s.force = per_column.cwiseProduct(k.force) / model.mean_mass();
  return s;
}

struct Solution {
  VecX x, F;
};

/// Any solver of the pair (M x + Jᵀ F = f, J x = g), improved by residuals in extended precision.
template <class Solve>
Solution refined(const Scaled& s, const Solve& solve, double& residual) {
  using MatL = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  using VecL = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
  const MatL M = s.M.cast<long double>(), J = s.J.cast<long double>();
  VecL x = VecL::Zero(s.M.rows()), F = VecL::Zero(s.J.rows());
  VecL rx = s.force.cast<long double>(), rF = s.gamma.cast<long double>();
  for (int pass = 0; pass < 4; ++pass) {
    const Solution d = solve(VecX(rx.cast<double>()), VecX(rF.cast<double>()));
    x += d.x.cast<long double>();
    F += d.F.cast<long double>();
    rx = s.force.cast<long double>() - M * x - J.transpose() * F;
    rF = s.gamma.cast<long double>() - J * x;
  }
  // Against the forces and the accelerations they would give to free bodies: an immobile system has none of its own.
  const double load = 1e-300 + s.force.norm();
  residual = static_cast<double>(rx.norm() / (load + static_cast<double>((M * x).norm() + F.norm())) +
                                 rF.norm() / (load + s.gamma.norm() + static_cast<double>(x.norm())));
  return {x.cast<double>(), F.cast<double>()};
}

MatX kkt_matrix(const Scaled& s) {
  const Eigen::Index n = s.M.rows(), m = s.J.rows();
  MatX K = MatX::Zero(n + m, n + m);
  K.topLeftCorner(n, n) = s.M;
  K.topRightCorner(n, m) = s.J.transpose();
  K.bottomLeftCorner(m, n) = s.J;
  return K;
}

template <class Factorization>
Solution solve_regular(const Scaled& s, const Factorization& lu, double& residual) {
  const Eigen::Index n = s.M.rows(), m = s.J.rows();
  const auto solve = [&](const VecX& f, const VecX& g) -> Solution {
    const VecX y = lu.solve((VecX(n + m) << f, g).finished());
    return {y.head(n), y.tail(m)};
  };
  return refined(s, solve, residual);
}

/// Null-space method: J = U D Vᵀ to rank r, x = J⁺ g + N z with Nᵀ M N z = Nᵀ (f - M J⁺ g), F = (Jᵀ)⁺ (f - M x).
Solution solve_redundant(const Scaled& s, const Eigen::JacobiSVD<MatX>& svd, int rank, double& residual) {
  const MatX U = svd.matrixU().leftCols(rank), V = svd.matrixV().leftCols(rank);
  const MatX N = svd.matrixV().rightCols(s.M.rows() - rank);
  const VecX d = svd.singularValues().head(rank);
  Eigen::FullPivLU<MatX> inner;
  if (N.cols() > 0) inner.compute(N.transpose() * s.M * N);
  const auto solve = [&](const VecX& f, const VecX& g) -> Solution {
    VecX x = V * (U.transpose() * g).cwiseQuotient(d);
    if (N.cols() > 0) x += N * inner.solve(N.transpose() * (f - s.M * x));
    return {x, U * (V.transpose() * (f - s.M * x)).cwiseQuotient(d)};
  };
  return refined(s, solve, residual);
}

/// Largest over smallest singular value of a symmetric matrix, the `nullity` exact zeros left out.
double condition_of(const MatX& K, Eigen::Index nullity) {
  VecX e = Eigen::SelfAdjointEigenSolver<MatX>(K, Eigen::EigenvaluesOnly).eigenvalues().cwiseAbs();
  std::sort(e.begin(), e.end());
  return e[e.size() - 1] / e[nullity];
}

constexpr double kRankTolerance = 1e-10;  // on singular values of unit rows; random graphs keep >= 1e-7 and drop <= 1e-12
constexpr Eigen::Index kLarge = 700;      // unknowns; beyond, nothing is decided by SVD

/// Largest over smallest absolute eigenvalue of a symmetric matrix by iteration, from below.
double condition_by_iteration(const MatX& K, const Eigen::PartialPivLU<MatX>& lu) {
  const auto largest = [&](const auto& apply) {
    VecX v = VecX::LinSpaced(K.rows(), 1, 2).normalized();
    double size = 0;
    for (int i = 0; i < 40; ++i) v = apply(v), size = v.norm(), v /= size;
    return size;
  };
  return largest([&](const VecX& v) -> VecX { return K * v; }) * largest([&](const VecX& v) -> VecX { return lu.solve(v); });
}

/// Orthonormal basis of ker Jᵀ from Jᵀ P = Q (R1 R2): the columns of P (-R1⁻¹ R2; 1), made orthonormal.
MatX self_stresses(const Eigen::ColPivHouseholderQR<MatX>& qr, Eigen::Index rank) {
  const Eigen::Index rows = qr.cols(), extra = rows - rank;
  if (extra == 0) return MatX::Zero(rows, 0);
  MatX N(rows, extra);
  N.topRows(rank) =
      -qr.matrixQR().topLeftCorner(rank, rank).triangularView<Eigen::Upper>().solve(qr.matrixQR().topRightCorner(rank, extra));
  N.bottomRows(extra).setIdentity();
  N = (qr.colsPermutation() * N).eval();
  return N.householderQr().householderQ() * MatX::Identity(rows, extra);
}

Solution solve_large(const Scaled& s, Judgement& out) {
  const Eigen::Index n = s.M.rows(), rows = s.J.rows();
  const Eigen::ColPivHouseholderQR<MatX> qr(s.J.transpose());
  const VecX pivots = qr.matrixQR().diagonal().cwiseAbs();
  while (out.rank < pivots.size() && pivots[out.rank] > kRankTolerance) ++out.rank;
  out.smallest_kept = out.rank > 0 ? pivots[out.rank - 1] : 1.0;
  out.largest_dropped = out.rank < pivots.size() ? pivots[out.rank] : 0.0;
  out.self_stress = self_stresses(qr, out.rank);
  // The rows chosen first are independent; the others follow from them.
  Scaled kept = s;
  kept.J.resize(out.rank, n);
  for (int r = 0; r < out.rank; ++r) kept.J.row(r) = s.J.row(qr.colsPermutation().indices()[r]);
  const MatX K = kkt_matrix(kept);
  const Eigen::PartialPivLU<MatX> lu(K);
  out.condition = condition_by_iteration(K, lu);
  const auto solve = [&](const VecX& f, const VecX& g) -> Solution {
    VecX right(n + out.rank), F = VecX::Zero(rows);
    right.head(n) = f;
    for (int r = 0; r < out.rank; ++r) right[n + r] = g[qr.colsPermutation().indices()[r]];
    const VecX y = lu.solve(right);
    for (int r = 0; r < out.rank; ++r) F[qr.colsPermutation().indices()[r]] = y[n + r];
    return {y.head(n), F - out.self_stress * (out.self_stress.transpose() * F)};
  };
  return refined(s, solve, out.residual);
}

Solution solve(const Scaled& s, Judgement& out) {
  const Eigen::Index rows = s.J.rows();
  if (s.M.rows() + rows > kLarge) return solve_large(s, out);
  const MatX K = kkt_matrix(s);
  // Pivots of a QR factorization bound the singular values well enough to see that nothing is redundant.
  const VecX pivots = rows == 0 ? VecX() : VecX(s.J.transpose().colPivHouseholderQr().matrixQR().diagonal().cwiseAbs());
  if (rows <= s.J.cols() && (rows == 0 || pivots.minCoeff() > 1e-6)) {
    out.rank = static_cast<int>(rows);
    out.smallest_kept = rows == 0 ? 1.0 : pivots.minCoeff();
    out.self_stress = MatX::Zero(rows, 0);
    out.condition = condition_of(K, 0);
    return solve_regular(s, Eigen::FullPivLU<MatX>(K), out.residual);
  }
  // Jacobi: Eigen's divide and conquer returned wrong vectors for some of these clustered spectra.
  const Eigen::JacobiSVD<MatX> svd(s.J, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const VecX& d = svd.singularValues();
  while (out.rank < d.size() && d[out.rank] > kRankTolerance) ++out.rank;
  out.smallest_kept = out.rank > 0 ? d[out.rank - 1] : 1.0;
  out.largest_dropped = out.rank < d.size() ? d[out.rank] : 0.0;
  out.self_stress = svd.matrixU().rightCols(rows - out.rank);
  out.condition = condition_of(K, rows - out.rank);
  if (out.rank < rows) return solve_redundant(s, svd, out.rank, out.residual);
  return solve_regular(s, Eigen::FullPivLU<MatX>(K), out.residual);
}

}  // namespace

Judgement judge(const Model& model, const DenseKkt& kkt, const Bodies& bodies) {
  Judgement out;
  const Scaled s = scaled(model, kkt);
  const Solution y = solve(s, out);
  const VecX nu_dot = y.x.cwiseQuotient(s.column);
  out.multipliers = model.mean_mass() * y.F.cwiseQuotient(s.row);
  // Back to names: accelerations per body, Cᵀ F per joint turned to World, one effort per coupling.
  const auto n = static_cast<Eigen::Index>(bodies.size());
  for (Eigen::Index b = 0; b < n; ++b) out.accelerations.push_back({nu_dot.segment<3>(3 * b), nu_dot.segment<3>(3 * (n + b))});
  out.reactions = wrenches(model, kkt, bodies, out.multipliers);
  out.couplings = -out.multipliers.tail(static_cast<Eigen::Index>(model.couplings().size()));
  return out;
}

Judgement judge(const Model& model, const Bodies& bodies, const Load& load) {
  return judge(model, assemble(model, bodies, load.port, total_efforts(model, bodies, load)), bodies);
}

}  // namespace invar::testing
