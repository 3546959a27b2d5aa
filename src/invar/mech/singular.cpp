// SPDX-License-Identifier: Apache-2.0
//
// Weyl: singular values move by at most |ΔΦ|. A row of unit size changes by at most the angle through which bodies turn, entry by
// entry, so Φ with n columns changes by at most sqrt(n) times that (times a few: both ends of an arm turn), and a σ above it
// cannot have vanished in between.
#include "invar/mech/singular.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/dense.hpp"
#include "invar/mech/loops_limits.hpp"
#include "invar/mech/meeting.hpp"

namespace invar {
namespace {

constexpr double kPart = 0.1;  // of a radian: pieces in which a long step is looked at
constexpr int kParts = 32;
constexpr double kAsBefore = 0.7;  // of |C - 1|, which may grow by a part of it within a step

}  // namespace

Singularities::Singularities(const Model& model) : loops_(model), groups_(loops_.groups().size()) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Loops::Group& group = loops_.groups()[g];
    groups_[g].small = group.freedoms.size() <= kLargestGroup;
    if (!groups_[g].small) unwatched_.push_back({static_cast<int>(group.freedoms.size()), group.joint()});
  }
}

// A rank above the one known so far is believed where gaps cannot explain it.
void Singularities::look(std::size_t group, const Bodies& bodies, Look& out) {
  Watched& w = groups_[group];
  loops_.tree().measure(bodies, wound_, out.q, v_);
  loops_.rates(group, v_, out.t);
  loops_.place(out.q, wound_);
  LoopRank& seen = out.rank = rank_of(loops_, group, 0);
  w.regular = std::max(w.regular, rank_beyond_gaps(loops_, group, seen, gap_));
  w.budget = std::numeric_limits<double>::infinity();
  if (w.regular == 0) return;
  const double sigma = seen.values[w.regular - 1];
  seen.sigma = sigma / seen.scale;
  w.budget = sigma / (2 * std::sqrt(static_cast<double>(loops_.groups()[group].freedoms.size())));
}

void Singularities::begin(const Bodies& bodies, const VecX& wound) {
  wound_ = wound;
  loops_.measure_lengths(bodies);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!groups_[g].small) continue;
    groups_[g].regular = 0;
    groups_[g].looks = 0;
    groups_[g].way = 0;
    groups_[g].turning = false;
    look(g, bodies, groups_[g].reference);
    groups_[g].begins = groups_[g].reference.t;
    groups_[g].rank_at_begin = groups_[g].regular;
    groups_[g].fresh = true;
  }
  before_ = between_ = began_ = bodies;
  sine_before_ = 0;
  find_rigid();
}

void Singularities::find_rigid() {
  rigid_.clear();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Loops::Group& group = loops_.groups()[g];
    const auto n = static_cast<Eigen::Index>(group.freedoms.size());
    if (!groups_[g].small || static_cast<Eigen::Index>(group.rows.size()) < n) continue;
    const Look& look = groups_[g].reference;
    loops_.place(look.q, wound_);
    const double sigma = least_sigma(loops_, g);
    if (sigma < kHeldSigma && rigid_at(loops_, g, look.q, wound_)) rigid_.push_back({g, group.joint(), sigma});
  }
}

// A motion that begins in a singular configuration knows a smaller rank than it has beside it: it is looked at once more a little
// further on, and once more behind that.
bool Singularities::young(Watched& group, double distance) const {
  constexpr double kPlaces[] = {kBandHalf, 0.1};
  group.way += distance;
  if (group.looks == std::size(kPlaces) || group.way < kPlaces[group.looks]) return false;
  ++group.looks;
  return true;
}

bool Singularities::calm(Watched& group, double distance, double sine) const {
  const bool far = group.budget > distance;
  group.budget -= distance;
  return far || sine_before_ + sine > kSteepestSine * distance;
}

// The one direction in which all rows let a group move; that of its rates may be off beside a singular configuration.
VecX Singularities::tangent(const Look& at) { return at.rank.right.rightCols(1); }

// Whether a group with one freedom goes on in another direction: along a branch it turns no further than its bodies do.
bool Singularities::turned_off(std::size_t group, const VecX& before, const VecX& now) const {
  constexpr double kOff = 0.5;  // sine of the angle, over a tenth of a radian at most
  const auto freedoms = static_cast<int>(loops_.groups()[group].freedoms.size());
  if (freedoms - groups_[group].regular != 1) return false;
  const double sizes = before.norm() * now.norm();
  return sizes > 0 && std::abs(before.dot(now)) < std::sqrt(1 - kOff * kOff) * sizes;
}

