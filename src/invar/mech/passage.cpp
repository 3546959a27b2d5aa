// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/passage.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "invar/base/index.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/dense.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/loops_limits.hpp"
#include "invar/mech/part_solver.hpp"
#include "invar/mech/unreduced.hpp"

namespace invar {
namespace {

constexpr double kAhead = 2;  // half-widths from which on a band is looked for: samples inside a step come close to its edge, too
constexpr double kLongest = 0.15;   // rad; of an error-controlled step where σ is watched
constexpr double kResolved = 0.06;  // rad; fixed steps that are longer do not see a band
constexpr double kBeyond = 1.15;    // steps inside a band aim at this part of its half-width
constexpr double kSameState = 1e-9;
constexpr double kClosed = 4 * 1.1e-16;  // of closed joints

}  // namespace

Passage::Passage(const Model& model, Unreduced& others)
    : model_(model),
      others_(others),
      loops_(model),
      scales_(scales_of(model)),
      pieces_(pieces_by_loops(model, scales_)),
      freedoms_of_piece_(pieces_.size(), 0),
      parts_(pieces_.size()),
      closing_(scales_.parts.size()),
      regular_(loops_.groups().size(), 0),
      kept_rows_(loops_.groups().size()),
      coupling_q_(VecX::Zero(static_cast<int>(model.couplings().size()))),
      dropped_(model.joints().size(), 0),
      dropped_couplings_(model.couplings().size(), false),
      q_(VecX::Zero(model.nq())),
      rates_(VecX::Zero(model.nv())) {
  std::vector<int> piece_of_body(model.bodies().size(), 0);
  for (std::size_t p = 0; p < pieces_.size(); ++p)
    for (const int b : pieces_[p].bodies) piece_of_body[size(b)] = static_cast<int>(p);
  for (const JointNode& n : loops_.tree().nodes()) freedoms_of_piece_[size(piece_of_body[size(n.body)])] += n.nv;
  for (std::size_t g = 0; g < loops_.groups().size(); ++g) {
    const Loops::Group& group = loops_.groups()[g];
    piece_of_group_.push_back(piece_of_body[size(group.bodies.front())]);
    watched_.emplace_back();
    if (group.freedoms.size() <= kLargestGroup && size(freedoms_of_piece_[size(piece_of_group_[g])]) <= kLargestPart)
      watched_[g].emplace(Watched{LoopWork(loops_, g), {}, {}});
  }
}

Branch* Passage::passing(std::size_t group) {
  const auto found = std::find_if(active_.begin(), active_.end(), [&](const Branch& b) { return b.group == group; });
  return found == active_.end() ? nullptr : &*found;
}

bool Passage::passes(int piece) const {
  return std::any_of(active_.begin(), active_.end(), [&](const Branch& b) { return piece_of_group_[b.group] == piece; });
}

std::optional<int> Passage::standing() const {
  const auto found = std::find_if(active_.begin(), active_.end(), [](const Branch& b) { return b.stands; });
  return found == active_.end() ? std::nullopt : std::optional(loops_.groups()[found->group].joint());
}

Verdict Passage::stop_what_stands(Bodies& bodies) {
  if (std::none_of(active_.begin(), active_.end(), [](const Branch& b) { return b.stands; })) return {};
  if (!model_.couplings().empty()) {
    joint_coordinates(model_, bodies, q_, rates_);
    unwind(model_, wound_, q_);
    driving_coordinates(model_, q_, coupling_q_);
  }
  const KktInput input{.dynamics = false,
                       .settled = true,
                       .coupling_q = model_.couplings().empty() ? nullptr : &coupling_q_,
                       .wanted = &in_standing_part_};
  if (const Verdict verdict = solve(bodies, input, impulse_, unused_); !verdict.ok()) return verdict;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    if (!in_standing_part_[b]) continue;
    bodies[b].v_WC += impulse_[b].a_WC;
    bodies[b].w_WB += impulse_[b].alpha_WB;
  }
  return {};
}

