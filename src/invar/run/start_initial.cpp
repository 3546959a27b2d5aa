// SPDX-License-Identifier: Apache-2.0
//
// [initial], closed. Connected parts are closed one by one, and in a part each group of loops is judged by what is named of it:
// loops that are as named stay as they are while others are tried elsewhere, and joints outside of loops stay where they are
// told.
#include <algorithm>
#include <cmath>

#include "invar/base/random.hpp"
#include "invar/mech/scales.hpp"
#include "invar/run/start_names.hpp"

namespace invar {
namespace {

constexpr int kTries = 24;
constexpr double kPutBack = 1e-12;  // rad or m: what rounding leaves of a joint that no loop has moved

/// One connected part, or what has no loops at all.
class InitialPart {
 public:
  InitialPart(const Model& model, double tolerance)
      : model_(model), tolerance_(tolerance), names_(named_by_initial(model)), leaders_(named_freedoms(model, names_)) {}

  Result<Bodies> closed();

 private:
  // Loops as they stand, coordinates of the tree; per group how far from names it is, and whether some of them lead it.
  struct Closed {
    VecX q;
    std::vector<double> off;
    std::vector<bool> led;
  };
  Result<Bodies> closed_from(const JointState& joints);
  Bodies outside_as_told(const Bodies& told, Bodies bodies);
  void find_names();
  double off(std::size_t group, const Bodies& bodies) const;
  Bodies bodies_of(const VecX& q) const;
  Closed led(const Bodies& near) const;
  bool throw_loops(int k, const std::optional<Closed>& best, JointState& joints);
  bool lead_by_one_more(std::size_t group, std::vector<int>& leaders, VecX& q) const;

