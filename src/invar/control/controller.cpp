// SPDX-License-Identifier: Apache-2.0
#include "invar/control/controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/mech/over_step.hpp"

namespace invar {
namespace {

constexpr double kLeastPeriod = 1e-6;  // s

// The same motion about another point of the body, `offset` in its own axes from the centre of mass; over a step of length `span`
// where it is the mean motion of one.
BodyState about(const BodyState& from, const Vec3& offset_B, double span = 0) {
  const Vec3 offset = mean_arm(from.q_WB * offset_B, from.w_WB, span);
  return {from.p_WC + offset, from.v_WC + from.w_WB.cross(offset), from.w_WB, from.q_WB};
}

// Components of a wrench after a turn of its axes.
Wrench in_axes(const Quat& q, const Wrench& w) { return {q * w.moment, q * w.force}; }

// How a controller is built, as a whole number of 52 bits: name and clauses of its law, all that it shows, its times and
// actuators. Parts of a law that remember (observer, integral, what adapts) have clauses or readings of their own, or learn what
// became of commands.
double built(const Controller& controller, const ControllerSpec& spec, const std::vector<Actuator>& actuators) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  const auto take = [&](const std::string& text) {
    for (const char c : text + '\n') hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  };
  const Certificate& certificate = controller.law().certificate();
  take(certificate.law);
  for (const Clause& clause : certificate.clauses()) take(clause.name);
  for (const Reading& reading : controller.readings()) take(fmt::format("{} {}", reading.name, reading.size));
  for (const Actuator& actuator : actuators) take(actuator.spec().name);
  take(fmt::format("{:.17g} {:.17g} {}", spec.period, spec.delay, controller.law().observes()));
  return static_cast<double>(hash >> 12);
}

}  // namespace

std::string flaw(const ControllerSpec& spec) {
  const bool sampled = spec.period > 0;
  if (!(spec.period >= 0) || !std::isfinite(spec.period)) return "'period' is a time, s, or 0";
  if (sampled && spec.period < kLeastPeriod)
    return fmt::format("a 'period' of {:g} s is below {:g} s; 0 is at every instant", spec.period, kLeastPeriod);
  if (!(spec.delay >= 0) || !std::isfinite(spec.delay)) return "'delay' is a time, s, or 0";
  if (spec.delay > 0 && !sampled) return "a 'delay' needs a 'period': it is a whole number of them";
  const double ticks = sampled ? spec.delay / spec.period : 0;
  if (std::abs(ticks - std::round(ticks)) > 1e-9 * std::max(1.0, ticks))
    return fmt::format("the 'delay' of {:g} s is {:g} periods; it must be a whole number of them", spec.delay, ticks);
  if (ticks > 1e5) return fmt::format("the 'delay' of {:g} s is {:g} periods; more than 1e5 are not kept", spec.delay, ticks);
  if (!(spec.lag >= 0) || !std::isfinite(spec.lag)) return "'lag' is a time, s, or 0";
  if (spec.lag > 0 && !sampled) return "a 'lag' needs a 'period', at whose ticks it acts";
  if (spec.lag > 0 && !spec.actuators.empty()) return "commands through actuators have the 'lag' of each of them: say it there";
  if (spec.weighs && !sampled) return "commands change from tick to tick only where there is a 'period'";
  if (spec.with_body && !sampled) return "'hold' says how commands are held between ticks: it needs a 'period'";
  if (spec.with_body && !spec.actuators.empty()) return "'hold' is for commands without actuators: those hold their inputs";
  const NoiseSpec& n = spec.noise;
  for (const double size : {n.position, n.attitude, n.velocity, n.angular_velocity})
    if (!(size >= 0) || !std::isfinite(size)) return "a standard deviation of 'noise' is finite and not negative";
  if (!n.none() && !sampled) return "'noise' needs a 'period': at every instant there is nothing random to be seen";
  for (const ActuatorSpec& a : spec.actuators)
    if (!a.is_instant() && !sampled)
      return fmt::format("actuator '{}': 'lag' and 'rate' need a 'period' of the controller, at whose ticks they act",
                         name_of(a));
  return {};
}

