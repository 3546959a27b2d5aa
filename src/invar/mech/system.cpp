// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/system.hpp"

#include <algorithm>

#include "invar/mech/switches.hpp"

namespace invar {

System::System(Formulation& formulation)
    : formulation_(formulation),
      switches_(std::make_unique<Switches>(formulation.model())),
      bodies_(formulation.model().bodies().size()),
      load_(formulation.model()),
      held_(load_.port) {}

System::~System() = default;

// Only what comes from outside counts as a load.
void System::add_environments(Instant at, const Bodies& bodies) {
  if (environments_.empty()) return;
  held_ = load_.port;
  for (const Environment* e : environments_) e->add(at, bodies, load_);
  for (std::size_t b = 0; b < held_.size(); ++b)
    loaded_ = loaded_ || load_.port[b].force != held_[b].force || load_.port[b].moment != held_[b].moment;
}

const Load& System::load(double t, const Bodies& bodies, double span) {
  load_.clear();
  add_environments(instant(t, span), bodies);
  return load_;
}

// Where nothing acts nobody asks where bodies are.
Verdict System::rate(double t, const State& x, Rate& rate) {
  const bool holds = switches_->held(), asked = acts() || holds;
  if (asked) formulation_.bodies(x, bodies_);
  load_.clear();
  Switches::Power held;
  if (holds) held = switches_->add(bodies_, x.wound, load_);
  add_environments(instant(t), bodies_);
  const Verdict verdict = formulation_.rate(x, load_, rate);  // sets the power of efforts and of dissipation
  for (std::size_t b = 0; asked && b < bodies_.size(); ++b)
    rate.aux[kWork] += power(load_.port[b], Twist{bodies_[b].w_WB, bodies_[b].v_WC});
  rate.aux[kWork] -= held.added;
  rate.aux[kDissipated] += held.lost;
  return verdict;
}

Verdict System::evaluate(double t, const State& x, Evaluation& out) {
  formulation_.bodies(x, bodies_);
  load(t, bodies_);
  return formulation_.evaluate(x, load_, out);
}

double System::next_event(double t) const {
  double next = std::numeric_limits<double>::infinity();
  for (const Environment* e : environments_) next = std::min(next, e->next_event(t));
  return next;
}

}  // namespace invar