bool Passage::watching() const {
  return watching_ && std::none_of(watched_.begin(), watched_.end(), [](const auto& w) { return w && w->failing; });
}

Through Passage::through(std::size_t group) const {
  if (!watched_[group]) return Through::TooLarge;
  if (std::any_of(active_.begin(), active_.end(), [&](const Branch& b) { return b.group == group; })) return Through::Band;
  return watched_[group]->failing ? Through::NoBranch : Through::NotSeen;
}

LedOver Passage::led_over() const {
  LedOver out;
  for (const Branch& branch : active_)
    if (branch.gap > std::max(kClosedBetween, out.gap)) out = {branch.gap, loops_.groups()[branch.group].joint()};
  return out;
}

// Methods that bring their own equations never prepare a step: their states are in a band where the motion begins, if at all.
// What stands does so wherever the bodies are that carry it.
bool Passage::holds_at(const Bodies& bodies) const {
  if (!active() || !begun_ || std::all_of(active_.begin(), active_.end(), [](const Branch& b) { return b.stands; }))
    return active();
  for (std::size_t b = 0; b < bodies.size(); ++b)
    if ((bodies[b].p_WC - before_[b].p_WC).norm() > kSameState * model_.length() ||
        (bodies[b].q_WB.conjugate() * before_[b].q_WB).vec().norm() > kSameState)
      return false;
  return true;
}

double Passage::prepare(const Bodies& bodies, const VecX& wound, double h, bool whole) {
  if (regular_.empty()) return h;
  // A motion that begins in a singular configuration has a strong weakest row, because the solver has set the weak one aside. Its
  // band was chosen without knowing the step.
  const bool begins = begun_;
  if (begins) forget_begun_bands();
  begun_ = false;
  // Nothing to look at where the weakest row of a part is strong, or gains strength, or nothing was near and the motion has come
  // no further.
  bool near = active(), close = false;
  for (std::size_t g = 0; g < regular_.size(); ++g) {
    if (!watched_[g]) continue;
    Watched& w = *watched_[g];
    const double reach = h * loops_.speed(g, bodies), sine = others_.piece(piece_of_group_[g]).mobility().sine;
    const double moved = loops_.moved(g, before_, bodies);
    w.budget -= moved;
    // Fixed steps are short beside a band, and the last one tells how fast the sine falls; others may be longer than a band.
    const double fell = moved > 0 ? (w.sine - sine) / moved : 0, steep = whole ? std::max(kSteepSine, fell) : kSteepestSine;
    const bool strong = !begins && (sine > steep * (reach + kAhead * kBandHalf) || (sine > w.sine && sine > steep * reach));
    w.sine = sine;
    w.near = passing(g) || !(strong || w.budget > reach);
    near = near || w.near;
    close = close || w.budget < 3 * kBandHalf;
  }
  before_ = bodies;
  if (!near) {
    watching_ = watching_ && close;
    return h;
  }
  watching_ = active();

  wound_ = wound;
  Seen& at = seen_;
  loops_.tree().measure(bodies, wound, at.q, at.v);
  if (leave(at)) ++version_;
  renew_rows(at, wound);
  double longest = look(bodies, at, wound, h, whole);
  for (const Branch& branch : active_) {
    if (whole) break;
    if (branch.stands) continue;
    loops_.difference(branch.group, branch.q0, at.q, u_);
    loops_.rate_of_difference(branch.group, u_, at.v, du_);
    const double x = branch.t.dot(u_), rate = branch.t.dot(du_);
    if (rate != 0) longest = std::min(longest, (branch.centre + std::copysign(kBeyond * branch.half, rate) - x) / rate);
  }
  return whole ? h : longest;
}

