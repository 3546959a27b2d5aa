// SPDX-License-Identifier: Apache-2.0
#include "invar/control/box_quadratic.hpp"

#include <algorithm>
#include <cmath>

namespace invar {
namespace {

constexpr int kChanges = 8;          // per unknown
constexpr double kRounding = 1e-14;  // of the terms of a gradient

}  // namespace

BoxQuadratic::BoxQuadratic(int n)
    : at_(static_cast<std::size_t>(n), At::Inside),
      barred_(static_cast<std::size_t>(n), false),
      L_(MatX::Zero(n, n)),
      z_(VecX::Zero(n)) {
  inside_.reserve(static_cast<std::size_t>(n));
}

// H z = b over those inside, the others where x has them: L Lᵀ, then both triangles.
void BoxQuadratic::solve_inside(const MatX& H, const VecX& b, const VecX& x) {
  inside_.clear();
  for (Eigen::Index i = 0; i < x.size(); ++i)
    if (at_[static_cast<std::size_t>(i)] == At::Inside) inside_.push_back(i);
  const auto n = static_cast<Eigen::Index>(inside_.size());
  const auto index = [this](Eigen::Index k) { return inside_[static_cast<std::size_t>(k)]; };
  for (Eigen::Index r = 0; r < n; ++r) {
    double right = b[index(r)];
    for (Eigen::Index i = 0; i < x.size(); ++i)
      if (at_[static_cast<std::size_t>(i)] != At::Inside) right -= H(index(r), i) * x[i];
    for (Eigen::Index c = 0; c <= r; ++c) {
      double sum = H(index(r), index(c));
      for (Eigen::Index k = 0; k < c; ++k) sum -= L_(r, k) * L_(c, k);
      L_(r, c) = c < r ? sum / L_(c, c) : std::sqrt(sum);
    }
    for (Eigen::Index k = 0; k < r; ++k) right -= L_(r, k) * z_[k];
    z_[r] = right / L_(r, r);
  }
  for (Eigen::Index r = n - 1; r >= 0; --r) {
    for (Eigen::Index k = r + 1; k < n; ++k) z_[r] -= L_(k, r) * z_[k];
    z_[r] /= L_(r, r);
  }
}

// Which of those inside meets its bound first on the way from x to z, and after which part of the way; -1: none.
int BoxQuadratic::first_blocked(const VecX& lower, const VecX& upper, const VecX& x, double& part) const {
  int blocked = -1;
  part = 1;
  for (std::size_t k = 0; k < inside_.size(); ++k) {
    const Eigen::Index i = inside_[k];
    const double z = z_[static_cast<Eigen::Index>(k)];
    if (z >= lower[i] && z <= upper[i]) continue;
    const double share = std::clamp(((z < lower[i] ? lower[i] : upper[i]) - x[i]) / (z - x[i]), 0.0, 1.0);
    if (blocked < 0 || share < part) part = share, blocked = static_cast<int>(k);
  }
  return blocked;
}

// Which of those at a bound gains most by leaving it, in the measure of H; -1: none gains.
int BoxQuadratic::to_release(const MatX& H, const VecX& b, const VecX& lower, const VecX& upper, const VecX& x) const {
  int best = -1;
  double most = 0;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const At at = at_[static_cast<std::size_t>(i)];
    if (at == At::Inside || barred_[static_cast<std::size_t>(i)] || lower[i] == upper[i]) continue;
    double slope = -b[i], terms = std::abs(b[i]);
    for (Eigen::Index k = 0; k < x.size(); ++k) slope += H(i, k) * x[k], terms += std::abs(H(i, k) * x[k]);
    const double gain = (at == At::Lower ? -slope : slope) / std::sqrt(H(i, i));
    if (gain > most && std::abs(slope) > kRounding * terms) most = gain, best = static_cast<int>(i);
  }
  return best;
}

bool BoxQuadratic::minimise(const MatX& H, const VecX& b, const VecX& lower, const VecX& upper, VecX& x) {
  std::fill(at_.begin(), at_.end(), At::Inside);
  std::fill(barred_.begin(), barred_.end(), false);
  x = x.cwiseMax(lower).cwiseMin(upper);
  int released = -1;
  for (Eigen::Index change = 0; change < kChanges * x.size() + 1; ++change) {
    solve_inside(H, b, x);
    double part = 1;
    const int blocked = first_blocked(lower, upper, x, part);
    for (std::size_t k = 0; k < inside_.size(); ++k) {
      const Eigen::Index i = inside_[k];
      const double z = z_[static_cast<Eigen::Index>(k)];
      x[i] = blocked < 0 ? z : std::clamp(x[i] + part * (z - x[i]), lower[i], upper[i]);
    }
    if (blocked >= 0) {
      const Eigen::Index i = inside_[static_cast<std::size_t>(blocked)];
      const bool low = z_[blocked] < lower[i];
      x[i] = low ? lower[i] : upper[i];
      at_[static_cast<std::size_t>(i)] = low ? At::Lower : At::Upper;
      if (i == released && part == 0) barred_[static_cast<std::size_t>(i)] = true;
      released = -1;
      continue;
    }
    released = to_release(H, b, lower, upper, x);
    if (released < 0) return true;
    at_[static_cast<std::size_t>(released)] = At::Inside;
  }
  return false;
}

void BoxQuadratic::minimise(const MatX& H, const VecX& b, VecX& x) {
  std::fill(at_.begin(), at_.end(), At::Inside);
  solve_inside(H, b, x);
  x = z_;
}

}  // namespace invar
