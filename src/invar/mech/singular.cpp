// SPDX-License-Identifier: Apache-2.0
//
// Weyl: singular values move by at most |ΔΦ|. A row of unit size changes by at most the angle through which bodies turn, entry by
// entry, so Φ with n columns changes by at most sqrt(n) times that (times a few: both ends of an arm turn), and a σ above it
// cannot have vanished in between.
#include "invar/mech/singular.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/dense.hpp"

namespace invar {
namespace {

constexpr std::size_t kLargest = 160;  // freedoms of a group
constexpr double kPart = 0.1;          // of a radian: pieces in which a long step is looked at
constexpr int kParts = 32;
constexpr double kSteep = 30;        // how much faster than bodies turn a sine may change: masses enter it
constexpr double kReference = 1e-6;  // σ of a state that others are compared with
constexpr double kNoise = 1e3;  // rows that depend on others only where loops are closed stand out by this times the gap at most
constexpr double kHalf = 0.05;

}  // namespace

Singularities::Singularities(const Model& model) : loops_(model), regular_(loops_.groups().size(), 0) {
  for (const Loops::Group& g : loops_.groups()) whole_ = whole_ && g.freedoms.size() <= kLargest;
}

// A rank above the one known so far is believed where gaps cannot explain it.
void Singularities::learn_rank(std::size_t group, const LoopRank& seen) {
  VecX gap;
  loops_.residual(group, gap);
  const double noise = std::max(1e-6, kNoise * gap.norm());
  int counted = 0;
  for (Eigen::Index i = 0; i < seen.values.size(); ++i) counted += seen.values[i] > noise * seen.scale;
  regular_[group] = std::max(regular_[group], counted);
}

void Singularities::look(const Bodies& bodies, std::vector<Look>& out) {
  VecX q;
  loops_.tree().measure(bodies, wound_, q, v_);
  loops_.place(q, wound_);
  out.resize(regular_.size());
  budget_ = std::numeric_limits<double>::infinity();
  for (std::size_t g = 0; g < regular_.size(); ++g) {
    out[g].q = q;
    LoopRank& seen = out[g].rank = rank_of(loops_, g, 0, 1e-7);
    learn_rank(g, seen);
    if (regular_[g] == 0) continue;
    const double sigma = seen.values[regular_[g] - 1];
    seen.sigma = sigma / seen.scale;
    budget_ = std::min(budget_, sigma / (2 * std::sqrt(static_cast<double>(loops_.groups()[g].freedoms.size()))));
  }
}

int Singularities::rank_of_all(std::size_t group, int of_group) const {
  int rank = loops_.tree_rows() + of_group;
  for (std::size_t g = 0; g < regular_.size(); ++g)
    if (g != group) rank += regular_[g];
  return rank;
}

std::vector<Bodies> Singularities::motions_at(std::size_t group, const VecX& q, const LoopRank& there) const {
  const Loops::Group& g = loops_.groups()[group];
  std::vector<Bodies> out;
  for (Eigen::Index c = there.rank; c < there.right.cols(); ++c) {
    VecX v = VecX::Zero(loops_.tree().nv());
    for (Eigen::Index i = 0; i < there.right.rows(); ++i)
      v[g.freedoms[static_cast<std::size_t>(i)]] = there.right(i, c) / g.scale[i];
    loops_.tree().place(q, v, out.emplace_back());
  }
  return out;
}

void Singularities::begin(const Bodies& bodies, const VecX& wound) {
  wound_ = wound;
  std::fill(regular_.begin(), regular_.end(), 0);
  if (!watches()) return;
  loops_.measure_lengths(bodies);
  look(bodies, reference_);
  rank_at_start_ = loops_.tree_rows();
  for (const Look& l : reference_) rank_at_start_ += l.rank.rank;
  before_ = between_ = bodies;
  sine_before_ = 0;
  fresh_ = true;
}

bool Singularities::calm(double distance, double sine) {
  const bool far = budget_ > distance;
  budget_ -= distance;
  return far || sine_before_ + sine > kSteep * distance;
}

// Eigenvalues of C with negative real part, over the directions that are regular at a.
int Singularities::crossed(std::size_t group, const Look& a, const VecX& q_b) {
  const LoopRank& at = a.rank;
  const int r = regular_[group];
  if (r == 0 || !(at.values[r - 1] > kReference * at.scale)) return 0;
  MatX J;
  loops_.place(q_b, wound_);
  loops_.jacobian(group, J);
  const MatX C = at.left.leftCols(r).transpose() * J * at.right.leftCols(r) * at.values.head(r).cwiseInverse().asDiagonal();
  int negative = 0;
  for (const std::complex<double>& value : eigenvalues(C)) negative += value.real() < 0;
  return negative;
}

// The branch from a towards b, the configuration on it where σ is least, and the rank there.
void Singularities::locate(std::size_t group, const Look& a, const Look& b, int directions, double from, double to) {
  Crossing out{0.5 * (from + to), rank_of_all(group, regular_[group] - directions), 0, -1};
  Branch branch;
  branch.group = group, branch.rank = regular_[group], branch.q0 = a.q;
  loops_.difference(group, a.q, b.q, branch.t);
  const double length = branch.t.norm();
  if (length > 0) {
    branch.t /= length;
    const Ahead ahead = look_ahead(loops_, group, a.rank, regular_[group], a.q, wound_, branch.t, 0, kHalf);
    branch.centre = std::min(ahead.found ? ahead.x : 0.5 * length, length);
    branch.directions = std::max(ahead.directions, directions);
    bool built = false;
    for (branch.half = kHalf; !built && branch.half > 0.01; built = built || (branch.half /= 2, false))
      built = branch.build(loops_, wound_);
    if (built) {
      const Branch::Weakest there = branch.weakest(loops_, wound_);
      if (there.rows.rank < regular_[group]) {
        out.motions = motions_at(group, there.q, there.rows);
        out.rank = rank_of_all(group, there.rows.rank);
        out.theta = std::clamp(from + (to - from) * there.x / length, from, to);
      }
    }
  }
  out.freedoms = 6 * static_cast<int>(loops_.model().bodies().size()) - out.rank;
  for (const Loops::Row& row : loops_.groups()[group].rows)
    if (out.joint < 0) out.joint = row.joint;
  crossings_.push_back(out);
}

const std::vector<Singularities::Crossing>& Singularities::step(const Bodies& now, const VecX& wound, double sine,
                                                                const Between& between) {
  crossings_.clear();
  if (!watches()) return crossings_;
  wound_ = wound;
  const double distance = moved(before_, now, loops_.model().length());
  if (distance == 0) return crossings_;
  // The very same sine is that of an earlier state: in bands nobody computes it.
  const bool quiet = calm(distance, sine == sine_before_ ? -sine : sine);
  sine_before_ = sine;
  if (quiet) {
    before_ = now;
    fresh_ = false;
    return crossings_;
  }
  if (!fresh_) look(before_, reference_);
  const int parts = std::clamp(static_cast<int>(std::ceil(distance / kPart)), 1, kParts);
  std::vector<double> from(regular_.size(), 0.0);
  for (int i = 1; i <= parts; ++i) {
    const double to = static_cast<double>(i) / parts;
    if (i < parts) between(to, between_);
    look(i < parts ? between_ : now, next_);
    for (std::size_t g = 0; g < regular_.size(); ++g) {
      // What follows a state that stands in a singular configuration is compared with the last regular one.
      if (regular_[g] == 0 || !(next_[g].rank.sigma > kReference)) continue;
      if (const int directions = crossed(g, reference_[g], next_[g].q); directions > 0)
        locate(g, reference_[g], next_[g], directions, from[g], to);
      std::swap(reference_[g], next_[g]);
      from[g] = to;
    }
  }
  before_ = now;
  fresh_ = true;
  return crossings_;
}

}  // namespace invar
