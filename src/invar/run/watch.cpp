// SPDX-License-Identifier: Apache-2.0
#include "invar/run/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/loops_limits.hpp"
#include "invar/mech/unbounded.hpp"

namespace invar {
namespace {

constexpr double kMissed = 1e-5;  // of the work: accelerations along a branch are known to 1e-8

constexpr double kUnbalanced = 1e-6;  // of the forces
constexpr double kOnIt = 1e-5;        // of a step: crossings are located to 1e-8

std::string_view name_of(const Model& model, int joint) {
  return joint < 0 ? std::string_view() : model.joints()[static_cast<std::size_t>(joint)].name;
}

// The least and the largest value of the cubic through both ends of a step; rates times its length.
std::pair<double, double> range(double from, double rate, double to, double rate_to) {
  const double way = to - from, cubic = rate + rate_to - 2 * way, square = 3 * way - 2 * rate - rate_to;
  std::pair<double, double> out = std::minmax(from, to);
  const double root = square * square - 3 * cubic * rate;
  if (!(root > 0)) return out;
  // Zeros of rate + 2 square s + 3 cubic s², without cancellation.
  const double sum = -(square + std::copysign(std::sqrt(root), square));
  for (const double s : {sum / (3 * cubic), rate / sum})
    if (s > 0 && s < 1) {
      const double q = from + s * (rate + s * (square + s * cubic));
      out = {std::min(out.first, q), std::max(out.second, q)};
    }
  return out;
}

std::string at_joint(const Model& model, int joint) {
  return joint < 0 ? "" : fmt::format(" at joint '{}'", model.joints()[static_cast<std::size_t>(joint)].name);
}

std::string held_weakly(const Model& model, const Singularities::Rigid& loops) {
  return fmt::format("loops{} leave no motion, but stand in or beside a singular configuration (sigma = {:.1e})",
                     at_joint(model, loops.joint), loops.sigma);
}

std::string without_a_band(Through through, const std::string& joint) {
  const auto because = [&](const std::string& cause) { return cause + ": steps there solve all rows, and may lose energy"; };
  if (through == Through::TooLarge)
    return because(
        fmt::format("loops{} belong to a part with more than {} freedoms, too large for a passage of the singular configuration",
                    joint, kLargestPart));
  if (through == Through::NoBranch) return because("no branch was found through the singular configuration" + joint);
  return because(fmt::format("the singular configuration{} was not seen ahead of the step that crossed it", joint));
}

}  // namespace

void Watch::enter(const Leg& leg, double t, const State& x) {
  changes_before_ += mobility_.changes;
  mobility_ = leg.formulation->mobility();
  t_ = t;
  singularities_.emplace(*leg.model);
  singularities_->begin(leg.observer.bodies(), x.wound);
  there_.reset();
  between_ = x;
  slack_.assign(leg.model->tendons().size(), false);
  q_.setZero(leg.model->nq());
  v_.setZero(leg.model->nv());
  for (const Singularities::Unwatched& u : singularities_->unwatched())
    notes_.happened(t, NoteKind::Unwatched, name_of(*leg.model, u.joint), u.freedoms, [&] {
      return fmt::format(
          "loops with {} freedoms{} are too large to be watched: singular configurations there are neither counted nor passed",
          u.freedoms, at_joint(*leg.model, u.joint));
    });
  for (const Singularities::Rigid& r : singularities_->rigid())
    notes_.happened(t, NoteKind::Held, name_of(*leg.model, r.joint), 0, [&] {
      return held_weakly(*leg.model, r) + (r.sigma > kNullSigma
                                               ? ": reactions are as large as 1/sigma times what they are elsewhere"
                                               : ": loads along them are balanced by no reactions, and those recorded are "
                                                 "the nearest");
    });
  begins_ = {t, mobility_.rank, leg.observer.bodies(), x.wound};
  look_at_tendons(leg, t);
  stops_.clear();
  for (int j = 0; j < static_cast<int>(leg.model->joints().size()); ++j) {
    const Joint& joint = leg.model->joints()[static_cast<std::size_t>(j)];
    for (int k = 0; k < joint.nv && joint.nq == joint.nv; ++k)
      if (joint.passive[static_cast<std::size_t>(k)].has_stops()) stops_.push_back({j, k});
  }
  for (Stop& stop : stops_) begin_at(leg, stop, t, x);
}

Verdict Watch::step(Leg& leg, double t, const State& x) {
  const double h = t - t_;
  look_at_coordinates(leg, t);
  look_at_rank(leg, t, x);
  look_at_tendons(leg, t);
  Verdict verdict;
  for (Stop& stop : stops_) {
    const Verdict here = look_at(leg, stop, t, h, x);
    if (verdict.ok()) verdict = here;
  }
  return verdict;
}

// What may be to blame for equations that fail.
std::string Watch::held() const {
  if (!singularities_ || singularities_->rigid().empty()) return {};
  return held_weakly(singularities_->model(), singularities_->rigid().front());
}

// The rank has risen: the motion began in a singular configuration itself.
void Watch::look_at_begin(Leg& leg) {
  const double t = begins_.t;
  there_.emplace(*leg.model, AugmentedOptions{.verdicts = false});
  State state;
  Evaluation e;
  there_->set(begins_.bodies, state, begins_.wound);
  e.bodies = begins_.bodies;
  if (!there_->passes_at(e.bodies) || !there_->evaluate_bodies(begins_.wound, leg.system.load(t, e.bodies), e).ok()) return;
  if (there_->unbalanced() > kUnbalanced)
    notes_.say(
        fmt::format("t = {:g} s: the motion begins in a singular configuration in which no reactions balance it: they grow "
                    "without bound towards it, and those recorded there are the nearest",
                    t));
}

// A loop that crosses a singular configuration has other freedoms there: counted there, and said. Steppers do not solve the
// unreduced equations, so nobody knows the sine of their weakest row.
void Watch::look_at_rank(Leg& leg, double t, const State& x) {
  const Mobility& now = leg.formulation->mobility();
  const auto between = [&](double theta, Bodies& out) {
    leg.integrator->interpolate(leg.system, theta, between_);
    leg.formulation->bodies(between_, out);
  };
  if (now.rank > begins_.rank) {
    if (begins_.rank >= 0) look_at_begin(leg);
    begins_.rank = now.rank;
  }
  const bool flows = leg.integrator->family() != Family::Stepper;
  const auto& crossings = singularities_->step(leg.observer.bodies(), x.wound, flows ? now.sine : 0, between);
  for (const Singularities::Crossing& c : crossings) {
    ++passages_;
    const double at = t_ + c.theta * (t - t_);
    notes_.happened(at, NoteKind::Singular, name_of(*leg.model, c.joint), c.located ? c.rank : -1, [&] {
      const std::string what = "passed a singular configuration" + at_joint(*leg.model, c.joint);
      return c.located ? fmt::format("{}, where rank is {} and mobility {}", what, c.rank, c.freedoms)
                       : what + ", which was not located: its rank was not counted";
    });
    if (const Through through = leg.formulation->through(c.group); flows && through != Through::Band)
      notes_.happened(at, NoteKind::NotPassed, name_of(*leg.model, c.joint), static_cast<int>(through),
                      [&] { return without_a_band(through, at_joint(*leg.model, c.joint)); });
    if (c.located) look_at_reactions(leg, t, x, c);
    // Steps begin or end in the configuration itself where they land on it to rounding.
    for (const double end : {0.0, 1.0})
      if (Bodies bodies = leg.observer.bodies(); c.located && std::abs(c.theta - end) < kOnIt) {
        between(end, bodies);
        look_at_state(leg, t_ + end * (t - t_), x, bodies, c.joint);
      }
  }
  if (const LedOver led = leg.formulation->led_over(); flows && led.gap > 0)
    if (const auto name = name_of(*leg.model, led.joint); notes_.count(NoteKind::NotPassed, name, -1) == 0)
      notes_.happened(t_, NoteKind::NotPassed, name, -1, [&] {
        return fmt::format(
            "loops{} miss a singular configuration by {:.1e} of their length and are led straight on over the gap, where no "
            "reactions balance them: what follows may be another motion",
            at_joint(*leg.model, led.joint), led.gap);
      });
  if (!crossings.empty() && !leg.integrator->passes_singular() && left_.empty())
    left_ = fmt::format(
        "{} of order {} does not converge through singular configurations (one was passed before t = {:g} s): compare with "
        "another "
        "method",
        leg.integrator->name(), leg.integrator->order(), t);
  for (const int joint : singularities_->left()) {
    if (!left_.empty()) break;
    left_ =
        fmt::format("the motion left its branch in a singular configuration{} before t = {:g} s: what follows is another motion",
                    at_joint(*leg.model, joint), t);
  }
  for (const Singularities::Rigid& r : singularities_->rigid())
    if (r.moved > kHeldMoved && left_.empty())
      left_ = fmt::format("{}: {} moved them by {:.1e} of their size before t = {:g} s", held_weakly(*leg.model, r),
                          leg.integrator->name(), r.moved, t);
  // Loops that are too large to be watched: what the solver counted.
  if (!singularities_->unwatched().empty() && crossings.empty() && now.changes != mobility_.changes)
    notes_.happened(t, NoteKind::Rank, name_of(*leg.model, now.joint), 10000 * mobility_.rank + now.rank, [&] {
      return fmt::format("rank {} to {}, mobility {} to {}{}", mobility_.rank, now.rank, mobility_.freedoms, now.freedoms,
                         at_joint(*leg.model, now.joint));
    });
  look_at_coordinates_end(leg, t);
  mobility_ = now;
  t_ = t;
}

// Reactions that would have to do work on a motion that joints allow there only do not exist; on the way there they grow like the
// reciprocal of the distance. The motion itself is smooth: whatever the method, its accelerations are those of its branch.
void Watch::look_at_reactions(Leg& leg, double t, const State& x, const Singularities::Crossing& crossing) {
  const double at = t_ + crossing.theta * (t - t_);
  if (!there_) there_.emplace(*leg.model, AugmentedOptions{.verdicts = false});
  State state;
  Evaluation e;
  there_->set(crossing.there, state, x.wound);
  e.bodies = crossing.there;
  const Load& load = leg.system.load(at, crossing.there);
  if (!there_->passes_at(e.bodies) || !there_->evaluate_bodies(x.wound, load, e).ok()) return;
  double most = 0;
  for (const Bodies& motion : crossing.motions)
    most = std::max(most, work_that_is_missed(*leg.model, e.bodies, x.wound, e.accelerations, load, motion));
  if (!(most > kMissed)) return;
  notes_.happened(at, NoteKind::Reactions, name_of(*leg.model, crossing.joint), crossing.rank, [&] {
    return fmt::format("reactions grow without bound, like 1/sigma, towards the singular configuration{}",
                       at_joint(*leg.model, crossing.joint));
  });
}

void Watch::look_at_state(Leg& leg, double t, const State& x, const Bodies& bodies, int joint) {
  if (!there_) there_.emplace(*leg.model, AugmentedOptions{.verdicts = false});
  State state;
  Evaluation e;
  there_->set(bodies, state, x.wound);
  e.bodies = bodies;
  if (!there_->passes_at(e.bodies) || !there_->evaluate_bodies(x.wound, leg.system.load(t, bodies), e).ok()) return;
  if (there_->unbalanced() > kUnbalanced)
    notes_.happened(t, NoteKind::Reactions, name_of(*leg.model, joint), -1, [&] {
      return fmt::format(
          "a state stands in the singular configuration itself{}: no reactions balance it there, and those recorded are the "
          "nearest",
          at_joint(*leg.model, joint));
    });
}

// Independent coordinates that soon no longer describe the motion.
void Watch::look_at_coordinates_end(const Leg& leg, double t) {
  const Mobility& now = leg.formulation->mobility();
  if (!now.near_singular || mobility_.near_singular || leg.formulation->chosen_coordinates().empty()) return;
  notes_.happened(t, NoteKind::CoordinatesEnd, name_of(*leg.model, now.joint), now.rank, [&] {
    return fmt::format(
        "independent coordinates {} describe the motion badly{} (pivots of the closure differ by {:.1e}); rank {} and mobility "
        "{} hold",
        leg.formulation->chosen_coordinates(), at_joint(*leg.model, now.joint), now.sigma, now.rank, now.freedoms);
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

// Coordinate and rate of a freedom with stops, turns counted.
void Watch::measure(const Leg& leg, const Stop& stop, const State& x, double& q, double& v) {
  const Joint& joint = leg.model->joints()[static_cast<std::size_t>(stop.joint)];
  coordinates_of_joint(*leg.model, stop.joint, leg.observer.bodies(), q_, v_);
  q = q_[joint.q0 + stop.freedom], v = v_[joint.v0 + stop.freedom];
  if (joint.winds(stop.freedom)) q = nearest_turn(q, x.wound[joint.v0 + stop.freedom]);
}

void Watch::begin_at(const Leg& leg, Stop& stop, double t, const State& x) {
  const Joint& joint = leg.model->joints()[static_cast<std::size_t>(stop.joint)];
  const Passive& p = joint.passive[static_cast<std::size_t>(stop.freedom)];
  measure(leg, stop, x, stop.q, stop.v);
  stop.at = stop.begins = stop.q < p.lower || stop.q > p.upper;
  if (!stop.at) return;
  const bool upper = stop.q > p.upper;
  notes_.happened(t, NoteKind::Stop, joint.name, 2 * stop.freedom + (upper ? 1 : 0), [&] {
    return fmt::format("joint '{}' begins {:.3g} {} beyond its {} stop", joint.name, upper ? stop.q - p.upper : p.lower - stop.q,
                       joint.turns(stop.freedom) ? "rad" : "m", upper ? "upper" : "lower");
  });
}

// A stop that is reached is said; each time counts. Also one that was left again within the step.
Verdict Watch::look_at(const Leg& leg, Stop& stop, double t, double h, const State& x) {
  const Joint& joint = leg.model->joints()[static_cast<std::size_t>(stop.joint)];
  const Passive& p = joint.passive[static_cast<std::size_t>(stop.freedom)];
  double q = 0, v = 0;
  measure(leg, stop, x, q, v);
  const auto [least, most] = range(stop.q, h * stop.v, q, h * v);
  const bool upper = most > p.upper, at = upper || least < p.lower;
  const bool reached = at && !stop.at, begins = stop.begins;
  stop = {stop.joint, stop.freedom, q, v, q < p.lower || q > p.upper, false};
  if (begins && at) return {Status::JointStop, -1, stop.joint, q};
  if (!reached) return {};
  notes_.happened(t, NoteKind::Stop, joint.name, 2 * stop.freedom + (upper ? 1 : 0),
                  [&] { return fmt::format("joint '{}' reached its {} stop", joint.name, upper ? "upper" : "lower"); });
  return {Status::JointStop, -1, stop.joint, q};
}

}  // namespace invar