// Bands that the motion has left on either side; where there is more than one freedom, bands are made anew from where it is now.
bool Passage::leave(const Seen& at) {
  std::vector<int> left;
  std::erase_if(active_, [&](const Branch& branch) {
    if (branch.stands) return false;
    loops_.difference(branch.group, branch.q0, at.q, u_);
    if (std::abs(branch.t.dot(u_) - branch.centre) <= branch.half) return false;
    left.push_back(piece_of_group_[branch.group]);
    return true;
  });
  for (const int piece : left)
    if (passes(piece)) choose_rows(piece);
  return !left.empty();
}

// A band around what stands lasts as long as the run, and rows of other loops of its part that were good at one place may lose
// rank elsewhere although all of them together do not: others take over where these have less than half of their strength.
void Passage::renew_rows(const Seen& at, const VecX& wound) {
  std::set<int> weak;
  const auto strength = [](const MatX& J, const std::vector<int>& rows) {
    return rows.empty() ? 1 : full_svd(J(rows, Eigen::all)).values[static_cast<Eigen::Index>(rows.size()) - 1];
  };
  for (const Branch& branch : active_) {
    if (!branch.stands || weak.contains(piece_of_group_[branch.group])) continue;
    loops_.place(at.q, wound);
    for (std::size_t g = 0; g < regular_.size(); ++g) {
      if (piece_of_group_[g] != piece_of_group_[branch.group] || passing(g)) continue;
      MatX J;
      loops_.jacobian(g, J);
      if (strength(J, kept_rows_[g]) < 0.5 * strength(J, best_rows(g, J))) weak.insert(piece_of_group_[g]);
    }
  }
  for (const int piece : weak) choose_rows(piece), ++version_;
}

