// SPDX-License-Identifier: Apache-2.0
//
// Cables and stops: x is the stretch s or the depth d, and p has the sign of the force,
//   cable  p = s + c/k s', or s' for k = 0    tension 0 | k s + c s'        | 0
//   stop   p = 1 + c d'                       force   0 | k d (1 + c d')    | 0
//          x < 0 | x > 0, p > 0 | x > 0, p < 0           energy 0 | k x²/2 | k x²/2
// Without damping p is no matter. Margin: the least of what keeps the branch, each over its own unit: 64 eps of the sizes that x
// is a difference of (the part's length and what the law is measured from), for p of a cable that and c/k times the rate, for p
// of a stop of 1. Friction F tanh(v/v_s) is F, to all digits, from 19.1 v_s on; its branches meet at 20 v_s, where both say the
// same, so half a friction velocity may blur it.
// Held branches act through the load: what they do less what the law at the state does, along the same freedom or tendon. The
// same difference of losses: rate of loss = (force - force of the energy) x', which jumps with the force.
#include "invar/mech/switches.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/passive.hpp"
#include "invar/mech/passive_law.hpp"
#include "invar/mech/tendons.hpp"
#include "invar/mech/tension.hpp"

namespace invar {
namespace {

constexpr double kSwitchRounding = 64 * std::numeric_limits<double>::epsilon();
constexpr double kAlways = std::numeric_limits<double>::infinity();
constexpr double kSliding = 20, kBlur = 0.5;  // friction velocities

}  // namespace

Switches::Switches(const Model& model)
    : model_(model), scales_(scales_of(model)), q_(VecX::Zero(model.nq())), v_(VecX::Zero(model.nv())) {
  for (int k = 0; k < static_cast<int>(model.tendons().size()); ++k)
    if (model.tendons()[static_cast<std::size_t>(k)].tension_only) laws_.push_back({Kind::Cable, k, 0});
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) add_stops_and_friction(j);
  measure_units(nullptr);
}

void Switches::add_stops_and_friction(int j) {
  const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
  for (int k = 0; k < joint.nv; ++k) {
    const Passive& p = joint.passive[static_cast<std::size_t>(k)];
    const bool stops = p.stop_stiffness > 0 && k < ball_start(joint);
    if (stops && std::isfinite(p.upper)) laws_.push_back({Kind::Upper, j, k});
    if (stops && std::isfinite(p.lower)) laws_.push_back({Kind::Lower, j, k});
    if (p.friction > 0) laws_.push_back({Kind::Friction, j, k});
  }
}

// The size of what a law measures: m, or rad.
double Switches::size_of(const Law& law) const {
  if (law.kind == Kind::Cable) {
    const Tendon& tendon = model_.tendons()[static_cast<std::size_t>(law.index)];
    double length = 0;
    for (const Tendon::Point& point : tendon.points)
      if (point.body != kWorld) length = std::max(length, scales_.length_at(point.body));
    return std::abs(tendon.rest) + length;
  }
  const Joint& joint = model_.joints()[static_cast<std::size_t>(law.index)];
  const Passive& p = passive(law);
  return (joint.winds(law.freedom) ? 1 : scales_.length_at(joint.child)) + std::abs(law.kind == Kind::Upper ? p.upper : p.lower);
}

void Switches::measure_units(const Bodies* bodies) {
  measure(model_, scales_);
  for (Law& law : laws_) {
    if (law.kind == Kind::Friction) {
      law.unit = law.push_unit = kBlur;
      continue;
    }
    const double size = size_of(law);
    law.unit = kSwitchRounding * size;
    law.push_unit = kSwitchRounding;
    if (law.kind != Kind::Cable) continue;
    const Tendon& t = model_.tendons()[static_cast<std::size_t>(law.index)];
    const double rate = bodies ? std::abs(pull_of(model_, t, *bodies).rate) : 0.0;
    // Without stiffness and at rest there is no rate to compare with: sizes per second.
    law.push_unit = kSwitchRounding * (t.stiffness > 0 ? size + t.damping / t.stiffness * rate : (rate > 0 ? rate : size));
  }
}

const Passive& Switches::passive(const Law& law) const {
  return model_.joints()[static_cast<std::size_t>(law.index)].passive[static_cast<std::size_t>(law.freedom)];
}

double Switches::rate_of(const Law& law, const Bodies& bodies) const {
  coordinates_of_joint(model_, law.index, bodies, q_, v_);
  return v_[model_.joints()[static_cast<std::size_t>(law.index)].v0 + law.freedom];
}

Switches::Seen Switches::look(const Law& law, const Bodies& bodies, const VecX& wound) const {
  if (law.kind == Kind::Cable) {
    const Tendon& t = model_.tendons()[static_cast<std::size_t>(law.index)];
    const Pull pull = pull_of(model_, t, bodies);
    const double k = t.stiffness, c = t.damping;
    return {pull.stretch, pull.rate, !(c > 0) ? kAlways : (k > 0 ? pull.stretch + c / k * pull.rate : pull.rate)};
  }
  const double rate = rate_of(law, bodies);
  const Joint& joint = model_.joints()[static_cast<std::size_t>(law.index)];
  if (law.kind == Kind::Friction) return {0, rate, 0};
  double q = q_[joint.q0 + law.freedom];
  if (joint.winds(law.freedom)) q = nearest_turn(q, wound[joint.v0 + law.freedom]);
  const Passive& p = passive(law);
  const double inward = law.kind == Kind::Upper ? rate : -rate;
  const double depth = law.kind == Kind::Upper ? q - p.upper : p.lower - q;
  return {depth, inward, p.stop_damping > 0 ? 1 + p.stop_damping * inward : kAlways};
}

