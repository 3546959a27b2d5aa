// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/minimal/minimal.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/turns.hpp"
#include "invar/model/edit.hpp"

namespace invar {
namespace {

// Other freedoms are chosen when a dependent one moves this much faster than an independent one that drives it, and faster by
// this than when they were chosen.
constexpr double kFast = 3, kFaster = 1.5;
// Freedoms that the file names begin where nothing moves ten times as fast as they do, stay a little longer than others would,
// and come back where others end and they serve.
constexpr double kNamedFirst = 10, kNamed = 4;
// Of so many steps that are left to its end, n, each is off by (1/n)⁵ of what moves (rk4): towards it the motion is a function of
// the root of the distance.
constexpr double kStepsLeft = 60;
// Of the speeds: what integrated rates may differ by from those that the loops ask for. Steps that resolve a motion leave (w h)⁵.
constexpr double kSameMotion = 0.2;
constexpr double kAtRest = 1e-6;  // rad/s, or lengths of the loops per second
// Where pivots of Φ_d differ by more than this the chosen freedoms describe the motion badly: what depends then moves a hundred
// times as fast as what drives it, and steps that were short enough no longer are. That is announced.
constexpr double kBadly = 1e-2;
// And below this where it falls so fast that the step after the next would find none left: pivots fall like the distance.
constexpr double kSoonBadly = 0.1;

}  // namespace

Minimal::Minimal(const Model& model, const MinimalOptions& options)
    : Formulation(model),
      tree_(model),
      unreduced_(model, AugmentedOptions{.project = false, .verdicts = options.verdicts}),
      bodies_(model.bodies().size()),
      accelerations_(model.bodies().size()),
      reactions_(model.joints().size()),
      q_(VecX::Zero(model.nq())),
      v_(VecX::Zero(model.nv())) {}

void Minimal::set(const Bodies& bodies, State& x, const VecX& turns) {
  State unreduced;
  unreduced_.set(bodies, unreduced, turns);  // prepares its solver there
  x.wound = unreduced.wound;
  x.wound_rate = unreduced.wound_rate;
  x.aux = VecX::Zero(kAuxiliaries);
  tree_.measure(bodies, x.wound, x.q, x.v);
  charts_ = 0;
  // One decision of rank, that of the unreduced equations. A failure shows again in the first step.
  choose(x, tree_.nv() - unreduced_.mobility().freedoms, kNamedFirst);
  whole_q_ = x.q;
  whole_v_ = x.v;
  look_around();
}

// As named, where those serve.
void Minimal::choose(const State& x, int dependent, double fastest) {
  tree_.choose(x.q, x.wound, dependent);
  gain_ = tree_.gain();
  if (tree_.any_wanted() && !(gain_ < fastest)) {
    tree_.choose(x.q, x.wound, dependent, false);
    gain_ = tree_.gain();
  }
  last_gain_ = gain_;
  condition_ = tree_.condition();
}

void Minimal::choose_anew(const State& x, int dependent, double fastest) {
  const std::vector<int> before = tree_.independent();
  ++charts_;
  choose(x, dependent, std::min(kFast, fastest));
  if (tree_.independent() == before) --charts_;
}

// Towards its end a coordinate goes like the square of the distance from there: 1/gain falls in proportion to time. Named ones
// are given up before the step after the next would find them at their end.
bool Minimal::used_up(double gain) const {
  const bool named = tree_.as_wanted();
  if (gain > std::max(named ? kNamed : kFast, kFaster * gain_)) return true;
  if (gain > kFaster * gain_ && 1 / gain < kStepsLeft * (1 / last_gain_ - 1 / gain)) return true;
  return named && gain > std::max(kFast, kFaster * gain_) && 1 / gain - 2 * (1 / last_gain_ - 1 / gain) < 1 / kNamed;
}

// Beyond the end of a coordinate there is no motion: a step that came to it unseen goes back the way it came, what depends, too.
// Rates of all freedoms are integrated, and they do not turn back.
bool Minimal::turned_back(const State& x, double gain) const {
  if (!(std::max(gain, last_gain_) > kFast)) return false;
  return tree_.disagreement(x.v, whole_v_, kAtRest) > kSameMotion;
}

std::string Minimal::chosen_coordinates() const {
  std::string out;
  for (const int i : tree_.independent()) out += (out.empty() ? "" : ", ") + tree_.freedom_name(i);
  return out;
}

// The graph knows rank and mobility; how well the chosen freedoms describe the motion is told by Φ_d.
void Minimal::look_around() {
  mobility_ = unreduced_.mobility();
  mobility_.charts = charts_;
  mobility_.near_singular = false;
  const double condition = tree_.condition(), lost = condition_ - condition;
  condition_ = condition;
  if (unreduced_.approaches()) return;  // a singular configuration of the mechanism, which is passed
  if (condition < kBadly || (condition < kSoonBadly && condition <= 2 * lost)) {
    mobility_.near_singular = true;
    mobility_.sigma = condition;
    mobility_.joint = tree_.weakest_joint();
  }
}

// In a band around a singular configuration all coordinates of the tree are integrated, and settled with the rows of the band.
Verdict Minimal::complete(const State& x) const {
  whole_q_ = x.q;
  whole_v_ = x.v;
  if (unreduced_.passes()) {
    tree_.place(whole_q_, whole_v_, bodies_);
    return {};
  }
  const Verdict verdict = tree_.complete(whole_q_, whole_v_, x.wound, bodies_);
  if (!verdict.ok()) return verdict;
  const int joint = tree_.turned_over();
  return joint < 0 ? verdict : Verdict{Status::Singular, -1, joint, tree_.condition()};
}

// Where closures cannot be met, the tree as it stands: whoever solves there says why.
void Minimal::bodies(const State& x, Bodies& out) const {
  if (!complete(x).ok()) tree_.place(x.q, x.v, bodies_);
  out = bodies_;
}

Verdict Minimal::rate(const State& x, const Load& load, Rate& rate) {
  if (const Verdict verdict = complete(x); !verdict.ok()) return verdict;
  const Verdict verdict = unreduced_.solve(bodies_, load, x.wound, accelerations_, reactions_, false);
  rate.v = whole_v_;
  rate.a.resize(tree_.nv());
  tree_.rates(bodies_, accelerations_, rate.a);
  rate.aux.setZero(kAuxiliaries);
  if (!load.efforts.isZero(0)) {
    joint_coordinates(model(), bodies_, q_, v_);
    rate.aux[kWork] = load.efforts.dot(v_);
  }
  rate.aux[kDissipated] = unreduced_.dissipation();
  return verdict;
}

Verdict Minimal::evaluate(const State& x, const Load& load, Evaluation& out) {
  bodies(x, out.bodies);
  for (const VecX* numbers : {&x.q, &x.v})
    for (const double number : *numbers)
      if (!std::isfinite(number)) return {Status::NotFinite, -1, -1, number};
  if (const Verdict verdict = complete(x); !verdict.ok()) return verdict;
  out.bodies = bodies_;
  return unreduced_.evaluate_bodies(x.wound, load, out);
}

void Minimal::retract(const State& from, const VecX& u, State& to) const { tree_.retract(from.q, u, to.q); }

void Minimal::pull(const VecX& u, const VecX& v, VecX& u_dot) const { tree_.pull(u, v, u_dot); }

double Minimal::prepare_step(const State& x, double h, bool whole) {
  const bool passed = unreduced_.passes();
  tree_.place(x.q, x.v, bodies_);
  const double longest = unreduced_.prepare_step(bodies_, x.wound, h, whole);
  // Beyond it other freedoms may serve, and Φ_d has another orientation; more freedoms depend than where a motion began in it.
  if (passed && !unreduced_.passes()) choose_anew(x, tree_.nv() - unreduced_.mobility().freedoms, kFast);
  return longest;
}

Verdict Minimal::settle_in_band(State& x) {
  tree_.place(x.q, x.v, bodies_);
  if (const Verdict verdict = unreduced_.project(bodies_, x.wound); !verdict.ok()) return verdict;
  tree_.measure(bodies_, x.wound, x.q, x.v);
  return count_turns(model(), bodies_, q_, v_, x);
}

Verdict Minimal::settle(State& x) {
  if (unreduced_.passes()) return settle_in_band(x);
  if (const Verdict verdict = complete(x); !verdict.ok()) return verdict;
  const double gain = tree_.gain();
  if (turned_back(x, gain)) return {Status::Singular, -1, tree_.weakest_joint(), tree_.condition()};
  x.q = whole_q_;
  x.v = whole_v_;
  if (const Verdict verdict = tree_.anchor(x.q, x.wound); !verdict.ok()) return verdict;
  const bool ends = used_up(gain);
  last_gain_ = gain;
  if (ends) choose_anew(x, static_cast<int>(tree_.dependent().size()), gain / kFaster);
  look_around();
  return count_turns(model(), bodies_, q_, v_, x);
}

bool Minimal::adopt(const Change& change) {
  if (change.structure || !tree_.refresh() || !unreduced_.adopt(change)) return false;
  charts_ = 0;
  renew();
  return true;
}

}  // namespace invar
