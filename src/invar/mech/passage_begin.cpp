// SPDX-License-Identifier: Apache-2.0
//
// Where a motion begins in, or next to, a singular configuration its direction tells the branch that it takes. At rest there it
// takes the branch of [initial]: that along which loops get there from [initial].
#include <algorithm>
#include <cmath>
#include <numeric>

#include "invar/mech/assemble.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/loops_limits.hpp"
#include "invar/mech/meeting.hpp"
#include "invar/mech/passage.hpp"
#include "invar/mech/travel.hpp"
#include "invar/mech/turns.hpp"

namespace invar {
namespace {

constexpr double kFollows = 1e-5;  // of the rates: what a motion that begins on a branch may have across it
constexpr double kThere = 1e-7;    // scaled: loops that are led to a configuration arrive so close to it
constexpr int kTold = 4;           // freedoms that are asked for the direction: one that turns back there does not tell it

}  // namespace

// The rank at regular configurations: counted here, and, because a motion may begin in a singular one, on both sides of it along
// the motion, and where [initial] closes.
void Passage::begin(const Bodies& bodies, const VecX& wound) {
  active_.clear();
  ++version_;
  before_ = kept_ = bodies;
  wound_ = wound;
  watching_ = false;
  loops_.measure_lengths(bodies);
  std::fill(regular_.begin(), regular_.end(), 0);
  loops_.tree().measure(bodies, wound, seen_.q, seen_.v);
  VecX q, v, initial;
  loops_.tree().measure(invar::place(model_, JointState::initial(model_)), wound, initial, v);
  for (std::size_t g = 0; g < regular_.size(); ++g) {
    if (!watched_[g]) continue;
    watched_[g]->budget = 0;
    watched_[g]->failing = watched_[g]->rests = false;
    loops_.rates(g, seen_.v, watched_[g]->t);
    loops_.place(seen_.q, wound);
    learn_rank(g);
    const auto most = static_cast<int>(std::min(loops_.groups()[g].rows.size(), loops_.groups()[g].freedoms.size()));
    const auto learn = [&](VecX& at) {
      if (!loops_.close(g, most, wound, at)) return;
      loops_.place(at, wound);
      learn_rank(g);
    };
    learn(initial);
    const double rate = watched_[g]->t.lpNorm<Eigen::Infinity>();
    for (const double x : {2 * kBandHalf, -2 * kBandHalf}) {
      if (!(rate > 0)) continue;
      q = seen_.q;
      loops_.move(g, x / rate * watched_[g]->t, q);
      learn(q);
    }
  }
  hold_what_stands(wound);
  begin_in_bands(initial, wound);
  begun_ = true;
}

// Loops that leave no motion, beside a configuration in which their rows do not hold it to first order: reactions there grow like
// 1/σ, and whoever solves with the rows moves the loops by round-off over σ², or along what they hold to second order only.
void Passage::hold_what_stands(const VecX& wound) {
  in_standing_part_.assign(before_.size(), 0);
  for (std::size_t g = 0; g < regular_.size(); ++g) {
    const auto n = static_cast<Eigen::Index>(loops_.groups()[g].freedoms.size());
    if (!watched_[g] || static_cast<Eigen::Index>(loops_.groups()[g].rows.size()) < n) continue;
    loops_.place(seen_.q, wound);
    if (!(least_sigma(loops_, g) < kHeldSigma) || !rigid_at(loops_, g, seen_.q, wound)) continue;
    Branch& branch = active_.emplace_back();
    branch.group = g, branch.q0 = seen_.q;
    branch.stand(loops_.groups()[g].freedoms.size());
    u_.resize(n), du_.resize(n);
    impulse_.resize(before_.size());
    unused_.resize(model_.joints().size());
    choose_rows(piece_of_group_[g]);
    const int part = scales_.part_of_body[static_cast<std::size_t>(loops_.groups()[g].bodies.front())];
    for (std::size_t b = 0; b < before_.size(); ++b)
      if (scales_.part_of_body[b] == part) in_standing_part_[b] = 1;
  }
}

// What is asked for before the first step is computed by the equations that the first step will have, if the motion is on a
// branch: otherwise no equations have a solution, and whoever solves says so.
void Passage::begin_in_bands(const VecX& initial, const VecX& wound) {
  for (std::size_t g = 0; g < regular_.size(); ++g) {
    if (!watched_[g] || regular_[g] == 0 || passing(g)) continue;
    Watched& w = *watched_[g];
    const double rate = w.t.norm();
    loops_.place(seen_.q, wound);
    rank_of(loops_, g, regular_[g], kNullSigma, w.work, w.here);
    if (!(w.here.sigma < kWatchedSigma)) continue;
    w.rests = !(rate > 0);
    if (!w.rests)
      w.t /= rate;
    else if (!(w.here.sigma < 2 * kBandHalf) || !head_from(initial, g, wound, w.t))
      continue;
    const double half = kBandHalf * spread(w.t);
    const Ahead ahead = look_ahead(loops_, g, w.here, regular_[g], seen_.q, wound, w.t, -2 * half, half, kWatchedSigma, w.work);
    if (!ahead.found || std::abs(ahead.x) > half) continue;
    enter(g, seen_, wound, w.t, ahead.x, ahead.directions, half);
    w.failing = false;
    if (const Branch* branch = passing(g); branch && !follows(*branch, seen_)) {
      std::erase_if(active_, [&](const Branch& b) { return b.group == g; });
      if (passes(piece_of_group_[g])) choose_rows(piece_of_group_[g]);
    }
  }
}

// The unit direction, of scaled freedoms, in which loops that are led here from [initial] arrive; false where they do not.
bool Passage::head_from(const VecX& initial, std::size_t group, const VecX& wound, VecX& t) {
  const JointTree& tree = loops_.tree();
  VecX from = seen_.q, way;
  std::vector<int> leaders;
  for (const int f : loops_.groups()[group].freedoms) {
    const JointNode& n = tree.nodes()[tree.node_of_freedom(f)];
    from.segment(n.q0, n.nq) = initial.segment(n.q0, n.nq);
    if (n.nq == n.nv) leaders.push_back(tree.freedom_of_model(f));
  }
  loops_.difference(group, from, seen_.q, way);
  if (!(way.norm() > kThere)) return false;
  Bodies bodies(model_.bodies().size());
  tree.place(from, VecX::Zero(tree.nv()), bodies);
  joint_coordinates(model_, before_, q_, rates_);
  unwind(model_, wound, q_);

  std::vector<int> order(static_cast<std::size_t>(way.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return std::abs(way[a]) > std::abs(way[b]); });
  order.resize(std::min<std::size_t>(order.size(), kTold));
  for (const int k : order) {
    const int told = tree.freedom_of_model(loops_.groups()[group].freedoms[static_cast<std::size_t>(k)]);
    if (std::find(leaders.begin(), leaders.end(), told) == leaders.end()) continue;
    rates_.setConstant(std::numeric_limits<double>::quiet_NaN());
    rates_[told] = way[k];
    Travel travel(model_, leaders, bodies, wound);
    if (!travel.go(q_, rates_)) continue;
    VecX q, v, off;
    tree.measure(travel.bodies(), wound, q, v);
    loops_.difference(group, q, seen_.q, off);
    loops_.rates(group, v, t);
    if (!(off.norm() <= kThere) || !(t.norm() > 0)) continue;
    t.normalize();
    return true;
  }
  return false;
}

// Bands that were chosen without knowing the step; what is at rest needs none to be known.
void Passage::forget_begun_bands() {
  if (!active()) return;
  ++version_;
  std::erase_if(active_, [&](const Branch& branch) { return !branch.stands && !watched_[branch.group]->rests; });
  for (const Branch& branch : active_) choose_rows(piece_of_group_[branch.group]);
}

bool Passage::follows(const Branch& branch, const Seen& at) {
  MatX G, dG;
  branch.complement(0, G, dG);
  loops_.rates(branch.group, at.v, u_);
  return (G.transpose() * u_).norm() <= kFollows * u_.norm();
}

// Where the loops stand.
void Passage::learn_rank(std::size_t group) {
  Watched& w = *watched_[group];
  rank_of(loops_, group, regular_[group], kNullSigma, w.work, w.here);
  regular_[group] = std::max(regular_[group], rank_beyond_gaps(loops_, group, w.here, w.work.gap));
}

}  // namespace invar