Controller::Controller(const ControllerSpec& spec, double start, int delay, std::uint64_t seed)
    : spec_(spec),
      start_(start),
      law_(spec_.law(*spec_.nominal)),
      measurement_(*spec_.nominal, spec_.noise, delay, seed, spec_.name),
      held_(*spec_.nominal),
      past_(static_cast<std::size_t>(delay) + 1, Past{Load(*spec_.nominal), VecX()}),
      before_(spec_.nominal->bodies().size()),
      first_(*spec_.nominal),
      last_(first_),
      due_(start),
      readings_(law_->readings()),
      values_(law_->values().begin(), law_->values().end()),
      reactions_(spec_.nominal->joints().size()),
      accelerations_(spec_.nominal->bodies().size()),
      seen_(spec_.nominal->bodies().size()),
      command_(*spec_.nominal) {}

// What the law shows, and how well it follows.
void Controller::add_errors() {
  for (const Tracking& t : law_->tracking()) {
    readings_.push_back({"error_" + t.name, t.unit, "how far it is from what is followed"});
    values_.push_back(std::numeric_limits<double>::quiet_NaN());
  }
}

Result<std::unique_ptr<Controller>> Controller::build(const ControllerSpec& spec, const Model& plant, double start,
                                                      std::uint64_t seed) {
  if (const std::string why = flaw(spec); !why.empty()) return fail(ErrorKind::Scenario, why);
  const int delay = spec.period > 0 ? static_cast<int>(std::lround(spec.delay / spec.period)) : 0;
  std::unique_ptr<Controller> out(new Controller(spec, start, delay, seed));
  out->add_errors();
  if (auto paired = out->pair(plant); !paired) return tl::unexpected(paired.error());
  if (auto equipped = out->equip(plant); !equipped) return tl::unexpected(equipped.error());
  if (spec.weighs) {
    out->change_ = std::make_unique<Change>(*spec.nominal, out->inputs_);
    out->readings_.push_back(
        {"command_change", "N/sqrt(kg)", "|u - u'|_A of the last two commands; NaN where there are not two"});
    out->values_.push_back(std::numeric_limits<double>::quiet_NaN());
    out->change_->size = out->values_.back();
  }
  // A recording has one place for each.
  std::vector<std::string> names = names_of(out->readings_);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    return fail(
        ErrorKind::Scenario,
        fmt::format("it would record two different '{}': what is followed, its actuators and its terms need names of their "
                    "own",
                    *twice));
  return out;
}

// Bodies and joints of the plant that have the names of the nominal ones.
Result<void> Controller::pair(const Model& plant) {
  const Model& nominal = *spec_.nominal;
  for (const Body& body : nominal.bodies()) {
    const auto b = plant.find_body(body.name);
    if (!b)
      return fail(ErrorKind::Scenario, fmt::format("the nominal model has a body '{}', the plant has none{}", body.name,
                                                   did_you_mean(body.name, names_of(plant.bodies()))));
    const auto index = static_cast<std::size_t>(*b);
    bodies_.push_back({index, body.inertia.p_BC - plant.bodies()[index].inertia.p_BC});
  }
  for (int j = 0; j < static_cast<int>(nominal.joints().size()); ++j) {
    const Joint& joint = nominal.joints()[static_cast<std::size_t>(j)];
    const auto p = plant.find_joint(joint.name);
    if (!p && joint.nv == 0) continue;
    if (!p)
      return fail(ErrorKind::Scenario, fmt::format("the nominal model has a joint '{}', the plant has none{}", joint.name,
                                                   did_you_mean(joint.name, names_of(plant.joints()))));
    const Joint& there = plant.joints()[static_cast<std::size_t>(*p)];
    const auto same = [&](int in_nominal, int in_plant) { return nominal.body_name(in_nominal) == plant.body_name(in_plant); };
    if (there.nv != joint.nv || there.kind != joint.kind || !same(joint.parent, there.parent) || !same(joint.child, there.child))
      return fail(
          ErrorKind::Scenario,
          fmt::format("joint '{}' of the nominal model is another one in the plant: kind, parent and child must be the same",
                      joint.name));
    joints_.push_back({j, *p, there.v0, there.nv});
  }
  return {};
}

