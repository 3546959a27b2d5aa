// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/learned_in_loop.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace invar {

void LearnedInLoop::look_around(Instant at) const {
  const Vec3 flow = flow_ ? flow_->measured(at).value_or(Vec3::Zero()) : Vec3(Vec3::Zero());
  load_.set_around({flow, obstacles_, {}, nullptr});
}

void LearnedInLoop::add(const LoadMotion& motion, Port& port) const {
  look_around(motion.at);
  load_.add_at_reference(motion.bodies, motion.velocities, port);
}

void LearnedInLoop::add_generic(const LoadMotion& motion, Port& port) const {
  look_around(motion.at);
  load_.add_generic_at_reference(motion.bodies, motion.velocities, port);
}

double LearnedInLoop::leverage(const LoadMotion& motion) const {
  look_around(motion.at);
  return load_.leverage(motion.bodies, motion.velocities);
}

void LearnedInLoop::remember(Recall& memory) {
  bool generic = has_generic();
  memory(generic);
  if (!generic) drop_generic();
}

std::string objection_in_loop(const Learned& learned) {
  for (const TermSpec& term : learned.terms)
    if (term.kind == TermKind::ActuatorGain || term.kind == TermKind::ActuatorMisalignment)
      return fmt::format(
          "its term '{}' speaks of inputs, which a law does not know before it has commanded them; learn without it, and give "
          "what it found as the actuator's gain or direction",
          name(term.kind));
  return {};
}

bool sees_flow(const std::vector<TermSpec>& terms) {
  return std::any_of(terms.begin(), terms.end(),
                     [](const TermSpec& t) { return t.kind == TermKind::Drag || is_generic(t.kind); });
}

}  // namespace invar