double Passage::look(const Bodies& bodies, const Seen& at, const VecX& wound, double h, bool whole) {
  double longest = h;
  for (std::size_t g = 0; g < regular_.size(); ++g) {
    if (!watched_[g] || !watched_[g]->near) continue;
    Watched& w = *watched_[g];
    w.budget = std::numeric_limits<double>::infinity();
    const auto freedoms = static_cast<double>(loops_.groups()[g].freedoms.size());
    if (const Branch* band = passing(g); band && (band->stands || freedoms - regular_[g] <= 1)) {
      w.budget = 0;
      continue;
    }
    loops_.place(at.q, wound);
    learn_rank(g);
    if (regular_[g] == 0) continue;
    LoopRank& here = w.here;
    here.sigma = here.values[regular_[g] - 1] / here.scale;
    w.budget = std::max(here.sigma, 0.1 * kBandHalf) / (2 * std::sqrt(freedoms));
    w.failing = false;
    if (here.sigma < std::max(kWatchedSigma, 2 * h * loops_.speed(g, bodies)))
      longest = std::min(longest, approach(g, at, wound, h, whole));
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
  const double wide = spread(t), longest = kLongest * wide / rate;
  if (whole && h * rate > kResolved * wide) return h;
  const Branch* band = passing(g);
  const double half = band ? band->half : std::max(kBandHalf * wide, whole ? 3 * h * rate : 0.0);
  const Ahead ahead = look_ahead(loops_, g, w.here, regular_[g], at.q, wound, t, -2 * half, half,
                                 std::max(kWatchedSigma, 2 * h * rate / wide), w.work);
  if (!ahead.found) return whole ? h : std::min(h, longest);
  watching_ = true;
  if (band) {  // several freedoms: anew from here; the band as it was serves where that fails
    enter(g, at, wound, t, ahead.x, band->directions, half);
    return h;
  }
  const double edge = ahead.x - half;
  if (ahead.x >= -0.6 * half && edge <= (whole ? 1.1 * h * rate : 1e-3 * half)) {
    enter(g, at, wound, t, ahead.x, ahead.directions, half);
    return h;
  }
  if (ahead.x < 0) return whole ? h : std::min(h, longest);
  // Far away the place is known roughly: go there in several steps.
  return std::min({h, (ahead.x > 3 * half ? 0.8 : 1.0) * edge / rate, longest});
}

void Passage::enter(std::size_t g, const Seen& at, const VecX& wound, const VecX& t, double centre, int directions, double half) {
  Branch branch;
  branch.group = g, branch.rank = regular_[g], branch.directions = directions;
  branch.q0 = at.q, branch.t = t, branch.centre = centre;
  bool built = false;
  for (branch.half = half; !built && branch.half >= kLeastBandHalf * spread(t); branch.half *= built ? 1 : 0.5)
    built = branch.build(loops_, wound);
  Branch* band = passing(g);
  watched_[g]->failing = !built && band == nullptr;
  // A narrower band than was asked for may lie behind altogether.
  if (!built || centre < -branch.half) return;
  ++version_;
  u_.resize(t.size()), du_.resize(t.size());
  if (band)
    *band = std::move(branch);
  else
    active_.push_back(std::move(branch));
  choose_rows(piece_of_group_[g]);
}

// As many independent rows of a group as there are, the strongest ones, where the loops stand.
std::vector<int> Passage::best_rows(std::size_t group, const MatX& J) const {
  std::vector<int> rows = strongest_rows(J);
  rows.resize(size(watched_[group] ? regular_[group] : rank_of(loops_, group, 0).rank));
  return rows;
}

// Strong rows of groups that pass; independent ones of the others.
void Passage::choose_rows(int piece) {
  std::vector<Loops::Row> kept;
  std::vector<const Branch*> branches;
  loops_.place(seen_.q, wound_);
  for (std::size_t g = 0; g < regular_.size(); ++g) {
    if (piece_of_group_[g] != piece) continue;
    std::vector<int> rows;
    if (const Branch* band = passing(g)) {
      rows = band->strong;
      branches.push_back(band);
    } else {
      MatX J;
      loops_.jacobian(g, J);
      rows = kept_rows_[g] = best_rows(g, J);
    }
    for (const int r : rows) kept.push_back(loops_.groups()[g].rows[size(r)]);
  }
  std::unique_ptr<PassagePart>& part = parts_[size(piece)];
  if (!part) part = std::make_unique<PassagePart>(model_, loops_, scales_, pieces_[size(piece)]);
  part->choose(branches, kept);

  // Rows that do not hold.
  std::fill(dropped_.begin(), dropped_.end(), 0);
  std::fill(dropped_couplings_.begin(), dropped_couplings_.end(), false);
  for (const Branch& branch : active_) {
    const std::vector<Loops::Row>& rows = loops_.groups()[branch.group].rows;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (std::find(branch.strong.begin(), branch.strong.end(), static_cast<int>(r)) != branch.strong.end()) continue;
      if (rows[r].joint >= 0) dropped_[size(rows[r].joint)] |= 1 << rows[r].which;
      if (rows[r].coupling >= 0) dropped_couplings_[size(rows[r].coupling)] = true;
    }
  }
}