// As they are mounted there.
Result<std::vector<Actuator>> Controller::actuators_of(const Model& plant) const {
  auto out = build_actuators(plant, spec_.actuators, true);
  if (!out) return fail(ErrorKind::Scenario, out.error().what + " (in the plant)");
  return out;
}

Result<void> Controller::rebind(const Model& plant) {
  bodies_.clear(), joints_.clear();
  if (auto paired = pair(plant); !paired) return paired;
  auto there = actuators_of(plant);
  if (!there) return tl::unexpected(there.error());
  actuators_ = std::move(*there);
  return {};
}

// Actuators on both models, and the clauses and readings that come with them.
Result<void> Controller::equip(const Model& plant) {
  given_ = way_.add({"commands_are_given", "since the last look the law had a finite command whenever it was asked", "1", 0, {}});
  if (spec_.actuators.empty()) return {};
  auto nominal = build_actuators(*spec_.nominal, spec_.actuators);
  if (!nominal) return tl::unexpected(nominal.error());
  auto there = actuators_of(plant);
  if (!there) return tl::unexpected(there.error());
  actuators_ = std::move(*there);
  allocation_ = std::make_unique<Allocation>(*spec_.nominal, std::move(*nominal));
  inputs_ = allocation_->inputs();
  for (Past& past : past_) past.inputs = inputs_;

  std::vector<std::string> names;
  bool instant = true;
  for (const Actuator& a : actuators_) {
    names.push_back(a.name());
    instant = instant && a.spec().is_instant();
    readings_.push_back({"input_" + a.name(), a.unit(), "input of the actuator"});
    values_.push_back(std::numeric_limits<double>::quiet_NaN());
  }
  allocated_ = way_.add({"port_is_allocated", "part of the commanded accelerations that actuators leave undone", "1", 1e-9, {}});
  limited_ =
      way_.add({"actuators_within_limits", "how far inputs would have to exceed limits that cost motion", "N m or N", 0, names});
  if (!instant)
    late_ = way_.add({"actuators_keep_up", "how far lag and rate leave inputs behind the allocated ones", "N m or N", 0, names});
  return {};
}

Bodies seen_as(const Model& nominal, const Model& plant, const Bodies& bodies) {
  Bodies out;
  for (const Body& body : nominal.bodies()) {
    const auto b = static_cast<std::size_t>(plant.find_body(body.name).value());
    out.push_back(about(bodies[b], body.inertia.p_BC - plant.bodies()[b].inertia.p_BC));
  }
  return out;
}

void Controller::see(const Bodies& plant, double span) const {
  for (std::size_t b = 0; b < bodies_.size(); ++b) seen_[b] = about(plant[bodies_[b].plant], bodies_[b].offset, span);
}

// A command for what is seen, allocated where there are actuators. Where the law has none, none is allocated.
bool Controller::command(Instant at, const Bodies& seen) const {
  command_.clear();
  bool defined = law_->command(at, seen, command_).ok() && command_.efforts.allFinite();
  for (const Wrench& w : command_.port) defined = defined && w.force.allFinite() && w.moment.allFinite();
  if (!defined) command_.clear(), lost_ = true;
  return (!allocation_ || allocation_->solve(seen, command_).ok()) && defined;
}

