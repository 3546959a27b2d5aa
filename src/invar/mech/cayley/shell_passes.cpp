// SPDX-License-Identifier: Apache-2.0
// The passes of a shell: μ and c are assumed, found and improved until they settle.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "invar/mech/cayley/shell.hpp"

namespace invar::cayley {
namespace {

constexpr double kTolerable = 1e-14;
constexpr int kPasses = 16, kMostPasses = 18, kSlow = 4;
constexpr double kNoEnergyOfAll = 1e-24;          // of kinetic energies
constexpr double kFound = 4e-16;                  // of velocities: what passes may leave
constexpr double kRough = 1e-12, kStalled = 0.3;  // of velocities: where what hardly shrinks is rounding
constexpr double kNoise = 1e-10;      // of velocities: what shrinks no more is rounding, which wrenches collect along chains
constexpr double kLeastShare = 0.7;   // c = 1 + O(h ω), or its inverse
constexpr double kTellApart = 1e-10;  // of unit columns

}  // namespace

template <class G>
void Shell<G>::extrapolate() {
  static constexpr double kWeights[4][3] = {{0, 0, 0}, {1, 0, 0}, {2, -1, 0}, {3, -3, 1}};
  const Past& past = past_[stage_];
  const double* w = kWeights[past.known];
  for (std::size_t r = 0; r < mu_.ties.size(); ++r)
    mu_.ties[r] = w[0] * past.mu[0].ties[r] + w[1] * past.mu[1].ties[r] + w[2] * past.mu[2].ties[r];
  for (std::size_t i = 1; i < mu_.wrenches.size(); ++i) {
    mu_.wrenches[i] = w[0] * past.mu[0].wrenches[i] + w[1] * past.mu[1].wrenches[i] + w[2] * past.mu[2].wrenches[i];
    mu_.rotors[i] = w[0] * past.mu[0].rotors[i] + w[1] * past.mu[1].rotors[i] + w[2] * past.mu[2].rotors[i];
  }
}

// How far what was found is from what was assumed, as a velocity over the largest one of its connected part.
template <class G>
double Shell<G>::change() const {
  double largest = 0;
  const auto& slots = tree_.slots();
  for (std::size_t i = 1; i < slots.size(); ++i) {
    const Slot<G>& b = slots[i];
    const double speed = tree_.speed(b);
    if (!(speed > 0) || !b.massive) continue;
    const Vec d = found_.wrenches[i] - mu_.wrenches[i];
    largest = std::max(largest, (d.template head<G::L>().norm() + d.template tail<G::A>().norm() / b.size) / (b.usual * speed));
  }
  for (std::size_t i = 1; i < slots.size(); ++i) {
    if (parts_[i].home != static_cast<int>(i)) continue;
    const Balance& balance = balance_[i];
    if (balance.whole > 0) largest = std::max(largest, std::abs(balance.n1 - balance.n0) / balance.whole);
  }
  return largest;
}

// The step reflects normal velocities. v̂_0 carries c n(μ) and μ is found as c M n_1, so what is found differs from the right μ by
// -c² times what the guess does: their mean with the weights c² and 1 has none of that, whatever c is.
template <class G>
void Shell<G>::improve() {
  const auto better = [](double c, const auto& guess, const auto& found) { return (c * c * guess + found) / (1 + c * c); };
  for (const Tie<G>& tie : tree_.ties()) {
    const double c = tie.line < 0 ? share_[home(tie)] : 1.0;
    for (int r = tie.row; r < tie.row + tie.rows; ++r) mu_.ties[r] = better(c, mu_.ties[r], found_.ties[r]);
  }
  for (std::size_t i = 1; i < mu_.wrenches.size(); ++i) {
    const double c = share_[parts_[i].home];
    mu_.wrenches[i] = better(c, mu_.wrenches[i], found_.wrenches[i]).eval();
    mu_.rotors[i] = better(c, mu_.rotors[i], found_.rotors[i]);
  }
}

// What a pass leaves of the error of μ is nearly the same linear function of it in every pass. Of the improvements r of this pass
// and the last ones, the combination r - Σ θ_k (r - r_k) that is least, per connected part, is that of the better μ (Anderson,
// J. ACM 12, 1965): few slow directions do not hold up the rest.
template <class G>
void Shell<G>::accelerate() {
  const std::size_t n = mu_.wrenches.size();
  for (Fit& fit : fit_) fit = {};
  const auto difference = [&](const Vec& a, const Vec& b, double length) {
    Vec d = a - b;
    d.template tail<G::A>() /= length;
    return d;
  };
  for (std::size_t i = 1; i < n; ++i) {
    if (!tree_.slots()[i].massive) continue;
    Fit& fit = fit_[parts_[i].home];
    const double l = tree_.slots()[i].size;
    const Vec r = difference(mu_.wrenches[i], improved_.from.wrenches[i], l);
    std::array<Vec, kLast> d;
    for (int k = 0; k < known_; ++k) {
      d[k] = r - difference(last_[k].mu.wrenches[i], last_[k].from.wrenches[i], l);
      fit.right[k] += d[k].dot(r);
      for (int j = 0; j <= k; ++j) fit.gram(k, j) += d[k].dot(d[j]);
    }
  }
  improved_.mu = mu_;
  for (Fit& fit : fit_) fit.solve(known_);
  const auto lead = [&](const Fit& fit, auto& now, const auto& past) {
    const auto here = now;
    for (int k = 0; k < known_; ++k) now -= fit.theta[k] * (here - past(last_[k].mu));
  };
  for (std::size_t i = 1; i < n; ++i) {
    const Fit& fit = fit_[parts_[i].home];
    lead(fit, mu_.wrenches[i], [i](const Multipliers& m) -> const Vec& { return m.wrenches[i]; });
    lead(fit, mu_.rotors[i], [i](const Multipliers& m) { return m.rotors[i]; });
  }
  for (const Tie<G>& tie : tree_.ties())
    for (int r = tie.row; tie.line < 0 && r < tie.row + tie.rows; ++r)
      lead(fit_[home(tie)], mu_.ties[r], [r](const Multipliers& m) { return m.ties[r]; });
  std::swap(improved_, last_.back());
  std::rotate(last_.begin(), last_.end() - 1, last_.end());
  known_ = std::min(known_ + 1, kLast);
}

// Unit columns, and a little to the diagonal: directions that rounding alone tells apart count for nothing.
template <class G>
void Shell<G>::Fit::solve(int known) {
  Eigen::Matrix<double, kLast, kLast> A = Eigen::Matrix<double, kLast, kLast>::Identity();
  Eigen::Matrix<double, kLast, 1> size = Eigen::Matrix<double, kLast, 1>::Ones(), b = size;
  for (int k = 0; k < known; ++k) size[k] = std::sqrt(gram(k, k));
  if (!(size.minCoeff() > 0)) return;
  b = right.cwiseQuotient(size);
  for (int k = 0; k < known; ++k)
    for (int j = 0; j < k; ++j) A(k, j) = A(j, k) = gram(k, j) / (size[k] * size[j]);
  A.diagonal().array() += kTellApart;
  theta = A.ldlt().solve(b).cwiseQuotient(size);
  if (!theta.allFinite()) theta.setZero();
}

// The c of equal energies, with n_0 of the μ assumed and n_1 of the μ found: right as far as these are the same. Far from 1 it is
// rounding, or of a step that is too long.
template <class G>
void Shell<G>::share() {
  for (std::size_t i = 1; i < share_.size(); ++i) {
    const Balance& balance = balance_[i];
    const double c = share_[i] * std::sqrt(std::sqrt(balance.n1 / balance.n0));
    const bool known = balance.n0 > kNoEnergyOfAll * balance.whole && c > kLeastShare && c < 1 / kLeastShare;
    share_[i] = known ? c : 1.0;
  }
}

// μ and c by passes, each of which leaves O(h w) of their error. They end where what changes is round-off, or no longer shrinks;
// what does not settle in many passes is a step that is too long. Across a singular configuration a row changes its sign, and
// what it passes on is not reflected: there it is the acceleration that leads to the right μ.
template <class G>
Verdict Shell<G>::shelled(double h, Loading* loading) {
  Verdict verdict;
  extrapolate();
  int total = 0;
  double least = 1;
  known_ = 0;
  for (int pass = 1;; ++pass) {
    verdict = enter();
    if (verdict.ok()) verdict = solve(h, loading, pass > 1);
    total += iterations_;
    if (verdict.ok()) verdict = find_normals();
    const bool settled = verdict.ok() && account();
    const double now = verdict.ok() ? change() : 0;
    const bool found = now <= kFound || (now >= least && now <= kNoise) || (now > kStalled * least && now <= kRough);
    if (settled && (found || pass >= kPasses)) break;
    if (verdict.ok() && pass >= kMostPasses) {
      if (given_back(kTolerable)) break;
      verdict.status = Status::NotConverged;
    }
    restore();
    if (!verdict.ok()) break;
    const bool slow = pass >= kSlow;
    if (slow) improved_.from = mu_;
    improve();
    if (slow) accelerate();
    if (pass > 1) share();  // an extrapolated μ is farther from what is found than c from what it was
    least = std::min(least, now);
  }
  iterations_ = total;
  if (verdict.ok()) {
    balance_ledger();
    leave();
  }
  return verdict;
}

#define INVAR_MEMBERS(G)                                \
  template Verdict Shell<G>::shelled(double, Loading*); \
  template void Shell<G>::improve();                    \
  template void Shell<G>::share();
INVAR_MEMBERS(InSpace)
INVAR_MEMBERS(InPlane)
#undef INVAR_MEMBERS

}  // namespace invar::cayley
