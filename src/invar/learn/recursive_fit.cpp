// SPDX-License-Identifier: Apache-2.0
//
// With V = L Lᵀ, W = P Hᵀ L⁻ᵀ and u = L⁻¹ r: rᵀ V⁻¹ r = |u|², c += W u, P -= W Wᵀ, which stays symmetric to the bit where only
// one half of it is computed.
#include "invar/learn/recursive_fit.hpp"

#include <algorithm>
#include <cmath>

namespace invar {

RecursiveFit::RecursiveFit(RecursiveSpec spec, int most)
    : spec_(std::move(spec)),
      c_(VecX::Zero(spec_.prior.size())),
      P_(spec_.prior.cwiseAbs2().asDiagonal()),
      variance_(spec_.noise * spec_.noise),
      Ht_(MatX::Zero(c_.size(), most)),
      PHt_(Ht_),
      V_(MatX::Zero(most, most)),
      W_(Ht_),
      r_(VecX::Zero(most)),
      u_(r_) {}

// P/keep, with rows and columns of variances beyond their priors scaled back: what is left is positive semidefinite.
void RecursiveFit::forget() {
  P_ /= spec_.keep;
  for (Eigen::Index i = 0; i < c_.size(); ++i) {
    const double most = spec_.prior[i] * spec_.prior[i];
    if (!(P_(i, i) > most)) continue;
    const double scale = std::sqrt(most / P_(i, i));
    P_.col(i) *= scale, P_.row(i) *= scale;
  }
}

// V, L, u and |u|²/rows for the r_ at hand.
double RecursiveFit::weigh(const Eigen::Ref<const MatX>& H) {
  const Eigen::Index n = H.rows();
  auto Ht = Ht_.leftCols(n);
  auto PHt = PHt_.leftCols(n);
  auto V = V_.topLeftCorner(n, n);
  Ht = H.transpose();
  PHt.noalias() = P_ * Ht;
  V.noalias() = Ht.transpose() * PHt;
  V.diagonal().array() += variance_;
  // Cholesky in place, lower half.
  for (Eigen::Index k = 0; k < n; ++k) {
    V(k, k) = std::sqrt(V(k, k));
    V.col(k).tail(n - k - 1) /= V(k, k);
    for (Eigen::Index j = k + 1; j < n; ++j) V.col(j).tail(n - j) -= V(j, k) * V.col(k).tail(n - j);
  }
  auto u = u_.head(n);
  u = r_.head(n);
  for (Eigen::Index k = 0; k < n; ++k) {
    u[k] /= V(k, k);
    u.tail(n - k - 1) -= u[k] * V.col(k).tail(n - k - 1);
  }
  return u.squaredNorm() / static_cast<double>(n);
}

void RecursiveFit::update(Eigen::Index rows) {
  auto W = W_.leftCols(rows);
  W = PHt_.leftCols(rows);
  for (Eigen::Index k = 0; k < rows; ++k) {
    W.col(k) /= V_(k, k);
    for (Eigen::Index j = k + 1; j < rows; ++j) W.col(j) -= V_(j, k) * W.col(k);
  }
  c_.noalias() += W * u_.head(rows);
  // Blocks of columns from the diagonal down, then mirrored.
  constexpr Eigen::Index kBlock = 24;
  for (Eigen::Index j = 0; j < c_.size(); j += kBlock) {
    const Eigen::Index w = std::min(kBlock, c_.size() - j), h = c_.size() - j;
    P_.block(j, j, h, w).noalias() -= W.middleRows(j, h) * W.middleRows(j, w).transpose();
  }
  for (Eigen::Index j = 0; j + 1 < c_.size(); ++j)
    P_.row(j).tail(c_.size() - j - 1) = P_.col(j).tail(c_.size() - j - 1).transpose();
}

bool RecursiveFit::look(const Eigen::Ref<const MatX>& H, const Eigen::Ref<const VecX>& y) {
  const Eigen::Index n = H.rows();
  if (n == 0 || !H.allFinite() || !y.allFinite()) return false;
  forget();
  r_.head(n) = y;
  r_.head(n).noalias() -= H * c_;
  innovation_ = weigh(H);
  if (!std::isfinite(innovation_)) {
    P_ = spec_.prior.cwiseAbs2().asDiagonal();
    return false;
  }
  const bool surprised = innovation_ > spec_.surprise;
  surprises_ = surprised ? surprises_ + 1 : 0;
  variance_ *= 1 + spec_.learning * (std::min(innovation_, spec_.surprise) - 1);
  variance_ = std::max(variance_, spec_.noise * spec_.noise);
  if (surprised && surprises_ < spec_.patience) return false;
  if (surprised) {
    surprises_ = 0;
    P_ = spec_.prior.cwiseAbs2().asDiagonal();
    weigh(H);
  }
  update(n);
  return surprised;
}

}  // namespace invar