// Whether the branch on which the motion came in bends round to q: beside a singular configuration that is missed by a little
// (a coupler that is a thousandth too long) it turns within a short step. It is followed by its tangent in steps that resolve
// the turn, closed over all rows; where it stays straight it ends elsewhere.
bool Singularities::branch_leads(std::size_t group, const VecX& q_to) {
  constexpr double kStep = 2e-3, kLeast = 1e-5, kAlong = 0.98;  // scaled; cosine between tangents of neighbours
  constexpr int kSteps = 400;
  const Watched& w = groups_[group];
  VecX q = w.q_in, t = w.came_in, left, there;
  loops_.difference(group, q, q_to, left);
  if (t.dot(left) < 0) t = -t;
  double step = kStep;
  for (int k = 0; k < kSteps; ++k) {
    loops_.difference(group, q, q_to, left);
    if (left.norm() <= step) return std::abs(t.dot(left)) >= kAlong * left.norm() || left.norm() <= kLeast;
    there = q;
    loops_.move(group, step * t, there);
    VecX next;
    if (loops_.close(group, w.regular, wound_, there)) {
      loops_.place(there, wound_);
      next = rank_of(loops_, group, w.regular).right.rightCols(1);
      if (next.dot(t) < 0) next = -next;
    }
    if (next.size() == 0 || next.dot(t) < kAlong) {
      if ((step *= 0.5) < kLeast) return false;
      continue;
    }
    q = there, t = next, step = std::min(kStep, 2 * step);
  }
  return false;
}

// C = Uᵀ Φ_b V Σ⁻¹ over the directions that are regular at a; false where a is singular itself.
bool Singularities::compare(std::size_t group, const Look& a, const VecX& q_b, MatX& C) {
  const LoopRank& at = a.rank;
  const int r = groups_[group].regular;
  if (r == 0 || r > at.values.size() || !(at.values[r - 1] > kLocatedSigma * at.scale)) return false;
  MatX J;
  loops_.place(q_b, wound_);
  loops_.jacobian(group, J);
  C = at.left.leftCols(r).transpose() * J * at.right.leftCols(r) * at.values.head(r).cwiseInverse().asDiagonal();
  return true;
}

// Where |C - 1| < 1 no eigenvalue of C has a negative real part, and C is regular: all directions of the reference are held, and
// none has crossed. A product in place of a decomposition.
bool Singularities::as_before(std::size_t group, const Bodies& now) {
  const Watched& w = groups_[group];
  MatX C;
  VecX q;
  loops_.tree().measure(now, wound_, q, v_);
  loops_.rates(group, v_, t_);
  if (turned_off(group, w.reference.t, t_)) return false;
  return compare(group, w.reference, q, C) && (C - MatX::Identity(C.rows(), C.cols())).norm() < kAsBefore;
}

// Eigenvalues of C with negative real part.
int Singularities::crossed(std::size_t group, const Look& a, const VecX& q_b) {
  MatX C;
  if (!compare(group, a, q_b, C)) return 0;
  if ((C - MatX::Identity(C.rows(), C.cols())).norm() < 1) return 0;
  int negative = 0;
  for (const std::complex<double>& value : eigenvalues(C)) negative += value.real() < 0;
  return negative;
}

// The place in the step at which the motion is at x of the branch: bisection with secants, on the dense output.
double Singularities::when(const Branch& branch, double x, double from, double to, const Between& between) {
  VecX q, u;
  const auto off = [&](double theta) {
    between(theta, between_);
    loops_.tree().measure(between_, wound_, q, v_);
    loops_.difference(branch.group, branch.q0, q, u);
    return branch.t.dot(u) - x;
  };
  double low = from, high = to, at_low = off(low), at_high = off(high);
  if (!(at_low * at_high < 0)) return std::abs(at_low) < std::abs(at_high) ? low : high;
  for (int k = 0; k < 40 && high - low > 1e-13; ++k) {
    const double part = k % 3 == 2 ? 0.5 : at_low / (at_low - at_high), theta = low + part * (high - low), here = off(theta);
    if (here == 0) return theta;
    (here * at_low > 0 ? low : high) = theta;
    (here * at_low > 0 ? at_low : at_high) = here;
  }
  return std::abs(at_low) < std::abs(at_high) ? low : high;
}

