// SPDX-License-Identifier: Apache-2.0
//
// With n samples and columns scaled to unit mean square, y_k = s_k c_k, s_k² = G_kk/n, ridge with a strength λ_g per group solves
//   H y = r,   H_ij = G_ij/(n s_i s_j) + λ δ_ij,   r_i = b_i/(n s_i).
// Strengths are found by walking: each in turn goes up or down by factors of a hundred, then of ten, as long as the held-out runs
// are explained better. Taking column k away changes the minimum by y_k²/P_kk with P = H⁻¹, and then
//   y ← y - P_k y_k/P_kk,   P ← P - P_k P_kᵀ/P_kk.
// Without ridge H may be singular. With C = F Fᵀ over the determined directions, F = Q R, y is sought in the range of Q,
//   y = P r,   P = Q (Qᵀ H Q)⁻¹ Qᵀ:
// what no data speak of stays zero. A sparse fit takes a set of independent columns instead, so that one of two that say the same
// can go.
#include "invar/learn/fit.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/control/box_quadratic.hpp"

namespace invar {
namespace {

constexpr double kWeakest = 1e-10, kStrongest = 1e4, kStart = 1e-5;
// A smaller model is as good where it explains the held-out runs this well, relative to the best.
constexpr double kAsGood = 1.02;
// A ridge below this is none: sums of the regression are good to 1e-16 times the number of columns.
constexpr double kNoRidge = 1e-13;

// One strength per group of what is told per term or per group; empty stays empty.
std::vector<double> by_group(const Terms& terms, const std::vector<double>& told) {
  if (static_cast<int>(told.size()) != terms.count()) return told;
  std::vector<double> out;
  for (int i = 0; i < terms.count(); ++i)
    out.insert(out.end(), static_cast<std::size_t>(terms.term(i).groups()), told[static_cast<std::size_t>(i)]);
  return out;
}

class Fitter {
 public:
  Fitter(const Terms& terms, const Gram& training, const Gram& held_out)
      : terms_(terms), training_(training), held_out_(held_out), scale_(VecX::Zero(terms.columns())) {
    Determined determined = determined_by(terms, training);
    words_ = std::move(determined.words), free_ = std::move(determined.free), rank_ = determined.rank;
    factor_ = std::move(determined.factor);
    const auto n = static_cast<double>(training.samples);
    for (int k = 0; k < terms.columns(); ++k)
      if (determined.excited[static_cast<std::size_t>(k)]) {
        scale_[k] = std::sqrt(training.G(k, k) / n);
        columns_.push_back(k);
      }
    for (const int k : columns_) group_.push_back(terms.group_of(k));
    const auto m = static_cast<Eigen::Index>(columns_.size());
    C_.resize(m, m), r_.resize(m);
    for (Eigen::Index i = 0; i < m; ++i) {
      r_[i] = training.b[of(i)] / (n * scale_[of(i)]);
      for (Eigen::Index j = 0; j < m; ++j) C_(i, j) = training.G(of(i), of(j)) / (n * scale_[of(i)] * scale_[of(j)]);
    }
  }

  Result<Fit> run(const FitOptions& options) {
    Fit out;
    out.undetermined = words_;
    strengths_ = by_group(terms_, options.strengths);
    if (strengths_.empty()) choose_strengths();
    const bool sparse = options.method == FitOptions::Method::Sparse;
    kept_.assign(columns_.size(), true);
    open_ = rank_ < static_cast<int>(columns_.size()) &&
            std::any_of(strengths_.begin(), strengths_.end(), [](double s) { return s < kNoRidge; });
    if (open_ && sparse)
      for (std::size_t i = 0; i < kept_.size(); ++i) kept_[i] = free_[static_cast<std::size_t>(columns_[i])];
    if (open_ && options.passive)
      return fail(ErrorKind::State,
                  fmt::format("a passive fit without ridge has no one answer: the data do not determine all coefficients ({}); "
                              "give every term a strength above 0",
                              words_.empty() ? "generic functions" : words_.front()));
    if (!columns_.empty()) {
      if (!invert(sparse))
        return fail(ErrorKind::Numerics,
                    "the regression has no solution that could be told from round-off: give its terms larger strengths");
      if (sparse) eliminate();
      if (options.passive) make_passive();
    }
    out.coefficients = unscaled(y_);
    out.strengths = strengths_;
    out.kept.assign(static_cast<std::size_t>(terms_.columns()), false);
    for (std::size_t i = 0; i < columns_.size(); ++i) out.kept[static_cast<std::size_t>(columns_[i])] = kept_[i];
    out.training = training_.error(out.coefficients);
    out.held_out = held_out_.samples > 0 ? held_out_.error(out.coefficients) : std::numeric_limits<double>::quiet_NaN();
    say_how_sure(out);
    out.learned = rank_ > 0 && (held_out_.samples > 0 ? out.held_out : out.training) < kWorthIt;
    return out;
  }