// The largest residual of every connected part, of the rows that hold; closed where a correction no longer halves it.
Verdict Passage::close_parts(const Bodies& bodies, const VecX& wound, double tolerance, bool first) {
  for (Closing& part : closing_)
    part = {first ? std::numeric_limits<double>::infinity() : part.gap, 0, -1, !first && part.closed};
  const auto raise = [&](int of, int joint, double gap) {
    Closing& part = closing_[size(scales_.part_of_body[size(model_.joints()[size(of)].child)])];
    if (!(gap <= part.gap)) part.gap = gap, part.joint = joint;
  };
  for (int j = 0; j < static_cast<int>(model_.joints().size()); ++j) {
    const Joint& joint = model_.joints()[size(j)];
    const double per_length = 1 / scales_.length_at(joint.child);
    int angles = 3;  // rows on angles come first: one for each axis about which the joint does not turn
    for (int k = 0; k < joint.nv; ++k) angles -= joint.turns(k) ? 1 : 0;
    const Residual r = joint_residual(model_, j, bodies);
    for (int i = 0; i < static_cast<int>(r.size()); ++i)
      if ((dropped_[size(j)] >> i & 1) == 0) raise(j, j, std::abs(r[i]) * (i < angles ? 1 : per_length));
  }
  if (!model_.couplings().empty()) {
    joint_coordinates(model_, bodies, q_, rates_);
    unwind(model_, wound, q_);
  }
  for (int c = 0; c < static_cast<int>(model_.couplings().size()); ++c) {
    const Coupling& coupling = model_.couplings()[size(c)];
    const Joint& driven = model_.joints()[size(coupling.joint)];
    const double unit = driven.turns(coupling.freedom) ? 1 : 1 / scales_.length_at(driven.child);
    if (!dropped_couplings_[size(c)]) raise(coupling.joint, -1, unit * std::abs(coupling_residual(model_, c, q_)));
  }
  // What stands does so where it stood.
  for (const Branch& branch : active_) {
    if (!branch.stands) continue;
    loops_.tree().measure(bodies, wound, seen_.q, seen_.v);
    loops_.difference(branch.group, branch.q0, seen_.q, u_);
    const Loops::Group& group = loops_.groups()[branch.group];
    Closing& part = closing_[size(scales_.part_of_body[size(group.bodies.front())])];
    if (const double gap = u_.lpNorm<Eigen::Infinity>(); !(gap <= part.gap)) part.gap = gap, part.joint = group.joint();
  }
  // Dropped rows would have a part that passes corrected again and again; the others end as they do by themselves.
  for (const Branch& branch : active_) {
    Closing& part = closing_[size(scales_.part_of_body[size(loops_.groups()[branch.group].bodies.front())])];
    part.closed = part.closed || part.gap <= kClosed;
  }
  Verdict open;
  for (Closing& part : closing_) {
    if (!std::isfinite(part.gap)) return {Status::NotFinite, -1, part.joint, part.gap};
    part.closed = part.closed || part.gap == 0 || (part.gap <= tolerance && part.gap > 0.5 * part.last);
    if (!part.closed && !(part.gap <= open.value)) open = {Status::NotConverged, -1, part.joint, part.gap};
  }
  return open;
}

bool Passage::closed(int body) const { return closing_[size(scales_.part_of_body[size(body)])].closed; }

void Passage::restore_closed(Bodies& bodies) const {
  for (int b = 0; b < static_cast<int>(bodies.size()); ++b)
    if (closed(b)) bodies[size(b)] = kept_[size(b)];
}

Verdict Passage::solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                       std::vector<Wrench>& reactions) {
  const auto done = [&](int b) { return level_ == Level::Position && closed(b); };
  const auto asked = [&](const Piece& piece) {
    return std::any_of(piece.bodies.begin(), piece.bodies.end(),
                       [&](int b) { return !done(b) && (!input.wanted || (*input.wanted)[size(b)]); });
  };
  for (int k = 0; k < static_cast<int>(pieces_.size()); ++k) {
    if (!asked(pieces_[size(k)])) continue;
    const Verdict verdict = passes(k) ? parts_[size(k)]->solve(bodies, input, level_, accelerations, reactions)
                                      : others_.piece(k).solve(bodies, input, accelerations, reactions);
    if (!verdict.ok()) return verdict;
  }
  for (int b = 0; b < static_cast<int>(bodies.size()); ++b)
    if (done(b)) accelerations[size(b)] = {};
  return {};
}

double Passage::unbalanced() const {
  double most = 0;
  for (int k = 0; k < static_cast<int>(pieces_.size()); ++k)
    if (passes(k)) most = std::max(most, parts_[size(k)]->unbalanced());
  return most;
}

double Passage::coupling_effort(int coupling) const {
  for (int k = 0; k < static_cast<int>(pieces_.size()); ++k) {
    const std::vector<int>& own = pieces_[size(k)].couplings;
    if (passes(k) && std::binary_search(own.begin(), own.end(), coupling)) return parts_[size(k)]->coupling_effort(coupling);
  }
  return others_.coupling_effort(coupling);
}

}  // namespace invar