// command_ onto the plant; a wrench about the nominal centre of mass is moved to the real one.
void Controller::act(const Bodies& plant, double span, Load& load) const {
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    const BodyState& body = plant[bodies_[b].plant];
    load.port[bodies_[b].plant] += command_.port[b].about(mean_arm(body.q_WB * bodies_[b].offset, body.w_WB, span));
  }
  for (const JointPair& pair : joints_) {
    const int from = spec_.nominal->joints()[static_cast<std::size_t>(pair.nominal)].v0;
    for (int k = 0; k < pair.nv; ++k) load.efforts[pair.v0 + k] += command_.efforts[from + k];
  }
}

void Controller::add(Instant at, const Bodies& bodies, Load& load) const {
  if (spec_.period > 0) return act_held(bodies, at.span, load);
  // References have pieces of their own; they are continuous with their rates, so each time is seen by itself.
  see(bodies, at.span);
  const bool commanded = command(Instant(at.t, at.t, at.span), seen_);
  if (allocation_)
    for (Eigen::Index i = 0; i < inputs_.size(); ++i)
      actuators_[static_cast<std::size_t>(i)].add(bodies, allocation_->inputs()[i], load);
  else if (commanded)
    act(bodies, at.span, load);
}

// What is held, on the plant: with another one's commands and `gain` times the difference to them where it is a copy.
void Controller::act_held(const Bodies& plant, double span, Load& load) const {
  for (Eigen::Index i = 0; i < inputs_.size(); ++i) {
    const double from = other_ ? other_->inputs_[i] : 0, input = from + (other_ ? gain_ : 1) * (inputs_[i] - from);
    actuators_[static_cast<std::size_t>(i)].add(plant, input, load);
  }
  if (allocation_) return;
  command_ = held_;
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    Wrench& w = command_.port[b];
    if (other_) w = other_->held_.port[b] + gain_ * (w - other_->held_.port[b]);
    if (spec_.with_body) w = in_axes(plant[bodies_[b].plant].q_WB, w);
  }
  if (other_) command_.efforts = other_->held_.efforts + gain_ * (held_.efforts - other_->held_.efforts);
  act(plant, span, load);
}

double Controller::next_event(double t) const {
  if (!(spec_.period > 0)) return law_->next_event(t);
  const double k = std::floor((t - start_) / spec_.period * (1 + 1e-12) + 1e-9) + 1, next = start_ + k * spec_.period;
  return next > t ? next : start_ + (k + 1) * spec_.period;  // as ticks are rounded
}

std::string Controller::objection(Instant at, const Bodies& bodies) {
  see(bodies);
  if (std::string why = law_->objection(at, seen_); !why.empty() || !allocation_) return why;
  command_.clear();
  if (!allocation_->solve(seen_, command_).ok()) return "commands cannot be allocated to the actuators at the start";
  for (int i = 0; i < static_cast<int>(actuators_.size()); ++i)
    if (!allocation_->acts(i))
      return fmt::format("actuator '{}' moves nothing at the start: joints hold all that it does",
                         actuators_[static_cast<std::size_t>(i)].name());
  return {};
}

// A law that is asked at ticks has only what it sees there to go by.
void Controller::settle(double t, const Bodies& bodies) {
  see(bodies);
  if (!(spec_.period > 0)) {
    tell_at_once(t);
    return;
  }
  if (t < due_ - 1e-9 * spec_.period) return;
  tick(t);
  due_ = next_event(t);
}

// At every instant: commands act as they are but for what actuators make of them.
void Controller::tell_at_once(double t) {
  if (!allocation_ || !law_->observes()) return law_->settle(t, seen_);
  const auto acts_now = [&](Load& load) {
    command(t, seen_);
    acting(held_, allocation_->inputs(), seen_, load);
  };
  acts_now(last_);
  law_->acted(first_, last_);
  law_->settle(t, seen_);
  acts_now(first_);
}

void Controller::tick(double t) {
  Past& oldest = past_[static_cast<std::size_t>(ticks_++ % static_cast<long>(past_.size()))];
  const Measurement::Seen* seen = measurement_.look(t, seen_);
  if (seen != nullptr) {
    tell(oldest, seen->bodies);
    law_->settle(seen->t, seen->bodies);
    const bool commanded = command(seen->t, seen->bodies);
    hold(seen->bodies, commanded);
    if (allocation_) look(t, commanded);
    if (change_) weigh(seen->bodies);
  }
  if (law_->observes()) oldest.held = held_, oldest.inputs = inputs_;
}

