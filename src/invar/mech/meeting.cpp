// SPDX-License-Identifier: Apache-2.0
//
// Along q(x) with q' = t the closed loops have Φ t = 0 and Φ'(t) t + Φ κ = 0; over the left kernel the second one is
// Nᵀ Φ'(t) t = 0, whatever the curvature κ. Beside the configuration the weak rows are x Nᵀ Φ'(t): on the branch the rank grows
// by that of Nᵀ Φ'(t) K.
#include "invar/mech/meeting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/base/random.hpp"
#include "invar/mech/loops_limits.hpp"

namespace invar {
namespace {

constexpr double kDifference = 1e-4;  // scaled: central differences are good to 1e-8
constexpr double kForm = 1e-5;        // of a form: below it a row depends on the others beside the configuration, too
constexpr double kSame = 1e-3;        // 1 - |cosine| of two directions that are one; a double root is found to its root
constexpr int kStarts = 60;           // per dimension
constexpr int kMeetingIterations = 60;
constexpr std::size_t kMost = 64;     // branches
constexpr std::size_t kExamples = 4;  // of a continuum
constexpr double kResisted = 1e-3;    // of a form: what the nearest direction must leave of it where nothing moves

// The forms c ↦ n_iᵀ Φ'(K c) K c as symmetric matrices, independent ones only; and slopes[j] = Nᵀ Φ'(K_j) K.
struct Forms {
  std::vector<MatX> forms, slopes;
};

// A basis of unit norm, from the products of all pairs: of n forms in k dimensions that is n x n, where k can be near a hundred.
// Squares of singular values are known to 1e-16, those above kForm² to six digits.
std::vector<MatX> independent(const std::vector<MatX>& forms) {
  std::vector<MatX> out;
  const auto n = static_cast<Eigen::Index>(forms.size());
  MatX products(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j <= i; ++j)
      products(i, j) = products(j, i) = forms[static_cast<std::size_t>(i)].cwiseProduct(forms[static_cast<std::size_t>(j)]).sum();
  const Svd svd = full_svd(products);
  for (Eigen::Index i = 0; i < n && svd.values[i] > kForm * kForm; ++i) {
    MatX form = MatX::Zero(forms[0].rows(), forms[0].cols());
    for (Eigen::Index j = 0; j < n; ++j) form += svd.left(j, i) * forms[static_cast<std::size_t>(j)];
    out.push_back(form / form.norm());
  }
  return out;
}

Forms forms_at(Loops& loops, std::size_t group, const VecX& q, const VecX& wound, const MatX& N, const MatX& K) {
  Forms out;
  const Eigen::Index k = K.cols();
  MatX forth, back;
  const auto rows_at = [&](double x, Eigen::Index j, MatX& rows) {
    VecX there = q;
    loops.move(group, x * K.col(j), there);
    loops.place(there, wound);
    loops.jacobian(group, rows);
  };
  for (Eigen::Index j = 0; j < k; ++j) {
    rows_at(kDifference, j, forth);
    rows_at(-kDifference, j, back);
    out.slopes.push_back(N.transpose() * (forth - back) * K / (2 * kDifference));
  }
  std::vector<MatX> all;
  for (Eigen::Index i = 0; i < N.cols(); ++i) {
    MatX form(k, k);
    for (Eigen::Index j = 0; j < k; ++j) form.row(j) = out.slopes[static_cast<std::size_t>(j)].row(i);
    form = (0.5 * (form + form.transpose())).eval();
    all.push_back(std::move(form));
  }
  out.forms = independent(all);
  return out;
}

// Gauss-Newton for |c| = 1 with all forms zero; empty where it does not get there. `least`: how near it came.
VecX direction_from(VecX c, const std::vector<MatX>& forms, double* least = nullptr) {
  const auto p = static_cast<Eigen::Index>(forms.size());
  VecX r(p + 1);
  MatX A(p + 1, c.size());
  for (int iteration = 0; iteration < kMeetingIterations; ++iteration) {
    c.normalize();
    for (Eigen::Index i = 0; i < p; ++i) {
      A.row(i) = 2 * (forms[static_cast<std::size_t>(i)] * c).transpose();
      r[i] = 0.5 * A.row(i).dot(c);
    }
    r[p] = 0;
    A.row(p) = c.transpose();
    if (least) *least = std::min(*least, r.norm());
    if (r.norm() < 1e-7) return c;  // central differences give forms to 1e-8
    c -= least_norm_solution(A, r, 1e-9);
  }
  return {};
}

std::vector<VecX> directions_of(const std::vector<MatX>& forms, Eigen::Index k, std::size_t most) {
  std::vector<VecX> out;
  Random random(1);
  for (Eigen::Index start = 0; start < kStarts * k && out.size() < most; ++start) {
    VecX c(k);
    for (Eigen::Index i = 0; i < k; ++i) c[i] = random.normal();
    c = direction_from(c, forms);
    bool known = c.size() == 0;
    for (const VecX& other : out) known = known || 1 - std::abs(c.dot(other)) < kSame;
    if (!known) out.push_back(c);
  }
  return out;
}

// Isolated solutions of k - 1 quadratic equations are 2^(k - 1) at most (Bézout): more of them lie on a cone. Its dimension
// there.
std::size_t most_of(Eigen::Index k) { return std::min(kMost, (std::size_t{1} << std::min<Eigen::Index>(k - 1, 10)) + 1); }

int dimension_at(const VecX& c, const std::vector<MatX>& forms) {
  MatX A(static_cast<Eigen::Index>(forms.size()), c.size());
  for (Eigen::Index i = 0; i < A.rows(); ++i) A.row(i) = 2 * (forms[static_cast<std::size_t>(i)] * c).transpose();
  const Svd svd = full_svd(A);
  auto dimension = static_cast<int>(c.size());
  for (Eigen::Index i = 0; i < svd.values.size(); ++i) dimension -= svd.values[i] > kForm;
  return dimension;
}

int rank_of_slope(const Forms& at, const VecX& c) {
  MatX slope = MatX::Zero(at.slopes[0].rows(), at.slopes[0].cols());
  for (Eigen::Index j = 0; j < c.size(); ++j) slope += c[j] * at.slopes[static_cast<std::size_t>(j)];
  const Svd svd = full_svd(slope);
  int rank = 0;
  for (Eigen::Index i = 0; i < svd.values.size(); ++i) rank += svd.values[i] > kForm;
  return rank;
}

}  // namespace

double Meeting::off(const VecX& rates_of_group) const {
  const VecX c = kernel.transpose() * rates_of_group;
  double largest = 0;
  for (const MatX& form : forms) largest = std::max(largest, std::abs(c.dot(form * c)));
  return largest > 0 ? largest / rates_of_group.squaredNorm() : 0;
}

std::optional<Meeting> meeting_at(Loops& loops, std::size_t group, const VecX& q, const VecX& wound, const MatX& ratios) {
  if (loops.groups()[group].freedoms.size() > kLargestGroup) return {};
  loops.place(q, wound);
  const LoopRank here = rank_of(loops, group, 0, kLocatedSigma);
  const Eigen::Index k = here.right.cols() - here.rank, n = here.left.cols() - here.rank;
  if (k == 0 || n == 0) return {};
  const MatX K = here.right.rightCols(k), N = here.left.rightCols(n);
  const Forms at = forms_at(loops, group, q, wound, N, K);
  if (at.forms.empty()) return {};

  // Directions c = Z y that keep the ratios.
  MatX Z = MatX::Identity(k, k);
  if (ratios.rows() > 0) {
    const Svd svd = full_svd(ratios * K);
    Eigen::Index kept = 0;
    while (kept < svd.values.size() && svd.values[kept] > kLocatedSigma) ++kept;
    Z = svd.right.rightCols(k - kept).eval();
  }
  std::vector<MatX> forms;
  for (const MatX& form : at.forms) forms.push_back(Z.transpose() * form * Z);
  if (ratios.rows() > 0 && Z.cols() > 0) forms = independent(forms);

  Meeting out{group, here.rank, here.rank, static_cast<int>(Z.cols()) - static_cast<int>(forms.size()), {}, K, at.forms};
  if (Z.cols() == 0) return out;
  std::vector<VecX> directions = directions_of(forms, Z.cols(), out.rates > 1 ? kExamples : most_of(Z.cols()));
  if (out.rates <= 1 && directions.size() == most_of(Z.cols())) {
    for (const VecX& y : directions) out.rates = std::max(out.rates, dimension_at(y, forms));
    if (out.rates > 1) directions.resize(std::min(kExamples, directions.size()));
  }
  for (const VecX& y : directions) {
    const VecX c = Z * y;
    Branch branch;
    branch.group = group, branch.directions = rank_of_slope(at, c), branch.rank = here.rank + branch.directions;
    branch.q0 = q, branch.t = K * c, branch.half = kMeetingHalf;
    if (branch.directions == 0 || !branch.build(loops, wound)) continue;
    out.regular = std::max(out.regular, branch.rank);
    out.branches.push_back(std::move(branch));
  }
  return out;
}

double least_sigma(const Loops& loops, std::size_t group) {
  const Loops::Group& g = loops.groups()[group];
  MatX J;
  loops.jacobian(group, J);
  if (J.rows() < J.cols()) return 0;
  // How far a freedom goes while what the loops see goes one unit: along gears, one after the other.
  VecX reach = VecX::Zero(J.cols());
  for (Eigen::Index r = 0; r < J.rows(); ++r)
    for (Eigen::Index i = 0; i < J.cols(); ++i)
      if (g.rows[static_cast<std::size_t>(r)].coupling < 0 && J(r, i) != 0) reach[i] = 1;
  const auto is_gear = [&](Eigen::Index r) {
    const int c = g.rows[static_cast<std::size_t>(r)].coupling;
    return c >= 0 && loops.model().couplings()[static_cast<std::size_t>(c)].coefficients.size() <= 2 &&
           (J.row(r).array() != 0).count() == 2;
  };
  for (bool found = true; found;) {
    found = false;
    for (Eigen::Index r = 0; r < J.rows(); ++r) {
      if (!is_gear(r)) continue;
      Eigen::Index known = 0, other = J.cols() - 1;
      while (J(r, known) == 0) ++known;
      while (J(r, other) == 0) --other;
      if (reach[known] == 0) std::swap(known, other);
      if (reach[known] == 0 || reach[other] != 0) continue;
      reach[other] = reach[known] * std::abs(J(r, known) / J(r, other));
      found = true;
    }
  }
  for (Eigen::Index i = 0; i < J.cols(); ++i)
    if (reach[i] > 0) J.col(i) *= reach[i];
  for (Eigen::Index r = 0; r < J.rows(); ++r)
    if (g.rows[static_cast<std::size_t>(r)].coupling >= 0 && J.row(r).norm() > 0) J.row(r).normalize();
  const Svd svd = full_svd(J);
  return svd.values[J.cols() - 1] / std::max(svd.values[0], 0.1);
}

bool rigid_at(Loops& loops, std::size_t group, const VecX& q, const VecX& wound) {
  VecX gap;
  loops.place(q, wound);
  LoopRank here = rank_of(loops, group, 0, kLocatedSigma);
  here.rank = rank_beyond_gaps(loops, group, here, gap);
  const Eigen::Index k = here.right.cols() - here.rank, n = here.left.cols() - here.rank;
  if (k == 0) return true;
  if (n == 0) return false;
  const Forms at = forms_at(loops, group, q, wound, here.left.rightCols(n), here.right.rightCols(k));
  if (at.forms.empty()) return false;
  Random random(1);
  double least = std::numeric_limits<double>::infinity();
  for (Eigen::Index start = 0; start < kStarts * k && least > kResisted; ++start) {
    VecX c(k);
    for (Eigen::Index i = 0; i < k; ++i) c[i] = random.normal();
    direction_from(c, at.forms, &least);
  }
  return least > kResisted;
}

}  // namespace invar