 private:
  int of(Eigen::Index i) const { return columns_[static_cast<std::size_t>(i)]; }

  MatX system(const std::vector<double>& strengths) const {
    MatX H = C_;
    for (Eigen::Index i = 0; i < H.rows(); ++i)
      H(i, i) += strengths[static_cast<std::size_t>(group_[static_cast<std::size_t>(i)])];
    return H;
  }

  VecX solve(const std::vector<double>& strengths) const { return system(strengths).llt().solve(r_); }

  // The directions that coefficients may take where data and ridge leave some open, as columns.
  MatX directions(bool sparse) const {
    const MatX all = MatX::Identity(r_.size(), r_.size());
    if (!sparse) return Eigen::HouseholderQR<MatX>(factor_).householderQ() * all.leftCols(factor_.cols());
    std::vector<Eigen::Index> kept;
    for (Eigen::Index i = 0; i < r_.size(); ++i)
      if (kept_[static_cast<std::size_t>(i)]) kept.push_back(i);
    return all(Eigen::all, kept);
  }

  // P and y for the strengths at hand; false where there are none.
  bool invert(bool sparse) {
    const MatX H = system(strengths_);
    if (open_) {
      const MatX Q = directions(sparse);
      const Eigen::LLT<MatX> solved(Q.transpose() * H * Q);
      if (solved.info() != Eigen::Success) return false;
      P_ = Q * solved.solve(MatX(Q.transpose()));
      y_ = Q * solved.solve(Q.transpose() * r_);
    } else {
      const Eigen::LLT<MatX> solved(H);
      if (solved.info() != Eigen::Success) return false;
      P_ = solved.solve(MatX::Identity(H.rows(), H.cols()));
      y_ = solved.solve(r_);
    }
    return P_.allFinite() && y_.allFinite();
  }

  VecX unscaled(const VecX& y) const {
    VecX c = VecX::Zero(terms_.columns());
    for (Eigen::Index i = 0; i < y.size(); ++i) c[of(i)] = y[i] / scale_[of(i)];
    return c;
  }

  double judged(const std::vector<double>& strengths) const {
    const double left = held_out_.left(unscaled(solve(strengths)));
    return std::isfinite(left) ? left : std::numeric_limits<double>::infinity();
  }

  void choose_strengths() {
    strengths_.assign(static_cast<std::size_t>(terms_.groups()), kStart);
    if (columns_.empty()) return;
    double best = judged(strengths_);
    for (const double factor : {100.0, 10.0})
      for (bool moved = true; moved;) {
        moved = false;
        for (double& strength : strengths_)
          for (const double by : {factor, 1 / factor})
            while (strength * by <= kStrongest && strength * by >= kWeakest) {
              const double before = strength;
              strength *= by;
              const double now = judged(strengths_);
              if (!(now < best * (1 - 1e-6))) {
                strength = before;
                break;
              }
              best = now, moved = true;
            }
      }
  }

  void eliminate() {
    MatX P = P_;
    VecX y = y_;
    std::vector<bool> kept = kept_;
    std::vector<std::pair<double, std::vector<bool>>> path = {{held_out_.left(unscaled(y)), kept}};
    std::vector<VecX> solutions = {y};
    for (auto left = std::count(kept.begin(), kept.end(), true); left > 1; --left) {
      Eigen::Index least = -1;
      double loss = std::numeric_limits<double>::infinity();
      for (Eigen::Index k = 0; k < y.size(); ++k)
        if (kept[static_cast<std::size_t>(k)] && y[k] * y[k] / P(k, k) < loss) loss = y[k] * y[k] / P(k, k), least = k;
      if (least < 0) break;
      const VecX column = P.col(least);
      y -= column * (y[least] / column[least]);
      P -= column * column.transpose() / column[least];
      P.row(least).setZero(), P.col(least).setZero();  // to the bit: what is gone stays gone
      y[least] = 0, kept[static_cast<std::size_t>(least)] = false;
      path.emplace_back(held_out_.left(unscaled(y)), kept);
      solutions.push_back(y);
    }
    double best = path.front().first;
    for (const auto& step : path) best = std::min(best, step.first);
    for (std::size_t i = path.size(); i-- > 0;)
      if (path[i].first <= best * kAsGood * kAsGood) {
        kept_ = path[i].second, y_ = solutions[i];
        break;
      }
  }