// What acted between the tick before and this one, both as far back as what is seen.
void Controller::tell(const Past& past, const Bodies& seen) {
  if (!law_->observes()) return;
  acting(past.held, past.inputs, arrived_++ > 0 ? before_ : seen, first_);
  acting(past.held, past.inputs, seen, last_);
  law_->acted(first_, last_);
  before_ = seen;
}

// The load of a held command, or of inputs, on nominal bodies.
void Controller::acting(const Load& held, const VecX& inputs, const Bodies& nominal, Load& out) const {
  out = held;
  if (allocation_) out.clear();
  for (std::size_t b = 0; b < nominal.size() && spec_.with_body; ++b) out.port[b] = in_axes(nominal[b].q_WB, out.port[b]);
  for (Eigen::Index i = 0; i < inputs.size(); ++i)
    allocation_->actuators()[static_cast<std::size_t>(i)].add(nominal, inputs[i], out);
}

// What is held until the next tick; where the law had no command it asks for nothing.
void Controller::hold(const Bodies& seen, bool commanded) {
  for (Eigen::Index i = 0; i < inputs_.size(); ++i) {
    const ActuatorSpec& spec = actuators_[static_cast<std::size_t>(i)].spec();
    const double most = spec.rate * spec_.period, kept = spec.lag > 0 ? std::exp(-spec_.period / spec.lag) : 0.0;
    const double way = (1 - kept) * (allocation_->inputs()[i] - inputs_[i]);
    inputs_[i] = spec.is_instant() ? allocation_->inputs()[i] : inputs_[i] + std::clamp(way, -most, most);
  }
  if (allocation_) return;
  if (!commanded) command_.clear();
  const double kept = spec_.lag > 0 ? std::exp(-spec_.period / spec_.lag) : 0.0;
  for (std::size_t b = 0; b < seen.size(); ++b) {
    if (spec_.with_body) command_.port[b] = in_axes(seen[b].q_WB.conjugate(), command_.port[b]);
    held_.port[b] = command_.port[b] + kept * (held_.port[b] - command_.port[b]);
  }
  held_.efforts = command_.efforts + kept * (held_.efforts - command_.efforts);
}

Controller::Change::Change(const Model& nominal, VecX none)
    : inverse(nominal),
      before(nominal),
      now(nominal),
      inputs(std::move(none)),
      a(nominal),
      b(nominal),
      moved(nominal.bodies().size()) {}

// Both commands as they would act on the bodies seen: |f|²_A = wᵀ M w with w = A f.
void Controller::weigh(const Bodies& seen) {
  Change& c = *change_;
  c.now = command_;  // as hold() has left it
  const VecX inputs = allocation_ ? allocation_->inputs() : VecX();
  acting(c.now, inputs, seen, c.a);
  acting(c.before, c.inputs, seen, c.b);
  for (std::size_t k = 0; k < c.a.port.size(); ++k) c.a.port[k] += -c.b.port[k];
  c.a.efforts -= c.b.efforts;
  double square = 0;
  const bool solved = c.inverse.at(seen).ok() && c.inverse.apply(&c.a.port, &c.a.efforts, c.moved).ok();
  for (std::size_t k = 0; k < c.moved.size(); ++k) {
    const Body& body = spec_.nominal->bodies()[k];
    square +=
        body.inertia.mass * c.moved[k].a_WC.squaredNorm() + c.moved[k].alpha_WB.dot(spun(body, seen[k], c.moved[k].alpha_WB));
  }
  c.size = c.begun && solved ? std::sqrt(square) : std::numeric_limits<double>::quiet_NaN();
  c.before = c.now, c.inputs = inputs, c.begun = true;
}

