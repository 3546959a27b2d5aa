// SPDX-License-Identifier: Apache-2.0
//
// With columns scaled to unit mean square, C = (φ_i, φ_j), a Cholesky factorisation with the largest remaining diagonal entry as
// pivot finds independent columns; every other one is a combination of them, φ_d = Σ x_id φ_i. The load of coefficients c is
// then Σ_i φ_i (c_i + Σ_d x_id c_d), so what the data know is c_i + Σ_d x_id c_d, and that is what the sentences say.
#include <fmt/format.h>

#include <cmath>

#include "invar/learn/fit.hpp"

namespace invar {
namespace {

// Of the mean square. Sums of squares are good to 1e-15 times the number of columns.
constexpr double kDependent = 1e-9;
// A column that acts less than this, in squares and parts of the largest, never acted: round-off of solves, 1e-10 in amplitude.
constexpr double kSilent = 1e-20;
// Parts of a combination below this are round-off of the solution, 1e-16/kDependent at most.
constexpr double kPart = 1e-5;
constexpr std::size_t kSentences = 24, kParts = 6;

struct Pivots {
  std::vector<int> order;  // columns; the first `rank` are independent
  int rank = 0;
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> L;  // in that order
};

Pivots pivoted(const MatX& C, const std::vector<int>& columns) {
  const auto m = static_cast<Eigen::Index>(columns.size());
  Pivots out{columns, 0, {}};
  out.L.setZero(m, m);
  VecX left = VecX::Ones(m);
  for (Eigen::Index k = 0; k < m; ++k) {
    Eigen::Index p = k;
    left.tail(m - k).maxCoeff(&p);
    p += k;
    if (!(left[p] > kDependent)) break;
    std::swap(out.order[static_cast<std::size_t>(k)], out.order[static_cast<std::size_t>(p)]);
    std::swap(left[k], left[p]);
    out.L.row(k).swap(out.L.row(p));
    out.L(k, k) = std::sqrt(left[k]);
    for (Eigen::Index i = k + 1; i < m; ++i) {
      const double c = C(out.order[static_cast<std::size_t>(i)], out.order[static_cast<std::size_t>(k)]);
      out.L(i, k) = (c - out.L.row(i).head(k).dot(out.L.row(k).head(k))) / out.L(k, k);
      left[i] -= out.L(i, k) * out.L(i, k);
    }
    ++out.rank;
  }
  return out;
}

// "mass of 'a' and 'b' only as a sum", or the combination with its factors.
std::string sentence(const Terms& terms, int column, const std::vector<std::pair<int, double>>& others) {
  if (others.size() == 1 && std::abs(std::abs(others[0].second) - 1) < kPart) {
    const std::string first = terms.label(column), second = terms.label(others[0].first);
    const std::size_t of = first.find('\'');
    const bool alike = of != std::string::npos && second.compare(0, of, first, 0, of) == 0;
    return fmt::format("{} and {} only as a {}", first, alike ? second.substr(of) : second,
                       others[0].second > 0 ? "sum" : "difference");
  }
  std::string text = "only together: " + terms.label(column);
  for (std::size_t i = 0; i < std::min(others.size(), kParts); ++i) {
    const double x = others[i].second;
    text += std::abs(std::abs(x) - 1) < kPart ? (x > 0 ? " + " : " - ")
                                              : fmt::format(" {} {:.3g} · ", x > 0 ? "+" : "-", std::abs(x));
    text += terms.label(others[i].first);
  }
  if (others.size() > kParts) text += fmt::format(" and {} more", others.size() - kParts);
  return text;
}

bool generic(const Terms& terms, int column) { return is_generic(terms.spec(terms.term_of(column)).kind); }

}  // namespace

Determined determined_by(const Terms& terms, const Gram& gram) {
  const auto m = static_cast<std::size_t>(terms.columns());
  Determined out{std::vector<bool>(m, false), std::vector<bool>(m, false), {}, 0, {}};
  std::vector<int> acting, silent;
  VecX size = VecX::Zero(terms.columns());
  const double largest = m > 0 ? gram.G.diagonal().maxCoeff() : 0;
  for (int k = 0; k < terms.columns(); ++k) {
    const double square = gram.G(k, k);
    const bool acts = gram.rows > 0 && square > kSilent * largest;  // what cannot move shows nothing
    out.excited[static_cast<std::size_t>(k)] = acts;
    size[k] = acts ? std::sqrt(square) : 0;
    (acts ? acting : silent).push_back(k);
  }
  MatX C = MatX::Zero(terms.columns(), terms.columns());
  for (const int i : acting)
    for (const int j : acting) C(i, j) = gram.G(i, j) / (size[i] * size[j]);
  const Pivots pivots = pivoted(C, acting);
  out.rank = pivots.rank;
  for (int k = 0; k < pivots.rank; ++k) out.free[static_cast<std::size_t>(pivots.order[static_cast<std::size_t>(k)])] = true;

  std::vector<Eigen::Index> place(m, 0);  // among those that act
  for (std::size_t i = 0; i < acting.size(); ++i) place[static_cast<std::size_t>(acting[i])] = static_cast<Eigen::Index>(i);
  out.factor.resize(static_cast<Eigen::Index>(acting.size()), pivots.rank);
  for (Eigen::Index k = 0; k < out.factor.rows(); ++k)
    out.factor.row(place[static_cast<std::size_t>(pivots.order[static_cast<std::size_t>(k)])]) =
        pivots.L.row(k).head(pivots.rank);

  for (const int k : silent)
    if (!generic(terms, k)) out.words.push_back(terms.label(k) + " is not excited");
  // x = L11⁻ᵀ L21ᵀ, unscaled.
  const Eigen::Index r = pivots.rank, rest = static_cast<Eigen::Index>(acting.size()) - r;
  MatX x = MatX::Zero(r, rest);
  if (x.size() > 0)
    x = pivots.L.topLeftCorner(r, r).triangularView<Eigen::Lower>().transpose().solve(
        MatX(pivots.L.block(r, 0, rest, r).transpose()));
  int hidden = 0;
  for (Eigen::Index i = 0; i < r; ++i) {
    const int column = pivots.order[static_cast<std::size_t>(i)];
    std::vector<std::pair<int, double>> others;
    bool counted_only = generic(terms, column);
    for (Eigen::Index d = 0; d < rest; ++d) {
      const int other = pivots.order[static_cast<std::size_t>(r + d)];
      if (std::abs(x(i, d)) < kPart) continue;
      others.emplace_back(other, x(i, d) * size[other] / size[column]);
      counted_only = counted_only || generic(terms, other);
    }
    if (others.empty()) continue;
    if (counted_only)
      ++hidden;
    else
      out.words.push_back(sentence(terms, column, others));
  }
  if (out.words.size() > kSentences) {
    const std::size_t more = out.words.size() - kSentences;
    out.words.resize(kSentences);
    out.words.push_back(fmt::format("and {} more of this kind", more));
  }
  if (hidden > 0) out.words.push_back(fmt::format("{} combinations with generic functions", hidden));
  return out;
}

}  // namespace invar
