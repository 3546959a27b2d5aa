// SPDX-License-Identifier: Apache-2.0
#include "invar/control/controller.hpp"

#include <fmt/format.h>

#include <cmath>

namespace invar {
namespace {

// The same motion about another point of the body, `offset` in its own axes from the centre of mass.
BodyState seen(const BodyState& from, const Vec3& offset_B) {
  const Vec3 offset = from.q_WB * offset_B;
  return {from.p_WC + offset, from.v_WC + from.w_WB.cross(offset), from.w_WB, from.q_WB};
}

}  // namespace

Controller::Controller(const ControllerSpec& spec, const Model& plant, double start)
    : spec_(spec),
      start_(start),
      law_(spec_.law(*spec_.nominal)),
      held_(plant),
      due_(start),
      reactions_(spec_.nominal->joints().size()),
      accelerations_(spec_.nominal->bodies().size()),
      seen_(spec_.nominal->bodies().size()),
      command_(*spec_.nominal) {}

Result<std::unique_ptr<Controller>> Controller::build(const ControllerSpec& spec, const Model& plant, double start) {
  if (!(spec.period >= 0) || !std::isfinite(spec.period)) return fail(ErrorKind::Scenario, "'period' is a time, s, or 0");
  const Model& nominal = *spec.nominal;
  std::unique_ptr<Controller> out(new Controller(spec, plant, start));
  for (const Body& body : nominal.bodies()) {
    const auto b = plant.find_body(body.name);
    if (!b)
      return fail(ErrorKind::Scenario, fmt::format("the nominal model has a body '{}', the plant has none{}", body.name,
                                                   did_you_mean(body.name, names_of(plant.bodies()))));
    const auto index = static_cast<std::size_t>(*b);
    out->bodies_.push_back({index, body.inertia.p_BC - plant.bodies()[index].inertia.p_BC});
  }
  for (int j = 0; j < static_cast<int>(nominal.joints().size()); ++j) {
    const Joint& joint = nominal.joints()[static_cast<std::size_t>(j)];
    const auto p = plant.find_joint(joint.name);
    if (!p) continue;
    const Joint& there = plant.joints()[static_cast<std::size_t>(*p)];
    if (there.nv != joint.nv)
      return fail(ErrorKind::Scenario, fmt::format("joint '{}' has {} freedoms in the nominal model and {} in the plant",
                                                   joint.name, joint.nv, there.nv));
    out->joints_.push_back({j, *p, there.v0, there.nv});
  }
  return out;
}

Bodies seen_as(const Model& nominal, const Model& plant, const Bodies& bodies) {
  Bodies out;
  for (const Body& body : nominal.bodies()) {
    const auto b = static_cast<std::size_t>(plant.find_body(body.name).value());
    out.push_back(seen(bodies[b], body.inertia.p_BC - plant.bodies()[b].inertia.p_BC));
  }
  return out;
}

void Controller::see(const Bodies& plant) const {
  for (std::size_t b = 0; b < bodies_.size(); ++b) seen_[b] = seen(plant[bodies_[b].plant], bodies_[b].offset);
}

// command_ onto the plant; a wrench about the nominal centre of mass is moved to the real one.
void Controller::act(const Bodies& plant, Load& load) const {
  for (std::size_t b = 0; b < bodies_.size(); ++b)
    load.port[bodies_[b].plant] += command_.port[b].about(plant[bodies_[b].plant].q_WB * bodies_[b].offset);
  for (const JointPair& pair : joints_) {
    const int from = spec_.nominal->joints()[static_cast<std::size_t>(pair.nominal)].v0;
    for (int k = 0; k < pair.nv; ++k) load.efforts[pair.v0 + k] += command_.efforts[from + k];
  }
}

void Controller::add(Instant at, const Bodies& bodies, Load& load) const {
  if (spec_.period > 0) {
    for (std::size_t b = 0; b < load.port.size(); ++b) load.port[b] += held_.port[b];
    load.efforts += held_.efforts;
    return;
  }
  // References have pieces of their own; they are continuous with their rates, so each time is seen by itself.
  see(bodies);
  command_.clear();
  if (law_->command(Instant(at.t), seen_, command_).ok()) act(bodies, load);
}

double Controller::next_event(double t) const {
  if (!(spec_.period > 0)) return std::numeric_limits<double>::infinity();
  const double k = std::floor((t - start_) / spec_.period * (1 + 1e-12) + 1e-9) + 1;
  return start_ + k * spec_.period;
}

std::string Controller::objection(const Bodies& bodies) {
  see(bodies);
  return law_->objection(seen_);
}

void Controller::settle(double t, const Bodies& bodies) {
  see(bodies);
  law_->settle(t, seen_);
  if (!(spec_.period > 0) || t < due_ - 1e-9 * spec_.period) return;
  held_.clear();
  command_.clear();
  if (law_->command(t, seen_, command_).ok()) act(bodies, held_);
  due_ = next_event(t);
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
}

}  // namespace invar
