// SPDX-License-Identifier: Apache-2.0
#include "invar/run/watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/unbounded.hpp"

namespace invar {
namespace {

constexpr double kAside = 0.1;    // of a step: over which the slope of velocities is taken
constexpr double kMissed = 1e-3;  // of the work
constexpr double kSlopes = 10;    // times the error of slopes

std::string_view name_of(const Model& model, int joint) {
  return joint < 0 ? std::string_view() : model.joints()[static_cast<std::size_t>(joint)].name;
}

std::string at_joint(const Model& model, int joint) {
  return joint < 0 ? "" : fmt::format(" at joint '{}'", model.joints()[static_cast<std::size_t>(joint)].name);
}

}  // namespace

void Watch::enter(const Leg& leg, double t, const State& x) {
  changes_before_ += mobility_.changes;
  mobility_ = leg.formulation->mobility();
  t_ = t;
  singularities_.emplace(*leg.model);
  singularities_->begin(leg.observer.bodies(), x.wound);
  between_ = x;
  slack_.assign(leg.model->tendons().size(), false);
  at_stop_.assign(static_cast<std::size_t>(leg.model->nv()), false);
  q_.setZero(leg.model->nq());
  v_.setZero(leg.model->nv());
  look_at_tendons(leg, t);
}

Verdict Watch::step(Leg& leg, double t, const State& x) {
  look_at_coordinates(leg, t);
  look_at_rank(leg, t, x);
  look_at_tendons(leg, t);
  return look_at_stops(leg, t, x);
}

// A loop that crosses a singular configuration has other freedoms there: counted there, and said. Steppers do not solve the
// unreduced equations, so nobody knows the sine of their weakest row.
void Watch::look_at_rank(Leg& leg, double t, const State& x) {
  const Mobility& now = leg.formulation->mobility();
  const auto between = [&](double theta, Bodies& out) {
    leg.integrator->interpolate(leg.system, theta, between_);
    leg.formulation->bodies(between_, out);
  };
  const double sine = leg.integrator->family() == Family::Stepper ? 0 : now.sine;
  for (const Singularities::Crossing& c : singularities_->step(leg.observer.bodies(), x.wound, sine, between)) {
    ++passages_;
    notes_.happened(t_ + c.theta * (t - t_), NoteKind::Singular, name_of(*leg.model, c.joint), c.rank, [&] {
      return fmt::format("passed a singular configuration{}, where rank is {} and mobility {}", at_joint(*leg.model, c.joint),
                         c.rank, c.freedoms);
    });
    look_at_reactions(leg, t, x, c, between);
  }
  // Loops that are too large to be watched: what the solver counted.
  if (!singularities_->watches() && now.changes != mobility_.changes)
    notes_.happened(t, NoteKind::Rank, name_of(*leg.model, now.joint), 10000 * mobility_.rank + now.rank, [&] {
      return fmt::format("rank {} to {}, mobility {} to {}{}", mobility_.rank, now.rank, mobility_.freedoms, now.freedoms,
                         at_joint(*leg.model, now.joint));
    });
  look_at_coordinates_end(leg, t);
  mobility_ = now;
  t_ = t;
}

// Reactions that would have to do work on a motion that joints allow there only do not exist; on the way there they grow like the
// reciprocal of the distance. The motion itself is smooth: its accelerations are the slopes of its velocities.
void Watch::look_at_reactions(Leg& leg, double t, const State& x, const Singularities::Crossing& crossing,
                              const Singularities::Between& between) {
  const double middle = std::clamp(crossing.theta, kAside, 1 - kAside), h = t - t_;
  Bodies before, after, there;
  between(middle - kAside, before);
  between(middle + kAside, after);
  between(crossing.theta, there);
  Accelerations accelerations(there.size());
  for (std::size_t b = 0; b < there.size(); ++b) {
    accelerations[b].a_WC = (after[b].v_WC - before[b].v_WC) / (2 * kAside * h);
    accelerations[b].alpha_WB = (after[b].w_WB - before[b].w_WB) / (2 * kAside * h);
  }
  const Load& load = leg.system.load(t_ + crossing.theta * h, there);
  const auto missed = [&](const Bodies& motion) {
    return work_that_is_missed(*leg.model, there, x.wound, accelerations, load, motion);
  };
  double most = 0;
  for (const Bodies& motion : crossing.motions) most = std::max(most, missed(motion));
  // Joints do no work on the motion itself: what slopes make of it is their error.
  if (!(most > kMissed + kSlopes * missed(there))) return;
  notes_.happened(t_ + crossing.theta * h, NoteKind::Reactions, name_of(*leg.model, crossing.joint), crossing.rank, [&] {
    return fmt::format("reactions grow without bound, like 1/sigma, towards the singular configuration{}",
                       at_joint(*leg.model, crossing.joint));
  });
}

// Independent coordinates that soon no longer describe the motion.
void Watch::look_at_coordinates_end(const Leg& leg, double t) {
  const Mobility& now = leg.formulation->mobility();
  if (!now.near_singular || mobility_.near_singular || leg.formulation->chosen_coordinates().empty()) return;
  notes_.happened(t, NoteKind::NearSingular, name_of(*leg.model, now.joint), now.rank, [&] {
    return fmt::format("close to a singular configuration{} (sigma {:.1e}): rank {} and mobility {} still hold",
                       at_joint(*leg.model, now.joint), now.sigma, now.rank, now.freedoms);
  });
}

// Other independent coordinates describe the same motion; said, because columns of a partition mean something else from then on.
void Watch::look_at_coordinates(const Leg& leg, double t) {
  if (leg.formulation->mobility().charts == mobility_.charts) return;
  const std::string chosen = leg.formulation->chosen_coordinates();
  notes_.happened(t, NoteKind::Coordinates, chosen, 0, [&] { return "independent coordinates are now " + chosen; });
}

// Tendons are meant to pull: when one begins to hang loose is said; each time counts.
void Watch::look_at_tendons(const Leg& leg, double t) {
  for (std::size_t k = 0; k < slack_.size(); ++k) {
    const Tendon& tendon = leg.model->tendons()[k];
    if (!tendon.is_cable()) continue;
    const bool slack = pull_of(*leg.model, tendon, leg.observer.bodies()).stretch <= 0;
    if (slack && !slack_[k])
      notes_.happened(t, NoteKind::Slack, tendon.name, 0, [&] { return fmt::format("tendon '{}' is slack", tendon.name); });
    slack_[k] = slack;
  }
}

// A stop that is reached is said; each time counts.
Verdict Watch::look_at_stops(const Leg& leg, double t, const State& x) {
  Verdict verdict;
  for (int j = 0; j < static_cast<int>(leg.model->joints().size()); ++j) {
    const Joint& joint = leg.model->joints()[static_cast<std::size_t>(j)];
    if (std::none_of(joint.passive.begin(), joint.passive.end(), [](const Passive& p) { return p.has_stops(); })) continue;
    coordinates_of_joint(*leg.model, j, leg.observer.bodies(), q_, v_);
    for (int k = 0; k < joint.nv; ++k) {
      const Passive& p = joint.passive[static_cast<std::size_t>(k)];
      const auto i = static_cast<std::size_t>(joint.v0 + k);
      double q = q_[joint.q0 + k];
      if (winds(joint.kind, k)) q = nearest_turn(q, x.wound[joint.v0 + k]);
      const bool at = q < p.lower || q > p.upper, reached = at && !at_stop_[i];
      at_stop_[i] = at;
      if (!reached) continue;
      const bool upper = q > p.upper;
      notes_.happened(t, NoteKind::Stop, joint.name, 2 * k + (upper ? 1 : 0),
                      [&] { return fmt::format("joint '{}' reached its {} stop", joint.name, upper ? "upper" : "lower"); });
      if (verdict.ok()) verdict = {Status::JointStop, -1, j, q};
    }
  }
  return verdict;
}

}  // namespace invar