  // Among coefficients of dissipative columns that are not negative the best ones; what was taken away stays zero.
  void make_passive() {
    const double infinity = std::numeric_limits<double>::infinity();
    VecX lower = VecX::Constant(y_.size(), -infinity), upper = VecX::Constant(y_.size(), infinity);
    for (Eigen::Index i = 0; i < y_.size(); ++i) {
      if (terms_.dissipates(of(i))) lower[i] = 0;
      if (!kept_[static_cast<std::size_t>(i)]) lower[i] = upper[i] = 0;
    }
    y_ = y_.cwiseMax(lower).cwiseMin(upper);
    BoxQuadratic(static_cast<int>(y_.size())).minimise(system(strengths_), r_, lower, upper, y_);
  }

  // What is left over per row is the noise; deviations are those of the ridge solution, as if the noise were white.
  void say_how_sure(Fit& out) const {
    out.deviations = VecX::Constant(terms_.columns(), std::numeric_limits<double>::infinity());
    const double spare = static_cast<double>(training_.rows) - rank_;
    out.noise = std::sqrt(training_.left(out.coefficients) / std::max(1.0, spare));
    if (columns_.empty()) return;
    const auto n = static_cast<double>(training_.samples);
    for (Eigen::Index i = 0; i < P_.rows(); ++i)
      if (free_[static_cast<std::size_t>(of(i))]) out.deviations[of(i)] = out.noise * std::sqrt(P_(i, i) / n) / scale_[of(i)];
  }

  const Terms& terms_;
  const Gram &training_, &held_out_;
  VecX scale_;                // root mean square of every column, N/√kg; 0: it never acts
  std::vector<int> columns_;  // that act
  std::vector<int> group_;    // of each
  std::vector<std::string> words_;
  std::vector<bool> free_;
  int rank_ = 0;
  bool open_ = false;  // no ridge where the data leave directions open
  MatX factor_, C_, P_;
  VecX r_, y_;
  std::vector<double> strengths_;
  std::vector<bool> kept_;
};

}  // namespace

Result<Fit> fit(const Terms& terms, const Gram& training, const Gram& held_out, const FitOptions& options) {
  if (training.samples == 0) return fail(ErrorKind::State, "there are no samples to learn from");
  const std::vector<double> strengths = by_group(terms, options.strengths);
  if (!strengths.empty() && static_cast<int>(strengths.size()) != terms.groups())
    return fail(ErrorKind::Option, fmt::format("there are {} strengths for {} terms", options.strengths.size(), terms.count()));
  for (int i = 0; i < terms.count() && !strengths.empty(); ++i)
    for (int g = terms.first_group(i); g < terms.first_group(i + 1); ++g) {
      const double strength = strengths[static_cast<std::size_t>(g)];
      if (!(strength >= 0) || !std::isfinite(strength))
        return fail(ErrorKind::Option,
                    fmt::format("the strength of term '{}' is not negative and finite", name(terms.spec(i).kind)));
      if (strength == 0 && training.rows < terms.columns())
        return fail(ErrorKind::State,
                    fmt::format("{} rows ({} samples) do not determine {} coefficients without ridge; give more samples, or a "
                                "strength above 0 for term '{}'",
                                training.rows, training.samples, terms.columns(), name(terms.spec(i).kind)));
    }
  if (options.strengths.empty() && held_out.samples == 0)
    return fail(ErrorKind::State,
                "strengths are chosen on runs that were held out, and there is one run only; record another one, or name the "
                "strengths");
  if (options.method == FitOptions::Method::Sparse && held_out.samples == 0) return fail(ErrorKind::State, kSparseNeedsHeldOut);
  return Fitter(terms, training, held_out).run(options);
}

}  // namespace invar
