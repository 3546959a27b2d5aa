// SPDX-License-Identifier: Apache-2.0
// The fundamental self-stresses N of the rank decision span ker Jᵀ. Few of them: thin QR, N = Q T, P = Q Qᵀ, P_kk the squared
// norm of a row of Q. Many of them, each living on a few joints only: sparse Cholesky NᵀN = L Lᵀ, P = N (NᵀN)⁻¹ Nᵀ and
// P_kk = |L⁻¹ N_kᵀ|². Groups are the connected components of (block, self-stress): since every column is a fundamental
// circuit, they are those of the matroid of the rows and do not depend on the basis found.
#include "invar/mech/redundancy.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "invar/base/index.hpp"

namespace invar {
namespace {

constexpr double kDenseWork = 2e9;  // rows s² up to which the dense QR is taken
constexpr double kTrades = 1e-8;    // entries of a unit self-stress below this are round-off

}  // namespace

Redundancy analyse(const KktProblem& problem, FrontSolver& solver, const KnownRank& known) {
  Redundancy out;
  out.structure_ = problem.structure;
  out.verdict = solver.decide(problem, known);
  out.group_of_block.assign(size(problem.structure.blocks()), -1);
  out.share = VecX::Zero(problem.structure.rows());
  out.n_.resize(problem.structure.rows(), 0);
  if (!out.counted()) return out;
  out.rank = solver.decision().rank;
  out.mobility = solver.mobility();
  out.sigma = solver.decision().sigma;
  out.border = solver.decision().border;
  out.n_ = solver.self_stresses();
  out.self_stresses = static_cast<int>(out.n_.cols());
  out.orthogonalize();
  out.measure_shares();
  out.find_groups();
  return out;
}

void Redundancy::orthogonalize() {
  for (int k = 0; k < n_.cols(); ++k) {
    const double norm = n_.col(k).norm();
    for (Eigen::SparseMatrix<double>::InnerIterator it(n_, k); it; ++it) it.valueRef() /= norm;
  }
  const double s = static_cast<double>(n_.cols());
  dense_ = static_cast<double>(n_.rows()) * s * s <= kDenseWork;
  if (dense_) {
    q_ = MatX(n_);
    if (s == 0) return;
    const Eigen::HouseholderQR<MatX> qr(q_);
    q_ = qr.householderQ() * MatX::Identity(n_.rows(), n_.cols());
  } else {
    const Eigen::SparseMatrix<double> gram = n_.transpose() * n_;
    gram_ = std::make_shared<const Eigen::SimplicialLLT<Eigen::SparseMatrix<double>>>(gram);
  }
}

void Redundancy::measure_shares() {
  if (dense_) {
    share = q_.rowwise().squaredNorm();
    return;
  }
  // Forward substitution with the sparse right side N_kᵀ, visiting only what fills.
  const Eigen::SparseMatrix<double> L = gram_->matrixL();
  const Eigen::SparseMatrix<double> transposed = n_.transpose();
  const auto& place = gram_->permutationP().indices();
  VecX y = VecX::Zero(n_.cols());
  for (int row = 0; row < n_.rows(); ++row) {
    int first = static_cast<int>(n_.cols());
    for (Eigen::SparseMatrix<double>::InnerIterator it(transposed, row); it; ++it) {
      const int target = place.size() > 0 ? place[it.row()] : static_cast<int>(it.row());
      y[target] = it.value();
      first = std::min(first, target);
    }
    double sum = 0;
    for (int c = first; c < n_.cols(); ++c) {
      if (y[c] == 0) continue;
      Eigen::SparseMatrix<double>::InnerIterator it(L, c);
      const double value = y[c] / it.value();
      for (++it; it; ++it) y[it.row()] -= it.value() * value;
      sum += value * value;
      y[c] = 0;
    }
    share[row] = sum;
  }
}

void Redundancy::find_groups() {
  // Union of all blocks that carry a common self-stress.
  std::vector<int> root(size(structure_.blocks()));
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int j) {
    while (root[size(j)] != j) j = root[size(j)] = root[size(root[size(j)])];
    return j;
  };
  std::vector<char> carries(size(structure_.blocks()), 0);
  for (int k = 0; k < n_.cols(); ++k) {
    int first = -1;
    for (Eigen::SparseMatrix<double>::InnerIterator it(n_, k); it; ++it) {
      if (std::abs(it.value()) <= kTrades) continue;
      const int block = structure_.block_of_row(static_cast<int>(it.row()));
      carries[size(block)] = 1;
      if (first < 0) first = block;
      root[size(find(block))] = find(first);
    }
  }
  std::vector<int> index(size(structure_.blocks()), -1);
  for (int j = 0; j < structure_.blocks(); ++j) {
    if (!carries[size(j)]) continue;
    int& group = index[size(find(j))];
    if (group < 0) {
      group = static_cast<int>(groups.size());
      groups.emplace_back();
    }
    groups[size(group)].push_back(j);
    group_of_block[size(j)] = group;
  }
}

VecX Redundancy::sparse_solve(const VecX& y) const { return gram_->solve(n_.transpose() * y); }

VecX Redundancy::project(const VecX& y) const {
  if (n_.cols() == 0) return VecX::Zero(y.size());
  if (dense_) return q_ * (q_.transpose() * y);
  // Twice: the second pass projects what the first one missed.
  VecX p = n_ * sparse_solve(y);
  p += n_ * sparse_solve(y - p);
  return p;
}

MatX Redundancy::projector(int i, int j) const {
  const KktBlock& a = structure_.block(i);
  const KktBlock& b = structure_.block(j);
  if (dense_) return q_.middleRows(a.first_row, a.rows) * q_.middleRows(b.first_row, b.rows).transpose();
  MatX out(a.rows, b.rows);
  VecX unit = VecX::Zero(structure_.rows());
  for (int c = 0; c < b.rows; ++c) {
    unit[b.first_row + c] = 1;
    out.col(c) = project(unit).segment(a.first_row, a.rows);
    unit[b.first_row + c] = 0;
  }
  return out;
}

Redundancy::Misfit Redundancy::misfit(const VecX& y) const {
  Misfit out;
  out.rows = project(y);
  out.blocks = VecX::Zero(structure_.blocks());
  for (int j = 0; j < structure_.blocks(); ++j)
    out.blocks[j] = out.rows.segment(structure_.block(j).first_row, structure_.block(j).rows).norm();
  out.size = out.rows.norm();
  return out;
}

MatX Redundancy::basis() const {
  if (dense_) return q_;
  const Eigen::HouseholderQR<MatX> qr{MatX(n_)};
  return qr.householderQ() * MatX::Identity(n_.rows(), n_.cols());
}

}  // namespace invar
