// SPDX-License-Identifier: Apache-2.0
//
// Newton's method on the rows of a block, and its factors: LU of the rows kept, or QR of all rows with the largest remaining
// column first (Householder), Φ_d = Q R.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "invar/mech/block_tree.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/joint_tree.hpp"

namespace invar {
namespace {

constexpr int kIterations = 25;
constexpr double kRounding = 4e-16;
constexpr double kNoise = 1e-10;    // of lengths and turns: increments below it that no longer shrink are rounding
constexpr double kClosedForm = 16;  // roundings that a closed form may leave
constexpr double kSingular = 1e-13;
// Rows are kept as long as their pivots have this share of what they had at the anchor, and there at least half of what all rows
// have.
constexpr double kTrusted = 0.25, kStrong = 0.5;
// Of the length: rows that follow from the others hold to round-off times their condition. Where they do not, they do not follow.
constexpr double kFollows = 1e-7;

// Most blocks have three rows or fewer; loops of known length are unrolled.
bool factor_small(MatX& a, std::vector<int>& exchange, double least) {
  const auto fixed = [&](auto size) {
    constexpr int n = decltype(size)::value;
    Eigen::Matrix<double, n, n> m = a.topLeftCorner<n, n>();
    for (int k = 0; k < n; ++k) {
      int pivot = k;
      double scale = 1;
      for (int i = 0; i < k; ++i) scale = std::max(scale, std::abs(m(i, k)));
      for (int i = k + 1; i < n; ++i)
        if (std::abs(m(i, k)) > std::abs(m(pivot, k))) pivot = i;
      exchange[static_cast<std::size_t>(k)] = pivot;
      if (!(std::abs(m(pivot, k)) > least * std::max(scale, std::abs(m(pivot, k))))) return false;
      if (pivot != k) m.row(k).swap(m.row(pivot));
      m(k, k) = 1 / m(k, k);
      for (int i = k + 1; i < n; ++i) {
        m(i, k) *= m(k, k);
        for (int j = k + 1; j < n; ++j) m(i, j) -= m(i, k) * m(k, j);
      }
    }
    a.topLeftCorner<n, n>() = m;
    return true;
  };
  switch (a.rows()) {
    case 1: return fixed(std::integral_constant<int, 1>{});
    case 2: return fixed(std::integral_constant<int, 2>{});
    case 3: return fixed(std::integral_constant<int, 3>{});
    default: return factor_in_place(a, exchange, least);
  }
}

// Of an LU whose diagonal holds reciprocals of pivots.
int sign_of(const MatX& lu, const std::vector<int>& exchange) {
  int sign = 1;
  for (Eigen::Index k = 0; k < lu.rows(); ++k)
    if ((lu(k, k) < 0) != (exchange[static_cast<std::size_t>(k)] != k)) sign = -sign;
  return sign;
}

}  // namespace

// Φ_d in pure numbers, as many rows as there is room for.
void LoopBlock::fill(MatX& phi) const {
  for (Eigen::Index c = 0; c < phi.cols(); ++c) {
    const auto d = static_cast<std::size_t>(c);
    const ScrewAxis& s = screws_[d];
    const double unit = units_[d];
    int cut = -1, side = 0;
    Vec3 linear;  // of the screw at the point of the cut joint
    for (Eigen::Index r = 0; r < phi.rows(); ++r) {
      const RowAt& row = rows_[static_cast<std::size_t>(r)];
      const Term& term = row.terms[0];
      if (row.row.which < 0) {
        phi(r, c) = unit * entry(static_cast<std::size_t>(r), dependent_[d], s);
        continue;
      }
      if (term.cut != cut) {
        const Cut& at = cuts_[static_cast<std::size_t>(cut = term.cut)];
        side = at.sides[d];
        linear = s.v + s.w.cross(at.M.p - s.point);
      }
      phi(r, c) = side == 0 ? 0.0 : (side * unit) * (term.w.dot(s.w) + term.v.dot(linear));
    }
  }
}

bool LoopBlock::factor_kept() {
  const Eigen::Index n = lu_.rows();
  fill(lu_);
  by_all_ = false;
  const bool fine = factor_small(lu_, exchange_, kSingular);
  double least = 0, most = 0;
  orientation_ = fine ? sign_of(lu_, exchange_) : 0;
  for (Eigen::Index k = 0; k < n; ++k) {
    const double inverse = std::abs(lu_(k, k));
    if (k == 0 || inverse > most) most = inverse, weakest_ = dependent_[static_cast<std::size_t>(k)];
    least = k == 0 ? inverse : std::min(least, inverse);
  }
  condition_ = n == 0 ? 1 : (fine ? least / most : 0);
  return fine;
}

bool LoopBlock::factor(const JointTree& tree, const VecX& q, const VecX& wound) {
  const bool fine = factor_kept();
  if (!tall() || kept() == 0) return fine;
  if (fine && condition_ >= kTrusted * anchored_condition_ && !turned_over()) return true;
  evaluate(tree, q, wound, kept(), rows_.size());
  return factor_all();
}

bool LoopBlock::factor_all() {
  fill(all_);
  if (anchored_ != 0) {
    lu_.noalias() = anchor_.transpose() * all_;
    orientation_ = factor_small(lu_, exchange_, 0) ? anchored_ * sign_of(lu_, exchange_) : 0;
  }
  by_all_ = true;
  return decompose();
}

// qr_ from all_.
bool LoopBlock::decompose() {
  const Eigen::Index m = all_.rows(), n = all_.cols();
  qr_ = all_;
  for (std::size_t c = 0; c < order_.size(); ++c) order_[c] = static_cast<int>(c);
  double first = 1, last = 1;
  for (Eigen::Index k = 0; k < n; ++k) {
    Eigen::Index pivot = k;
    double most = -1;
    for (Eigen::Index c = k; c < n; ++c)
      if (const double size = qr_.col(c).tail(m - k).squaredNorm(); size > most) most = size, pivot = c;
    if (pivot != k) {
      qr_.col(k).swap(qr_.col(pivot));
      std::swap(order_[static_cast<std::size_t>(k)], order_[static_cast<std::size_t>(pivot)]);
    }
    last = std::sqrt(std::max(most, 0.0));
    if (k == 0) first = last;
    weakest_ = dependent_[static_cast<std::size_t>(order_[static_cast<std::size_t>(k)])];
    condition_ = 0;
    if (!(last > kSingular * std::max(1.0, first))) return false;
    // H = 1 - τ u uᵀ with u = (1, …) makes column k (β, 0, …).
    const double alpha = qr_(k, k), beta = alpha > 0 ? -last : last;
    tau_[k] = (beta - alpha) / beta;
    qr_(k, k) = beta;
    const double scale = 1 / (alpha - beta);
    for (Eigen::Index r = k + 1; r < m; ++r) qr_(r, k) *= scale;
    for (Eigen::Index c = k + 1; c < n; ++c) {
      double sum = qr_(k, c);
      for (Eigen::Index r = k + 1; r < m; ++r) sum += qr_(r, k) * qr_(r, c);
      sum *= tau_[k];
      qr_(k, c) -= sum;
      for (Eigen::Index r = k + 1; r < m; ++r) qr_(r, c) -= sum * qr_(r, k);
    }
  }
  condition_ = last / first;
  return true;
}

// step_: one number per row, before; the solution, in pure numbers, in front, afterwards.
void LoopBlock::solve() {
  if (by_all_) return solve_all();
  solve_in_place(lu_, exchange_, step_.data());
}

void LoopBlock::solve_all() {
  const Eigen::Index m = qr_.rows(), n = qr_.cols();
  for (Eigen::Index k = 0; k < n; ++k) {
    double sum = step_[k];
    for (Eigen::Index r = k + 1; r < m; ++r) sum += qr_(r, k) * step_[r];
    sum *= tau_[k];
    step_[k] -= sum;
    for (Eigen::Index r = k + 1; r < m; ++r) step_[r] -= sum * qr_(r, k);
  }
  for (Eigen::Index k = n - 1; k >= 0; --k) {
    for (Eigen::Index c = k + 1; c < n; ++c) step_[k] -= qr_(k, c) * step_[c];
    step_[k] /= qr_(k, k);
  }
  for (Eigen::Index k = 0; k < n; ++k) solution_[order_[static_cast<std::size_t>(k)]] = step_[k];
  step_.head(n) = solution_;
}

// The rows that elimination with row exchanges takes, out of all.
void LoopBlock::keep_strongest() {
  const Eigen::Index m = all_.rows(), n = all_.cols();
  qr_ = all_;
  for (Eigen::Index k = 0; k < n; ++k) {
    Eigen::Index pivot = k;
    for (Eigen::Index r = k + 1; r < m; ++r)
      if (std::abs(qr_(r, k)) > std::abs(qr_(pivot, k))) pivot = r;
    if (pivot != k) {
      qr_.row(k).swap(qr_.row(pivot));
      std::swap(rows_[static_cast<std::size_t>(k)], rows_[static_cast<std::size_t>(pivot)]);
    }
    if (qr_(k, k) == 0) break;
    for (Eigen::Index r = k + 1; r < m; ++r) {
      const double f = qr_(r, k) / qr_(k, k);
      for (Eigen::Index c = k + 1; c < n; ++c) qr_(r, c) -= f * qr_(k, c);
    }
  }
  // Rows of one joint stand together.
  const auto earlier = [](const RowAt& a, const RowAt& b) { return a.rank < b.rank; };
  const auto middle = rows_.begin() + static_cast<std::ptrdiff_t>(kept());
  std::sort(rows_.begin(), middle, earlier);
  std::sort(middle, rows_.end(), earlier);
}

Verdict LoopBlock::anchor(const JointTree& tree, const VecX& wound, const VecX& q) {
  if (!tall() || kept() == 0) {
    anchored_ = orientation_;
    return {};
  }
  const double kept_condition = by_all_ ? 0.0 : condition_;
  anchored_ = 0;
  evaluate(tree, q, wound, 0, rows_.size());
  const bool fine = factor_all();
  const double off = residual_.cwiseAbs().maxCoeff();
  if (!fine) return verdict(tree, Status::Singular, condition_);
  if (!(off <= kFollows * length_ + noise_of_positions())) return verdict(tree, Status::Singular, condition_);
  const double all_condition = condition_;
  if (kept_condition < kStrong * all_condition) {
    keep_strongest();
    find_pin(tree);
    evaluate(tree, q, wound, 0, rows_.size());
    factor_all();
  }
  take_basis();
  const bool good = factor_kept();
  anchored_condition_ = good ? condition_ : std::numeric_limits<double>::infinity();
  anchored_ = good && orientation_ != 0 ? orientation_ : 1;
  return good || factor_all() ? Verdict{} : verdict(tree, Status::Singular, condition_);
}

// The first columns of Q, in the order and with the sign that make Q₀ᵀ Φ_d positive here.
void LoopBlock::take_basis() {
  const Eigen::Index m = qr_.rows(), n = qr_.cols();
  anchor_.setIdentity();
  for (Eigen::Index k = n - 1; k >= 0; --k)
    for (Eigen::Index c = k; c < n; ++c) {
      double sum = anchor_(k, c);
      for (Eigen::Index r = k + 1; r < m; ++r) sum += qr_(r, k) * anchor_(r, c);
      sum *= tau_[k];
      anchor_(k, c) -= sum;
      for (Eigen::Index r = k + 1; r < m; ++r) anchor_(r, c) -= sum * qr_(r, k);
    }
  lu_.noalias() = anchor_.transpose() * all_;
  if (factor_small(lu_, exchange_, 0) && sign_of(lu_, exchange_) < 0) anchor_.col(0) *= -1;
}

Verdict LoopBlock::verdict(const JointTree& tree, Status status, double value) const {
  return {status, -1, weakest_ < 0 ? -1 : tree.joint_of(weakest_), value};
}

// Positions are absolute numbers: far from the origin they are not better than this, m.
double LoopBlock::noise_of_positions() const { return cuts_.empty() ? 0.0 : kRounding * cuts_.front().M.p.cwiseAbs().maxCoeff(); }

double LoopBlock::residual() const {
  return residual_.head(static_cast<Eigen::Index>(by_all_ ? rows_.size() : kept())).cwiseAbs().maxCoeff();
}

Verdict LoopBlock::look(const JointTree& tree, const Bodies& bodies, const VecX& wound, const VecX& q) {
  arrange(tree, bodies);
  place(tree, q);
  // Without freedoms that depend there is nothing to solve; all rows are wanted for themselves.
  evaluate(tree, q, wound, 0, kept() > 0 ? kept() : rows_.size());
  return factor(tree, q, wound) ? Verdict{} : verdict(tree, Status::Singular, condition_);
}

Verdict LoopBlock::close(const JointTree& tree, const Bodies& bodies, const VecX& wound, VecX& q) {
  arrange(tree, bodies);
  bool drawn = by_ruler_and_compass(tree, bodies);
  if (drawn) tree.move(dependent_, step_, q);
  place(tree, q);
  evaluate(tree, q, wound, 0, kept());
  const double rounding = std::max(kRounding * length_, noise_of_positions()), noise = kNoise * length_ + 16 * rounding;
  double before = 0;
  for (int k = 0;; ++k) {
    if (!factor(tree, q, wound)) return verdict(tree, Status::Singular, condition_);
    step_.head(residual_.size()) = -residual_;
    solve();
    const double now = step_.head(lu_.rows()).cwiseAbs().maxCoeff();
    if (!std::isfinite(now)) return verdict(tree, Status::NotFinite, now);
    // Small corrections that no longer shrink are rounding; where rows still gape no further ones will close them (all rows are
    // then as near to closed as they get: there is nothing closed nearby).
    if (now <= (k == 0 && drawn ? kClosedForm * rounding : rounding) || (k > 1 && now > 0.5 * before && now <= noise)) {
      const double gap = residual();
      return gap <= noise + (by_all_ ? kFollows * length_ : 0.0) ? Verdict{} : verdict(tree, Status::NotConverged, gap);
    }
    if (k == kIterations) return verdict(tree, Status::NotConverged, now);
    for (std::size_t d = 0; d < dependent_.size(); ++d) step_[static_cast<Eigen::Index>(d)] *= units_[d];
    tree.move(dependent_, step_, q);
    place(tree, q);
    evaluate(tree, q, wound, 0, by_all_ ? rows_.size() : kept());
    // Newton's method squares its error: the next correction would be (now/before²) now². Below round-off it is not made.
    const double next = k > 0 ? now / before * (now / before) * now : now * now / (length_ * condition_);
    if (next <= rounding && residual() <= noise)
      return factor(tree, q, wound) ? Verdict{} : verdict(tree, Status::Singular, condition_);
    before = now;
  }
}

void LoopBlock::rates(const JointTree& tree, const Bodies& bodies, VecX& v) {
  for (std::size_t r = 0; r < (by_all_ ? rows_.size() : kept()); ++r) {
    double sum = 0;
    for (const Term& term : rows_[r].terms) {
      if (term.factor == 0) continue;
      if (term.cut < 0) {
        sum += term.factor * v[term.freedom];
        continue;
      }
      const Cut& cut = cuts_[static_cast<std::size_t>(term.cut)];
      const Joint& joint = tree.model().joints()[static_cast<std::size_t>(cut.joint)];
      const BodyState &parent = body_state(bodies, joint.parent), &child = body_state(bodies, joint.child);
      sum += term.factor *
             (term.w.dot(child.w_WB - parent.w_WB) + term.v.dot(child.velocity_at(cut.M.p) - parent.velocity_at(cut.M.p)));
    }
    step_[static_cast<Eigen::Index>(r)] = -sum;
  }
  solve();
  for (std::size_t d = 0; d < dependent_.size(); ++d) v[dependent_[d]] += step_[static_cast<Eigen::Index>(d)] * units_[d];
}

const VecX& LoopBlock::motion(const JointTree& tree, int freedom) {
  const ScrewAxis s = tree.screw(freedom);
  for (std::size_t r = 0; r < (by_all_ ? rows_.size() : kept()); ++r) step_[static_cast<Eigen::Index>(r)] = -entry(r, freedom, s);
  solve();
  for (std::size_t d = 0; d < dependent_.size(); ++d) step_[static_cast<Eigen::Index>(d)] *= units_[d];
  return step_;
}

}  // namespace invar
