// SPDX-License-Identifier: Apache-2.0
//
// On the branch Φ(q(x)) q'(x) = 0. Near its singular configuration x* the weak rows nᵀΦ = σ gᵀ vanish like x - x*, but g, which
// they span together with the strong rows, has a limit: it is taken from nodes where σ is regular.
#include "invar/mech/branch.hpp"

#include <algorithm>
#include <cmath>

namespace invar {
namespace {

constexpr double kDifference = 1e-4;  // scaled; central differences of rows: 1e-8 by truncation, 1e-12 by rounding
constexpr double kTrusted = 1e-3;     // singular values whose directions enter the curvature: rounding is enlarged to 1e-9
constexpr double kRegular = 0.1;      // of its distance to x*: what σ of a node must reach, in parts of what is expected there
constexpr double kNoise = 1e3;        // times the gap, at most, is what stands out of a row that depends on others when closed
constexpr double kAside = -0.3718;    // of a width: where roots are looked from
constexpr double kPlaces[4] = {1, 1.6, 2.2, 2.8};
constexpr std::size_t kNodes = 6;

}  // namespace

LoopWork::LoopWork(const Loops& loops, std::size_t group)
    : J(static_cast<Eigen::Index>(loops.groups()[group].rows.size()),
        static_cast<Eigen::Index>(loops.groups()[group].freedoms.size())),
      back(J),
      product(J.rows(), std::min(J.rows(), J.cols())),
      slope(product.cols(), product.cols()),
      gap(J.rows()),
      q(loops.tree().nq()),
      step(J.cols()),
      svd(J.rows(), J.cols()),
      pencil(product.cols()) {}

void rank_of(const Loops& loops, std::size_t group, int regular, double null, LoopWork& work, LoopRank& out) {
  loops.jacobian(group, work.J);
  work.svd.compute(work.J, out.values, out.left, out.right);
  out.scale = std::max(0.1, out.values.size() > 0 ? out.values[0] : 0.0);
  out.rank = 0;
  for (Eigen::Index i = 0; i < out.values.size(); ++i) out.rank += out.values[i] > null * out.scale;
  const int r = regular > 0 ? regular : out.rank;
  out.sigma = r > 0 && r <= out.values.size() ? out.values[r - 1] / out.scale : 1;
}

LoopRank rank_of(const Loops& loops, std::size_t group, int regular, double null) {
  LoopWork work(loops, group);
  LoopRank out;
  rank_of(loops, group, regular, null, work, out);
  return out;
}

int rank_beyond_gaps(Loops& loops, std::size_t group, const LoopRank& seen, VecX& gap) {
  loops.residual(group, gap);
  const double noise = std::max(kLocatedSigma, kNoise * gap.norm());
  int counted = 0;
  for (Eigen::Index i = 0; i < seen.values.size(); ++i) counted += seen.values[i] > noise * seen.scale;
  return counted;
}

Ahead look_ahead(Loops& loops, std::size_t group, const LoopRank& here, int regular, const VecX& q, const VecX& wound,
                 const VecX& t, double least, double width, double below) {
  LoopWork work(loops, group);
  return look_ahead(loops, group, here, regular, q, wound, t, least, width, below, work);
}

namespace {

// In a singular configuration itself the weak directions are any vectors among those that have no singular value: rows that
// always depend on others, and the motion, mix with them. Those that gain one along the motion are meant.
LoopRank weak_directions(const LoopRank& here, int regular, const MatX& slope) {
  LoopRank out = here;
  Eigen::Index known = 0;
  while (known < regular && here.values[known] > kNullSigma * here.scale) ++known;
  const MatX N = here.left.rightCols(here.left.cols() - known), K = here.right.rightCols(here.right.cols() - known);
  const Svd svd = full_svd(N.transpose() * slope * K);
  const Eigen::Index d = regular - known;
  out.left.middleCols(known, d) = N * svd.left.leftCols(d);
  out.right.middleCols(known, d) = K * svd.right.leftCols(d);
  return out;
}

}  // namespace

Ahead look_ahead(Loops& loops, std::size_t group, const LoopRank& here, int regular, const VecX& q, const VecX& wound,
                 const VecX& t, double least, double width, double below, LoopWork& work) {
  Ahead out;
  int first = 0;
  while (first < regular && here.values[first] > below * here.scale) ++first;
  const int weak = regular - first;
  if (weak <= 0) return out;

  // Derivative of the rows along t.
  const auto rows_at = [&](double x, MatX& rows) {
    work.q = q;
    work.step = x * t;
    loops.move(group, work.step, work.q);
    loops.place(work.q, wound);
    loops.jacobian(group, rows);
  };
  rows_at(kDifference, work.J);
  rows_at(-kDifference, work.back);
  work.J = (work.J - work.back) / (2 * kDifference);
  LoopRank turned;
  const bool in_it = here.values[regular - 1] <= kNullSigma * here.scale;
  if (in_it) turned = weak_directions(here, regular, work.J);
  const LoopRank& at = in_it ? turned : here;
  work.product.leftCols(weak).noalias() = work.J * at.right.middleCols(first, weak);
  work.slope.topLeftCorner(weak, weak).noalias() = at.left.middleCols(first, weak).transpose() * work.product.leftCols(weak);

  const auto& roots = work.pencil.compute(here.values.segment(first, weak), work.slope.topLeftCorner(weak, weak), kAside * width);
  const auto counts = [&](const std::complex<double>& root) {
    return std::abs(root.imag()) <= 0.3 * std::abs(root.real()) + 0.3 * width && root.real() > least;
  };
  for (const std::complex<double>& root : roots)
    if (counts(root) && (!out.found || std::abs(root.real()) < std::abs(out.x))) out.found = true, out.x = root.real();
  for (const std::complex<double>& root : roots)
    out.directions += out.found && counts(root) && std::abs(root.real() - out.x) < width;
  return out;
}

void Branch::weights(double x, Weights& value, Weights& slope) const {
  const auto n = static_cast<Eigen::Index>(x_.size());
  value.setOnes(n);
  slope.setZero(n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j) {
      if (j == i) continue;
      const double over = 1 / (x_[static_cast<std::size_t>(i)] - x_[static_cast<std::size_t>(j)]);
      slope[i] = (slope[i] * (x - x_[static_cast<std::size_t>(j)]) + value[i]) * over;
      value[i] *= (x - x_[static_cast<std::size_t>(j)]) * over;
    }
}

double spread(const VecX& t) { return 1 / t.lpNorm<Eigen::Infinity>(); }

void Branch::stand(std::size_t freedoms) {
  stands = true;
  directions = static_cast<int>(freedoms);
  t.setZero(directions);
}

void Branch::complement(double x, MatX& G, MatX& dG) const {
  if (stands) {
    G.setIdentity(t.size(), directions);
    dG.setZero(t.size(), directions);
    return;
  }
  Weights w, dw;
  weights(x, w, dw);
  G.setZero(t.size(), directions);
  dG = G;
  for (std::size_t k = 0; k < x_.size(); ++k)
    G += w[static_cast<Eigen::Index>(k)] * G_[k], dG += dw[static_cast<Eigen::Index>(k)] * G_[k];
}

void Branch::position(double x, VecX& u, VecX& du) const {
  Weights w, dw;
  weights(x, w, dw);
  u.setZero(t.size());
  du = u;
  for (std::size_t k = 0; k < x_.size(); ++k)
    u += w[static_cast<Eigen::Index>(k)] * u_[k], du += dw[static_cast<Eigen::Index>(k)] * u_[k];
}

double Branch::where(Eigen::Index i, double aim, double low, double high) const {
  VecX u, du;
  const auto off = [&](double x) {
    position(x, u, du);
    return u[i] - aim;
  };
  const double at_low = off(low);
  if (at_low * off(high) > 0) return std::numeric_limits<double>::quiet_NaN();
  double x = 0.5 * (low + high);
  for (int k = 0; k < 200 && high > low; ++k) {
    const double g = off(x);
    if (g == 0) return x;
    (g * at_low > 0 ? low : high) = x;
    const double newton = x - g / du[i];
    const double next = newton > low && newton < high ? newton : 0.5 * (low + high);
    if (next == x) return x;
    x = next;
  }
  return x;
}

// σ falls and rises like |x - x*|: the golden section, then the count.
Branch::Weakest Branch::weakest(Loops& loops, const VecX& wound) const {
  VecX u, du, q;
  const auto rank_at = [&](double x, double null) {
    position(x, u, du);
    q = q0;
    loops.move(group, u, q);
    loops.place(q, wound);
    return rank_of(loops, group, rank, null);
  };
  double low = std::max(least(), centre - 2 * half), high = std::min(largest(), centre + 2 * half);
  constexpr double golden = 0.38196601125010515;
  double x1 = low + golden * (high - low), x2 = high - golden * (high - low);
  double s1 = rank_at(x1, 0).sigma, s2 = rank_at(x2, 0).sigma;
  for (int k = 0; k < 70 && high - low > 1e-13; ++k)
    if (s1 < s2) {
      high = x2, x2 = x1, s2 = s1, x1 = low + golden * (high - low);
      s1 = rank_at(x1, 0).sigma;
    } else {
      low = x1, x1 = x2, s1 = s2, x2 = high - golden * (high - low);
      s2 = rank_at(x2, 0).sigma;
    }
  const double x = 0.5 * (low + high);
  LoopRank rows = rank_at(x, kLocatedSigma);
  return {x, q, std::move(rows)};
}

// The guess: along the curvature as long as no nodes are known, then the polynomial through those that are.
bool Branch::add_node(Loops& loops, const VecX& wound, double at, const VecX& curvature) {
  VecX u, du;
  if (x_.size() < 3)
    u = at * t + 0.5 * at * at * curvature;
  else
    position(at, u, du);
  VecX q = q0;
  loops.move(group, u, q);
  if (!loops.close(group, rank, wound, q)) return false;
  VecX found;
  loops.difference(group, q0, q, found);
  if (!((found - u).norm() < 0.5 * half)) return false;  // on another branch
  const double x = t.dot(found);
  const auto place = std::lower_bound(x_.begin(), x_.end(), x) - x_.begin();
  x_.insert(x_.begin() + place, x);
  u_.insert(u_.begin() + place, found);
  return true;
}

// Rows of the strong part at the singular configuration; their complement in the row space at every node.
bool Branch::weigh(Loops& loops, const VecX& wound) {
  VecX u, du;
  MatX J;
  position(centre, u, du);
  VecX q = q0;
  loops.move(group, u, q);
  loops.place(q, wound);
  loops.jacobian(group, J);
  strong = strongest_rows(J);
  strong.resize(static_cast<std::size_t>(rank - directions));

  G_.clear();
  for (std::size_t k = 0; k < x_.size(); ++k) {
    q = q0;
    loops.move(group, u_[k], q);
    loops.place(q, wound);
    const LoopRank at = rank_of(loops, group, rank);
    loops.jacobian(group, J);
    if (!(at.sigma > kRegular * kRegular * half / spread(t))) return false;
    MatX strong_rows(t.size(), static_cast<Eigen::Index>(strong.size()));
    for (std::size_t i = 0; i < strong.size(); ++i) strong_rows.col(static_cast<Eigen::Index>(i)) = J.row(strong[i]).transpose();
    MatX space = at.right.leftCols(rank);
    if (!strong.empty()) {
      MatX whole, R;
      orthogonal_factors(strong_rows, whole, R);
      const MatX Q = whole.leftCols(strong_rows.cols());
      space -= Q * (Q.transpose() * space);
      space -= Q * (Q.transpose() * space);
    }
    G_.push_back(leading_directions(space, directions));
  }
  const MatX reference = G_[x_.size() / 2];
  for (MatX& G : G_) {
    const MatX overlap = reference.transpose() * G;
    const Svd svd = full_svd(overlap);
    if (!(svd.values[directions - 1] > 1e-3)) return false;
    G = (G * svd.right * svd.values.cwiseInverse().asDiagonal() * svd.left.transpose()).eval();
  }
  return true;
}

// q'' of the branch along x: Φ κ = -Φ' t over the directions that are known well.
VecX Branch::curvature(Loops& loops, const VecX& wound) const {
  MatX forth, back;
  VecX q = q0;
  loops.move(group, kDifference * t, q);
  loops.place(q, wound);
  loops.jacobian(group, forth);
  q = q0;
  loops.move(group, -kDifference * t, q);
  loops.place(q, wound);
  loops.jacobian(group, back);
  loops.place(q0, wound);
  const LoopRank here = rank_of(loops, group, rank);
  const VecX wanted = -here.left.leftCols(here.values.size()).transpose() * ((forth - back) * t) / (2 * kDifference);
  VecX out = VecX::Zero(t.size());
  for (int i = 0; i < rank && here.values[i] > kTrusted * here.scale; ++i) out += wanted[i] / here.values[i] * here.right.col(i);
  return out;
}

bool Branch::build(Loops& loops, const VecX& wound) {
  x_.clear(), u_.clear(), G_.clear();
  const VecX bend = curvature(loops, wound);

  // From here to one end, then to the other: every node is near to those that are known.
  std::vector<double> at;
  for (const double place : kPlaces) at.push_back(centre - place * half), at.push_back(centre + place * half);
  std::sort(at.begin(), at.end());
  const auto nearest = std::min_element(at.begin(), at.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  const auto start = static_cast<std::size_t>(nearest - at.begin());
  const std::size_t side = start < 4 ? 0 : 4;  // the side where the motion is: all its nodes first
  std::vector<double> order;
  for (std::size_t i = start; i < side + 4; ++i) order.push_back(at[i]);
  for (std::size_t i = start; i-- > side;) order.push_back(at[i]);
  if (side == 0)
    for (std::size_t i = 4; i < 8; ++i) order.push_back(at[i]);
  else
    for (std::size_t i = 4; i-- > 0;) order.push_back(at[i]);
  for (const double x : order)
    if (!add_node(loops, wound, x, bend)) break;
  if (!(x_.size() >= kNodes && x_.front() < centre - half / 2 && x_.back() > centre + half / 2 && weigh(loops, wound)))
    return false;
  gap = gap_between(loops, wound);
  return true;
}

// Where a singular configuration is missed by a gap g two branches bend away from each other within sqrt(g), and nodes behind the
// bend are those of the other one. What all rows miss at the centre tells, once the strong ones are closed: on a branch that is
// the square of what the polynomial is off by.
double Branch::gap_between(Loops& loops, const VecX& wound) const {
  VecX u, du, rest;
  position(centre, u, du);
  VecX q = q0;
  loops.move(group, u, q);
  loops.place(q, wound);
  const LoopRank at = rank_of(loops, group, rank);
  loops.residual(group, rest);
  const auto held = static_cast<Eigen::Index>(strong.size());
  const VecX along = (at.left.leftCols(held).transpose() * rest).cwiseQuotient(at.values.head(held));
  loops.move(group, -at.right.leftCols(held) * along, q);
  loops.place(q, wound);
  loops.residual(group, rest);
  return rest.norm();
}

}  // namespace invar
