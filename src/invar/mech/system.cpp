// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/system.hpp"

#include <algorithm>

namespace invar {

const Load& System::load(double t, const Bodies& bodies, double span) {
  load_.clear();
  for (const Environment* e : environments_) e->add(instant(t, span), bodies, load_);
  for (const Wrench& F : load_.port) loaded_ = loaded_ || !F.force.isZero(0) || !F.moment.isZero(0);
  return load_;
}

// Where nothing acts nobody asks where bodies are.
void System::gather(double t, const State& x) {
  if (acts())
    formulation_.bodies(x, bodies_), load(t, bodies_);
  else
    load_.clear();
}

Verdict System::rate(double t, const State& x, Rate& rate) {
  gather(t, x);
  const Verdict verdict = formulation_.rate(x, load_, rate);  // sets the power of efforts and of dissipation
  for (std::size_t b = 0; acts() && b < bodies_.size(); ++b)
    rate.aux[kWork] += power(load_.port[b], Twist{bodies_[b].w_WB, bodies_[b].v_WC});
  return verdict;
}

Verdict System::evaluate(double t, const State& x, Evaluation& out) {
  gather(t, x);
  return formulation_.evaluate(x, load_, out);
}

double System::next_event(double t) const {
  double next = std::numeric_limits<double>::infinity();
  for (const Environment* e : environments_) next = std::min(next, e->next_event(t));
  return next;
}

}  // namespace invar
