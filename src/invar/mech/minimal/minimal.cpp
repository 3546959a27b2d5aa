// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/minimal/minimal.hpp"

#include <cmath>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/turns.hpp"

namespace invar {
namespace {

// Other freedoms are chosen when a dependent one moves this much faster than an independent one that drives it.
constexpr double kFast = 3;

}  // namespace

Minimal::Minimal(const Model& model)
    : Formulation(model),
      tree_(model),
      unreduced_(model, AugmentedOptions{.project = false}),
      bodies_(model.bodies().size()),
      accelerations_(model.bodies().size()),
      reactions_(model.joints().size()),
      q_(VecX::Zero(model.nq())),
      v_(VecX::Zero(model.nv())),
      vdot_(VecX::Zero(model.nv())) {}

void Minimal::set(const Bodies& bodies, State& x, const VecX& turns) {
  State unreduced;
  unreduced_.set(bodies, unreduced, turns);  // prepares its solver there
  x.wound = unreduced.wound;
  x.wound_rate = unreduced.wound_rate;
  x.aux = VecX::Zero(kAuxiliaries);
  tree_.measure(bodies, x.wound, x.q, x.v);
  tree_.choose(x.q);  // a failure shows again in the first step
  whole_q_ = x.q;
  whole_v_ = x.v;
}

Verdict Minimal::complete(const State& x) const {
  whole_q_ = x.q;
  whole_v_ = x.v;
  return tree_.complete(whole_q_, whole_v_, x.wound, bodies_);
}

// Where closures cannot be met, the tree as it stands: whoever solves there says why.
void Minimal::bodies(const State& x, Bodies& out) const {
  if (!complete(x).ok()) tree_.place(x.q, x.v, bodies_);
  out = bodies_;
}

Verdict Minimal::rate(const State& x, const Load& load, Rate& rate) {
  if (const Verdict verdict = complete(x); !verdict.ok()) return verdict;
  const Verdict verdict = unreduced_.solve(bodies_, load, x.wound, accelerations_, reactions_);
  joint_accelerations(model(), bodies_, accelerations_, vdot_);
  rate.v = whole_v_;
  tree_.take(vdot_, accelerations_, rate.a);
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

Verdict Minimal::settle(State& x) {
  if (const Verdict verdict = complete(x); !verdict.ok()) return verdict;
  x.q = whole_q_;
  x.v = whole_v_;
  if (tree_.gain() > kFast && !tree_.as_wanted()) {
    if (const Verdict verdict = tree_.choose(x.q); !verdict.ok()) return verdict;
    ++changes_;
  }
  return count_turns(model(), bodies_, q_, v_, x);
}

}  // namespace invar