// What became of the last command on its way.
void Controller::look(double t, bool commanded) {
  way_.look(allocated_, t, commanded ? allocation_->relative_remainder() : std::numeric_limits<double>::quiet_NaN());
  for (int i = 0; i < static_cast<int>(inputs_.size()); ++i) {
    way_.look(limited_, t, allocation_->excess(i), i);
    const double wanted = allocation_->inputs()[i], given = inputs_[i];
    if (late_ >= 0) way_.look(late_, t, std::abs(wanted - given), i, round_off(std::abs(wanted) + std::abs(given)));
  }
}

Certificate Controller::certificate() const {
  Certificate all = law_->certificate();
  for (const Clause& clause : way_.clauses()) all.add(clause);
  return all;
}

void Controller::witness(double t, const Evaluation& plant) {
  see(plant.bodies);
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    const BodyState& body = plant.bodies[bodies_[b].plant];
    const BodyAcceleration& a = plant.accelerations[bodies_[b].plant];
    const Vec3 offset = body.q_WB * bodies_[b].offset;
    accelerations_[b] = {a.a_WC + a.alpha_WB.cross(offset) + body.w_WB.cross(body.w_WB.cross(offset)), a.alpha_WB};
  }
  for (const JointPair& pair : joints_)
    reactions_[static_cast<std::size_t>(pair.nominal)] = plant.reactions[static_cast<std::size_t>(pair.plant)];
  law_->witness({t, seen_, accelerations_, reactions_});
  if (allocation_ && !(spec_.period > 0)) {
    const bool commanded = command(t, seen_);
    inputs_ = allocation_->inputs();
    look(t, commanded);
  }
  way_.look(given_, t, lost_ ? 1 : 0);
  lost_ = false;
  auto next = std::copy(law_->values().begin(), law_->values().end(), values_.begin());
  for (const Tracking& tracked : law_->tracking()) *next++ = tracked.last;
  next = std::copy(inputs_.begin(), inputs_.end(), next);
  if (change_) *next = change_->size;
}

void Controller::remember(Recall& memory) {
  law_->remember(memory), measurement_.remember(memory);
  memory(held_), memory(inputs_), memory(ticks_), memory(arrived_), memory(before_), memory(first_), memory(last_);
  for (Past& past : past_) memory(past.held), memory(past.inputs);
  memory(due_), memory(lost_);
  if (change_) memory(change_->before), memory(change_->inputs), memory(change_->size), memory(change_->begun);
}

std::vector<double> Controller::snapshot() {
  Recall memory;
  double tag = built(*this, spec_, actuators_);
  memory(tag), remember(memory);
  return memory.numbers();
}

Result<void> Controller::restore(std::vector<double> numbers) {
  if (const std::size_t mine = snapshot().size(); numbers.size() != mine)
    return fail(
        ErrorKind::Option,
        fmt::format("controller '{}' remembers {} numbers, {} were given: it is built otherwise than the one that kept them",
                    spec_.name, mine, numbers.size()));
  if (numbers.front() != built(*this, spec_, actuators_))
    return fail(ErrorKind::Option, fmt::format("controller '{}' is built otherwise than the one that kept these numbers: another "
                                               "law, period or delay, other parts or actuators",
                                               spec_.name));
  // Its own counts follow what its law and its sensors remember, and what is held.
  Recall before;
  law_->remember(before), measurement_.remember(before), before(held_), before(inputs_);
  for (std::size_t k = 1 + before.numbers().size(), end = k + 2; k < end; ++k)
    if (!(numbers[k] >= 0 && numbers[k] < 9007199254740992.0 && numbers[k] == std::floor(numbers[k])))
      return fail(ErrorKind::Option,
                  fmt::format("controller '{}': number {} counts ticks, and {:g} counts none", spec_.name, k, numbers[k]));
  Recall memory(std::move(numbers));
  double tag = 0;
  memory(tag), remember(memory);
  return {};
}

}  // namespace invar