  const Model& model_;
  double tolerance_;
  Start names_;
  std::vector<int> leaders_;
  std::optional<JointTree> tree_;
  std::optional<Loops> loops_;
  std::vector<Start> names_of_group_;
  std::vector<std::vector<bool>> joints_of_group_;
  Random random_ = Random(1);
};

// Joints that no loop and no coupling sees are where they are told: closing loops needs none of them.
Bodies InitialPart::outside_as_told(const Bodies& told, Bodies bodies) {
  std::vector<bool> seen(static_cast<std::size_t>(tree_->nv()), false);
  for (const int j : tree_->closures())
    for (const LoopFreedom& f : tree_->loop_of_joint(j)) seen[static_cast<std::size_t>(f.freedom)] = true;
  for (const Coupling& c : model_.couplings())
    for (const int j : {c.joint, c.of})
      for (int k = 0; k < model_.joints()[static_cast<std::size_t>(j)].nv; ++k)
        if (const int f = tree_->freedom_of_joint(j, k); f >= 0) seen[static_cast<std::size_t>(f)] = true;
  const VecX wound = wound_of(model_, names_, bodies);
  VecX q, v, q_told;
  tree_->measure(told, wound, q_told, v);
  tree_->measure(bodies, wound, q, v);
  bool moved = false;
  for (const JointNode& n : tree_->nodes()) {
    const auto first = seen.begin() + n.v0;
    if (n.nv == 0 || std::find(first, first + n.nv, true) != first + n.nv) continue;
    if ((q.segment(n.q0, n.nq) - q_told.segment(n.q0, n.nq)).lpNorm<Eigen::Infinity>() <= kPutBack) continue;
    q.segment(n.q0, n.nq) = q_told.segment(n.q0, n.nq);
    moved = true;
  }
  if (moved) tree_->place(q, VecX::Zero(tree_->nv()), bodies);
  return bodies;
}

Result<Bodies> InitialPart::closed_from(const JointState& joints) {
  const Bodies told = place(model_, joints);
  auto bodies = make_consistent(model_, told, tolerance_, wound_of(model_, names_, told));
  return bodies && tree_->rows() > 0 ? outside_as_told(told, std::move(*bodies)) : bodies;
}

void InitialPart::find_names() {
  for (const Loops::Group& g : loops_->groups()) {
    std::vector<bool> of_group(model_.joints().size(), false);
    const auto add = [&](int j) {
      if (j >= 0) of_group[static_cast<std::size_t>(j)] = true;
    };
    for (const int f : g.freedoms) add(loops_->tree().joint_of(f));
    for (const Loops::Row& row : g.rows) {
      add(row.joint);
      if (row.coupling < 0) continue;
      add(model_.couplings()[static_cast<std::size_t>(row.coupling)].joint);
      add(model_.couplings()[static_cast<std::size_t>(row.coupling)].of);
    }
    Start names = names_;
    for (std::size_t j = 0; j < of_group.size(); ++j) names.named[j] = names.named[j] && of_group[j];
    names_of_group_.push_back(std::move(names));
    joints_of_group_.push_back(std::move(of_group));
  }
}

double InitialPart::off(std::size_t group, const Bodies& bodies) const {
  return off_names(model_, names_of_group_[group], bodies, wound_of(model_, names_, bodies));
}

Bodies InitialPart::bodies_of(const VecX& q) const {
  Bodies out(model_.bodies().size());
  loops_->tree().place(q, VecX::Zero(loops_->tree().nv()), out);
  return out;
}

// Joints that are named lead their loops to where they are named, as far as loops let them: those that lead are as named, others
// follow where names contradict each other.
InitialPart::Closed InitialPart::led(const Bodies& near) const {
  const std::size_t groups = names_of_group_.size();
  Closed out{{}, {}, std::vector<bool>(groups, false)};
  VecX rest;
  loops_->tree().measure(near, wound_of(model_, names_, near), out.q, rest);
  for (std::size_t g = 0; g < groups; ++g) out.off.push_back(off(g, near));
  if (leaders_.empty() || *std::max_element(out.off.begin(), out.off.end()) <= AsNamed::kBound) return out;
  Travel travel(model_, leaders_, near, wound_of(model_, names_, near), named_attitudes(model_, names_));
  travel.go(names_.joints.q, named_rates(model_, names_));
  for (std::size_t g = 0; g < groups; ++g) {
    const double there = off(g, travel.bodies());
    if (!(there < out.off[g])) continue;
    rest = VecX::Zero(loops_->tree().nv());
    take_group(*loops_, g, travel.q(), rest, out.q, rest);
    out.off[g] = there, out.led[g] = true;
  }
  return out;
}

// Joints of loops that do not close, or not as named, and that nobody names are put elsewhere, further away each time; always the
// same places. False where there is none.
bool InitialPart::throw_loops(int k, const std::optional<Closed>& best, JointState& joints) {
  const AsNamed measure(model_);
  const double far = 0.1 * std::exp2(0.25 * k);  // rad, or lengths: up to a turn
  bool moved = false;
  for (std::size_t j = 0; j < model_.joints().size(); ++j) {
    const Joint& joint = model_.joints()[j];
    bool open = false;
    for (std::size_t g = 0; g < joints_of_group_.size(); ++g)
      open = open || (joints_of_group_[g][j] && !(best && best->off[g] <= kRounded));
    if (!open || joint.nq != joint.nv || model_.initial_named()[j]) continue;
    for (int i = 0; i < joint.nv; ++i, moved = true) joints.q[joint.q0 + i] += far * measure.unit(j, i) * random_.uniform(-1, 1);
  }
  return moved;
}

// Where names contradict each other: of the names of a group, one more leads beside those that are as named already, the one with
// which all of them are nearest to what is named. False where loops let none.
bool InitialPart::lead_by_one_more(std::size_t group, std::vector<int>& leaders, VecX& q) const {
  const Bodies from = bodies_of(q);
  const VecX wound = wound_of(model_, names_, from);
  double least = std::numeric_limits<double>::infinity();
  const std::vector<int> before = leaders;
  for (const int f : named_freedoms(model_, names_of_group_[group])) {
    if (std::find(before.begin(), before.end(), f) != before.end()) continue;
    std::vector<int> with = before;
    with.push_back(f);
    Travel travel(model_, with, from, wound);
    if (!travel.go(names_.joints.q, named_rates(model_, names_))) continue;
    Start those = names_of_group_[group];
    those.follows.assign(static_cast<std::size_t>(model_.nv()), true);
    for (const int i : with) those.follows[static_cast<std::size_t>(i)] = false;
    const Bodies& there = travel.bodies();
    const double all = off(group, there);
    if (off_names(model_, those, there, wound_of(model_, names_, there)) > AsNamed::kBound || !(all < least)) continue;
    VecX rest;
    least = all, leaders = with;
    loops_->tree().measure(there, wound_of(model_, names_, there), q, rest);
  }
  return leaders != before;
}

Result<Bodies> InitialPart::closed() {
  tree_.emplace(model_);
  const JointState initial = JointState::initial(model_);
  auto first = closed_from(initial);
  if ((!first && first.error().kind != ErrorKind::State) || tree_->rows() == 0) return first;
  if (first && off_names(model_, names_, *first, wound_of(model_, names_, *first)) <= AsNamed::kBound) return first;

  loops_.emplace(model_, leaders_);
  loops_->measure_lengths(first ? *first : place(model_, initial));
  find_names();
  std::optional<Closed> best;
  if (first) best = led(*first);
  const auto as_named = [](double off) { return off <= kRounded; };
  for (int k = 0; k < kTries && !(best && std::all_of(best->off.begin(), best->off.end(), as_named)); ++k) {
    JointState joints = initial;
    if (!throw_loops(k, best, joints)) break;
    const auto other = closed_from(joints);
    if (!other) continue;
    Closed there = led(*other);
    if (!best) best = there;
    for (std::size_t g = 0; g < names_of_group_.size(); ++g) {
      if (!(there.off[g] < best->off[g] - kRounded)) continue;  // what is no nearer has no reason to be elsewhere
      VecX rest = VecX::Zero(loops_->tree().nv());
      take_group(*loops_, g, there.q, rest, best->q, rest);
      best->off[g] = there.off[g], best->led[g] = there.led[g];
    }
  }
  if (!best) return first;
  for (std::size_t g = 0; g < names_of_group_.size(); ++g) {
    if (best->off[g] <= (best->led[g] ? kRounded : AsNamed::kBound)) continue;
    std::vector<int> leaders;
    while (lead_by_one_more(g, leaders, best->q)) {
    }
  }
  return bodies_of(best->q);
}

}  // namespace

Start named_by_initial(const Model& model) {
  Start out(model);
  out.named = model.initial_named();
  return without_rates(std::move(out));
}

Result<Bodies> assembled_initial(const Model& model, double tolerance) {
  const Scales scales = scales_of(model);
  const std::vector<Piece> pieces = pieces_by_loops(model, scales);
  if (pieces.size() == 1) return InitialPart(model, tolerance).closed();
  Bodies out(model.bodies().size());
  for (const Piece& piece : pieces) {
    const Model part = model.part(piece.bodies, piece.joints, piece.couplings);
    const auto bodies = InitialPart(part, tolerance).closed();
    if (!bodies) return bodies;
    for (std::size_t b = 0; b < piece.bodies.size(); ++b) out[static_cast<std::size_t>(piece.bodies[b])] = (*bodies)[b];
  }
  return out;
}

}  // namespace invar
