// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/passage.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/assemble.hpp"
#include "invar/mech/dense.hpp"
#include "invar/mech/kinematics.hpp"

namespace invar {
namespace {

constexpr std::size_t kLargest = 160;  // freedoms of a group
constexpr double kHalf = 0.05;         // half-width of a band: radians, or parts of the length of the group
constexpr double kLeastHalf = 0.01;
constexpr double kWatched = 0.35;  // σ below which the way ahead is looked at
constexpr double kSteep = 2;       // how much faster than bodies turn the sine of the weakest row may fall
constexpr double kLongest = 0.25;  // rad; of an error-controlled step where σ is watched
constexpr double kResolved = 0.1;  // rad; fixed steps that are longer do not see a band
constexpr double kBeyond = 1.15;   // steps inside a band aim at this part of its half-width

std::size_t size(int n) { return static_cast<std::size_t>(n); }

double speed_of(const Bodies& bodies, double length) {
  double largest = 0;
  for (const BodyState& b : bodies) largest = std::max({largest, b.w_WB.norm(), b.v_WC.norm() / length});
  return largest;
}

}  // namespace

Passage::Passage(const Model& model)
    : model_(model),
      loops_(model),
      assembly_(model),
      first_row_of_joint_(model.joints().size(), -1),
      row_of_coupling_(model.couplings().size(), -1),
      regular_(loops_.groups().size(), 0),
      at_(model.joints().size()),
      T_(MatX::Zero(6 * static_cast<Eigen::Index>(model.bodies().size()), loops_.tree().nv())),
      tau_(VecX::Zero(T_.rows())),
      x_(tau_),
      F_(VecX::Zero(assembly_.problem().structure.rows())) {
  const KktStructure& structure = assembly_.problem().structure;
  for (int block = structure.blocks(); block-- > 0;) {  // rotors come after the rows of their joints
    if (assembly_.joint_of_block(block) >= 0)
      first_row_of_joint_[size(assembly_.joint_of_block(block))] = structure.block(block).first_row;
    if (assembly_.coupling_of_block(block) >= 0)
      row_of_coupling_[size(assembly_.coupling_of_block(block))] = structure.block(block).first_row;
  }
  for (std::size_t g = 0; g < loops_.groups().size(); ++g) {
    too_large_.push_back(loops_.groups()[g].freedoms.size() > kLargest);
    watched_.emplace_back();
    if (!too_large_[g]) watched_[g].emplace(Watched{LoopWork(loops_, g), {}, {}});
  }
}

// The rank at regular configurations: counted here, and, because a motion may begin in a singular one, on both sides of it along
// the motion, and where [initial] closes.
void Passage::begin(const Bodies& bodies, const VecX& wound) {
  active_.clear();
  active_.reserve(regular_.size());
  ++version_;
  before_ = bodies;
  wound_ = wound;
  budget_ = 0;
  begun_ = true;
  loops_.measure_lengths(bodies);
  std::fill(regular_.begin(), regular_.end(), 0);
  loops_.tree().measure(bodies, wound, now_.q, now_.v);
  seen_ = now_;
  for (std::size_t g = 0; g < regular_.size(); ++g)
    if (!too_large_[g]) loops_.rates(g, now_.v, watched_[g]->t);
  loops_.place(now_.q, wound);
  for (std::size_t g = 0; g < regular_.size(); ++g)
    if (!too_large_[g]) learn_rank(g);
  VecX q, v, initial;
  loops_.tree().measure(invar::place(model_, JointState::initial(model_)), wound, initial, v);
  for (std::size_t g = 0; g < regular_.size(); ++g) {
    if (too_large_[g]) continue;
    const auto most = static_cast<int>(std::min(loops_.groups()[g].rows.size(), loops_.groups()[g].freedoms.size()));
    const auto learn = [&](VecX& at) {
      if (!loops_.close(g, most, wound, at)) return;
      loops_.place(at, wound);
      learn_rank(g);
    };
    learn(initial);
    const double rate = watched_[g]->t.norm();
    for (const double x : {2 * kHalf, -2 * kHalf}) {
      if (!(rate > 0)) continue;
      q = now_.q;
      loops_.move(g, x / rate * watched_[g]->t, q);
      learn(q);
    }
  }
}

// Where the loops stand.
void Passage::learn_rank(std::size_t group) {
  Watched& w = *watched_[group];
  rank_of(loops_, group, regular_[group], 1e-9, w.work, w.here);
  regular_[group] = std::max(regular_[group], rank_beyond_gaps(loops_, group, w.here, w.work));
}

double Passage::prepare(const Bodies& bodies, const VecX& wound, double h, bool whole, double sine) {
  if (regular_.empty()) return h;
  const double reach = h * speed_of(bodies, model_.length());
  budget_ -= moved(before_, bodies, model_.length());
  before_ = bodies;
  // Nothing to look at where the weakest row is strong, or gains strength, or nothing was near and the motion has come no
  // further.
  // A motion that begins in a singular configuration has a strong weakest row, because the solver has set the weak one aside.
  const bool strong = !begun_ && (sine > kSteep * (reach + kHalf) || (sine > sine_ && sine > kSteep * reach));
  begun_ = false;
  sine_ = sine;
  if (active_.empty() && (strong || budget_ > reach)) {
    watching_ = watching_ && budget_ < 3 * kHalf;
    return h;
  }
  watching_ = !active_.empty();

  wound_ = wound;
  Seen& at = seen_;
  loops_.tree().measure(bodies, wound, at.q, at.v);
  if (leave(at)) ++version_;
  double longest = look(bodies, at, wound, h, whole);
  for (const Branch& branch : active_) {
    if (whole) break;
    loops_.difference(branch.group, branch.q0, at.q, u_);
    loops_.rate_of_difference(branch.group, u_, at.v, du_);
    const double x = branch.t.dot(u_), rate = branch.t.dot(du_);
    if (rate != 0) longest = std::min(longest, (branch.centre + std::copysign(kBeyond * branch.half, rate) - x) / rate);
  }
  return whole ? h : longest;
}

// Bands that the motion has left on either side; where there is more than one freedom, bands are made anew from where it is now.
bool Passage::leave(const Seen& at) {
  const std::size_t before = active_.size();
  std::erase_if(active_, [&](const Branch& branch) {
    loops_.difference(branch.group, branch.q0, at.q, u_);
    return !(std::abs(branch.t.dot(u_) - branch.centre) <= branch.half);
  });
  if (active_.size() != before && !active_.empty()) choose_rows();
  return active_.size() != before;
}

double Passage::look(const Bodies& bodies, const Seen& at, const VecX& wound, double h, bool whole) {
  double longest = h;
  const double speed = speed_of(bodies, model_.length());
  budget_ = std::numeric_limits<double>::infinity();
  for (std::size_t g = 0; g < regular_.size(); ++g) {
    if (too_large_[g]) continue;
    const auto freedoms = static_cast<double>(loops_.groups()[g].freedoms.size());
    const bool passing = std::any_of(active_.begin(), active_.end(), [&](const Branch& b) { return b.group == g; });
    if (passing && freedoms - regular_[g] <= 1) continue;
    loops_.place(at.q, wound);
    learn_rank(g);
    if (regular_[g] == 0) continue;
    LoopRank& here = watched_[g]->here;
    here.sigma = here.values[regular_[g] - 1] / here.scale;
    budget_ = std::min(budget_, std::max(here.sigma, 0.1 * kHalf) / (2 * std::sqrt(freedoms)));
    if (here.sigma < std::max(kWatched, 2 * h * speed)) longest = std::min(longest, approach(g, at, wound, h, whole));
  }
  return longest;
}

double Passage::approach(std::size_t g, const Seen& at, const VecX& wound, double h, bool whole) {
  Watched& w = *watched_[g];
  VecX& t = w.t;
  loops_.rates(g, at.v, t);
  const double rate = t.norm();
  if (!(rate * h > 1e-12)) return h;
  t /= rate;
  if (whole && h * rate > kResolved) return h;
  const auto passing = std::find_if(active_.begin(), active_.end(), [&](const Branch& b) { return b.group == g; });
  const double half = passing != active_.end() ? passing->half : std::max(kHalf, whole ? 3 * h * rate : 0.0);
  const Ahead ahead =
      look_ahead(loops_, g, w.here, regular_[g], at.q, wound, t, -2 * half, half, std::max(kWatched, 2 * h * rate), w.work);
  if (!ahead.found) return whole ? h : std::min(h, kLongest / rate);
  watching_ = true;
  if (passing != active_.end()) {  // several freedoms: anew from here
    const int directions = passing->directions;
    active_.erase(passing);
    enter(g, at, wound, t, ahead.x, directions, half);
    return h;
  }
  const double edge = ahead.x - half;
  if (ahead.x >= -0.6 * half && edge <= (whole ? 1.1 * h * rate : 1e-3 * half)) {
    enter(g, at, wound, t, ahead.x, ahead.directions, half);
    return h;
  }
  if (ahead.x < 0) return whole ? h : std::min(h, kLongest / rate);
  // Far away the place is known roughly: go there in several steps.
  return std::min({h, (ahead.x > 3 * half ? 0.8 : 1.0) * edge / rate, kLongest / rate});
}

bool Passage::enter(std::size_t g, const Seen& at, const VecX& wound, const VecX& t, double centre, int directions, double half) {
  Branch branch;
  branch.group = g, branch.rank = regular_[g], branch.directions = directions;
  branch.q0 = at.q, branch.t = t, branch.centre = centre;
  ++version_;
  for (branch.half = half; branch.half >= kLeastHalf; branch.half /= 2) {
    if (!branch.build(loops_, wound)) continue;
    active_.push_back(std::move(branch));
    choose_rows();
    return true;
  }
  return false;
}

int Passage::assembly_row(const Loops::Row& row) const {
  return row.joint >= 0 ? first_row_of_joint_[size(row.joint)] + row.which : row_of_coupling_[size(row.coupling)];
}

// Strong rows of groups that pass; as many independent ones as there are of the others.
void Passage::choose_rows() {
  kept_.clear();
  loops_.place(active_.back().q0, wound_);
  for (std::size_t g = 0; g < regular_.size(); ++g) {
    const auto passing = std::find_if(active_.begin(), active_.end(), [&](const Branch& b) { return b.group == g; });
    std::vector<int> rows;
    if (passing != active_.end()) {
      rows = passing->strong;
    } else {
      MatX J;
      loops_.jacobian(g, J);
      rows = strongest_rows(J);
      rows.resize(size(too_large_[g] ? rank_of(loops_, g, 0).rank : regular_[g]));
    }
    for (const int r : rows) kept_.push_back(assembly_row(loops_.groups()[g].rows[size(r)]));
  }
  reserve_solves();
}

}  // namespace invar