// The branch from a towards b, the configuration on it where σ is least, and the rank there.
Singularities::Found Singularities::locate(std::size_t group, const Look& a, const Look& b, int directions, double from,
                                           double to, const Between& between) {
  const int regular = groups_[group].regular;
  Found out{group, regular - directions, {0.5 * (from + to), false, 0, 0, loops_.groups()[group].joint(), group}};
  Branch branch;
  branch.group = group, branch.rank = regular, branch.q0 = a.q;
  loops_.difference(group, a.q, b.q, branch.t);
  const double length = branch.t.norm();
  if (!(length > 0)) return out;
  branch.t /= length;
  const double wide = spread(branch.t);
  const Ahead ahead = look_ahead(loops_, group, a.rank, regular, a.q, wound_, branch.t, 0, kBandHalf * wide);
  branch.centre = std::min(ahead.found ? ahead.x : 0.5 * length, length);
  branch.directions = std::max(ahead.directions, directions);
  bool built = false;
  for (branch.half = kBandHalf * wide; !built && branch.half > kLeastBandHalf * wide; branch.half *= built ? 1 : 0.5)
    built = branch.build(loops_, wound_);
  if (!built) return out;
  const Branch::Weakest there = branch.weakest(loops_, wound_);
  if (there.rows.rank >= regular) return out;
  out.rank = there.rows.rank;
  out.crossing.located = true;
  out.crossing.theta = std::clamp(when(branch, there.x, from, to, between), from, to);
  stand(branch, there, between, out.crossing);
  return out;
}

// The group as it is on the branch, everything else as it is then; of its rates what the strong rows and Ĝ let pass.
void Singularities::stand(const Branch& branch, const Branch::Weakest& at, const Between& between, Crossing& out) {
  const Loops::Group& g = loops_.groups()[branch.group];
  VecX q, u;
  between(out.theta, between_);
  loops_.tree().measure(between_, wound_, q, v_);
  loops_.difference(branch.group, q, at.q, u);
  loops_.move(branch.group, u, q);
  loops_.place(q, wound_);
  MatX J, G, dG, Q, R;
  loops_.jacobian(branch.group, J);
  branch.complement(at.x, G, dG);
  MatX rows(J.cols(), static_cast<Eigen::Index>(branch.strong.size()) + G.cols());
  for (std::size_t i = 0; i < branch.strong.size(); ++i)
    rows.col(static_cast<Eigen::Index>(i)) = J.row(branch.strong[i]).transpose();
  rows.rightCols(G.cols()) = G;
  orthogonal_factors(rows, Q, R);
  loops_.rates(branch.group, v_, u);
  const VecX along = Q.rightCols(Q.cols() - rows.cols()) * (Q.rightCols(Q.cols() - rows.cols()).transpose() * u);
  const auto placed = [&](const VecX& rates, Bodies& to) {
    VecX v = v_;
    for (Eigen::Index i = 0; i < rates.size(); ++i) v[g.freedoms[static_cast<std::size_t>(i)]] = rates[i] / g.scale[i];
    loops_.tree().place(q, v, to);
  };
  placed(along, out.there);
  v_.setZero();
  for (Eigen::Index c = at.rows.rank; c < at.rows.right.cols(); ++c) placed(at.rows.right.col(c), out.motions.emplace_back());
}

// The rank of a group where another one crosses: in the same instant it may cross itself, or stand in a singular configuration.
int Singularities::rank_nearby(std::size_t group, const Found& found, double distance, const Between& between) {
  for (const Found& other : found_)
    if (other.group == group && std::abs(other.crossing.theta - found.crossing.theta) * distance < kLocatedSigma)
      return other.rank;
  VecX q;
  between(found.crossing.theta, between_);
  loops_.tree().measure(between_, wound_, q, v_);
  loops_.place(q, wound_);
  return std::min(rank_of(loops_, group, 0, kLocatedSigma).rank, groups_[group].regular);
}

// Ranks of all rows where something was crossed.
void Singularities::count(double distance, const Between& between) {
  for (Found& f : found_) {
    for (const Found& other : found_) {
      const bool together = std::abs(other.crossing.theta - f.crossing.theta) * distance < kLocatedSigma;
      if (together && !other.crossing.located) f.crossing.located = false;
    }
    f.crossing.rank = loops_.tree_rows() + f.rank;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (g == f.group) continue;
      if (groups_[g].small)
        f.crossing.rank += rank_nearby(g, f, distance, between);
      else
        f.crossing.located = false;  // nobody counts its rows
    }
    f.crossing.freedoms = 6 * static_cast<int>(loops_.model().bodies().size()) - f.crossing.rank;
    crossings_.push_back(std::move(f.crossing));
  }
}