int Switches::branch_at(const Law& law, const Seen& seen) const {
  if (law.kind != Kind::Friction) return seen.x > 0 ? (seen.push > 0 ? 1 : 2) : 0;
  const double s = seen.rate / passive(law).friction_velocity;
  return s > kSliding ? 1 : (s < -kSliding ? -1 : 0);
}

double Switches::margin(const Law& law, const Seen& seen) const {
  if (law.kind == Kind::Friction) {
    const double s = seen.rate / passive(law).friction_velocity;
    return (law.branch == 0 ? kSliding - std::abs(s) : law.branch * s - kSliding) / law.unit;
  }
  if (law.branch == 0) return -seen.x / law.unit;
  return std::min(seen.x / law.unit, (law.branch == 1 ? seen.push : -seen.push) / law.push_unit);
}

// What begins where the branch ends: of two conditions the one that is nearer to its end.
int Switches::next_branch(const Law& law, const Seen& seen) const {
  if (law.kind == Kind::Friction) return law.branch != 0 ? 0 : (seen.rate > 0 ? 1 : -1);
  if (law.branch == 0) return seen.push > 0 ? 1 : 2;
  const double push = law.branch == 1 ? seen.push : -seen.push;
  return push / law.push_unit < seen.x / law.unit ? 3 - law.branch : 0;
}

void Switches::hold(const Bodies& bodies, const VecX& wound) {
  held_ = true;
  measure_units(&bodies);
  for (Law& law : laws_) law.branch = branch_at(law, look(law, bodies, wound));
}

void Switches::turn(const Bodies& bodies, const VecX& wound, const VecX& margins, double limit) {
  for (std::size_t i = 0; i < laws_.size(); ++i)
    if (margins[static_cast<Eigen::Index>(i)] < limit) laws_[i].branch = next_branch(laws_[i], look(laws_[i], bodies, wound));
}

void Switches::margins(const Bodies& bodies, const VecX& wound, VecX& out) const {
  out.resize(static_cast<Eigen::Index>(laws_.size()));
  for (std::size_t i = 0; i < laws_.size(); ++i)
    out[static_cast<Eigen::Index>(i)] = margin(laws_[i], look(laws_[i], bodies, wound));
}

Switches::Power Switches::add_cable(const Law& law, const Seen& seen, const Bodies& bodies, Load& load) const {
  const Tendon& t = model_.tendons()[static_cast<std::size_t>(law.index)];
  const double elastic = law.branch == 0 ? 0 : t.stiffness * seen.x;
  const double held = law.branch == 1 ? t.stiffness * seen.x + t.damping * seen.rate : 0;
  const bool taut = seen.x > 0;
  const double is = taut ? std::max(0.0, t.stiffness * seen.x + t.damping * seen.rate) : 0;
  if (held != is) add_tension(model_, t, bodies, held - is, load.port);
  return {-(held - is) * seen.rate, ((held - elastic) - (is - (taut ? t.stiffness * seen.x : 0))) * seen.rate};
}

Switches::Power Switches::add_stop(const Law& law, const Seen& seen, Load& load) const {
  const Passive& p = passive(law);
  const double k = p.stop_stiffness, elastic = law.branch == 0 ? 0 : k * seen.x;
  const double held = law.branch == 1 ? k * seen.x * (1 + p.stop_damping * seen.rate) : 0;
  const double is = stop_force<double>(p, seen.x, seen.rate);
  double& effort = load.efforts[model_.joints()[static_cast<std::size_t>(law.index)].v0 + law.freedom];
  effort -= law.kind == Kind::Upper ? held - is : is - held;
  return {-(held - is) * seen.rate, ((held - elastic) - (is - k * std::max(0.0, seen.x))) * seen.rate};
}

Switches::Power Switches::add_friction(const Law& law, const Seen& seen, Load& load) const {
  if (law.branch == 0) return {};
  const Passive& p = passive(law);
  const double more = p.friction * (law.branch - std::tanh(seen.rate / p.friction_velocity));
  load.efforts[model_.joints()[static_cast<std::size_t>(law.index)].v0 + law.freedom] -= more;
  return {-more * seen.rate, more * seen.rate};
}

Switches::Power Switches::add(const Bodies& bodies, const VecX& wound, Load& load) const {
  Power sum;
  for (const Law& law : laws_) {
    const Seen seen = look(law, bodies, wound);
    const Power one = law.kind == Kind::Cable      ? add_cable(law, seen, bodies, load)
                      : law.kind == Kind::Friction ? add_friction(law, seen, load)
                                                   : add_stop(law, seen, load);
    sum.added += one.added, sum.lost += one.lost;
  }
  return sum;
}

}  // namespace invar