// A state right between two branches has the direction of neither: one that seems to turn there, and is as before farther away,
// has not. `reach`: σ that a step may meet a singular configuration from.
void Singularities::look_at_direction(std::size_t g, double reach) {
  Watched& w = groups_[g];
  const bool near = std::min(w.reference.rank.sigma, w.next.rank.sigma) < reach;
  if (!w.turning && near && turned_off(g, tangent(w.reference), tangent(w.next)))
    w.turning = true, w.came_in = tangent(w.reference), w.q_in = w.reference.q, w.way_in = w.way;
  if (!w.turning || w.next.rank.sigma < reach) return;
  w.turning = false;
  if (turned_off(g, w.came_in, tangent(w.next)) && !branch_leads(g, w.next.q)) left_.push_back(loops_.groups()[g].joint());
}

// Where fewer directions are lost than have crossed, others cross elsewhere in the step: each half is looked at by itself.
void Singularities::find_crossings(std::size_t group, const Look& a, const Look& b, double from, double to, double distance,
                                   const Between& between) {
  const int directions = crossed(group, a, b.q);
  if (directions == 0) return;
  Found found = locate(group, a, b, directions, from, to, between);
  if (found.crossing.located && groups_[group].regular - found.rank < directions && (to - from) * distance > kLocatedSigma) {
    const double middle = 0.5 * (from + to), budget = groups_[group].budget;
    Look half;
    between(middle, between_);
    look(group, between_, half);
    groups_[group].budget = budget;
    if (half.rank.sigma > kLocatedSigma) {
      find_crossings(group, a, half, from, middle, distance, between);
      find_crossings(group, half, b, middle, to, distance, between);
      return;
    }
  }
  found_.push_back(std::move(found));
}

void Singularities::look_through(std::size_t g, const Bodies& now, double distance, const Between& between) {
  Watched& w = groups_[g];
  if (!w.fresh) look(g, before_, w.reference);
  const int parts = std::clamp(static_cast<int>(std::ceil(distance / kPart)), 1, kParts);
  double from = 0;
  for (int i = 1; i <= parts; ++i) {
    const double to = static_cast<double>(i) / parts;
    if (i < parts) between(to, between_);
    look(g, i < parts ? between_ : now, w.next);
    // What follows a state that stands in a singular configuration is compared with the last regular one.
    if (w.regular == 0 || !(w.next.rank.sigma > kLocatedSigma)) continue;
    find_crossings(g, w.reference, w.next, from, to, distance, between);
    // Nearer to a singular configuration than the way that was gone: a motion that turns there has not resolved its own.
    look_at_direction(g, 2 * (to - from) * distance);
    std::swap(w.reference, w.next);
    from = to;
  }
  w.fresh = true;
  // It began in a singular configuration, and has just come out of it.
  if (w.looks == 1 && w.rank_at_begin < w.regular && w.way < kPart && turned_off(g, w.begins, tangent(w.reference)))
    left_.push_back(loops_.groups()[g].joint());
}

const std::vector<Singularities::Crossing>& Singularities::step(const Bodies& now, const VecX& wound, double sine,
                                                                const Between& between) {
  crossings_.clear();
  found_.clear();
  left_.clear();
  wound_ = wound;
  // The very same sine is that of an earlier state: in bands nobody computes it.
  const double known = sine == sine_before_ ? -sine : sine;
  double farthest = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!groups_[g].small) continue;
    const double distance = loops_.moved(g, before_, now);
    farthest = std::max(farthest, distance);
    for (Rigid& r : rigid_)
      if (r.group == g) r.moved = std::max(r.moved, loops_.moved(g, began_, now));
    if (distance == 0) continue;
    if (!young(groups_[g], distance) && (calm(groups_[g], distance, known) || (distance < kPart && as_before(g, now))))
      groups_[g].fresh = false;
    else
      look_through(g, now, distance, between);
    if (Watched& w = groups_[g]; w.turning && w.way - w.way_in > kPart) {  // nothing was looked at farther away
      w.turning = false;
      VecX q;
      loops_.tree().measure(now, wound_, q, v_);
      if (!branch_leads(g, q)) left_.push_back(loops_.groups()[g].joint());
    }
  }
  if (!found_.empty()) count(farthest, between);
  if (farthest > 0) sine_before_ = sine;
  before_ = now;
  return crossings_;
}

}  // namespace invar
