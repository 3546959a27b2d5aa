// SPDX-License-Identifier: Apache-2.0
#include "invar/control/impedance_law.hpp"

#include <fmt/format.h>

#include <cmath>

namespace invar {

ImpedanceLaw::ImpedanceLaw(const Model& model, ImpedanceSpec spec)
    : model_(model),
      spec_(std::move(spec)),
      inverse_(model),
      moved_(model),
      tree_(spanning_tree(model)),
      port_(model.bodies().size()),
      acts_(port_),
      efforts_(VecX::Zero(model.nv())) {
  V_ = read({"V", "J", "kinetic energy and that of the virtual spring"});
  V_dot_ = read({"V_dot", "W", "its derivative, from the accelerations of the plant"});
  promised_ = read({"V_dot_promised", "W", "what dampers take and what comes from outside"});
  tracking_.push_back({spec_.name + ".position", "m"});
  certificate_.law = "C (44), impedance";
  certificate_.guarantee = "passive: with the target at rest and nothing from outside V never rises";
  defined_ = certificate_.add({"law_is_defined", "the law can be evaluated", "1", 0, {}});
  passive_clause_ = certificate_.add({"V_dot_as_promised", "|V_dot - promised|, over 1 + its terms", "W", 1e-9, {}});
  falls_ = certificate_.add({"V_falls", "V_dot while nothing acts from outside and the target rests", "W", 1e-9, {}});
  disturbed_ =
      certificate_.add({"disturbance_is_absent", "|M A d|: forces from outside, errors of the model, commands that were held",
                        "N", 1e-9, names_of(model.bodies())});
  still_ = certificate_.add({"target_rests", "speed of the target", "m/s", 0, {}});
}

std::string ImpedanceLaw::objection(Instant at, const Bodies& bodies) {
  (void)at;
  (void)bodies;
  if (const int j = inverse_.rotors(); j >= 0)
    return fmt::format("joint '{}' has an armature, which this law does not know",
                       model_.joints()[static_cast<std::size_t>(j)].name);
  return {};
}

// From the leaves inwards: what a joint has to carry of wrenches on all bodies beyond it, along its freedoms.
void ImpedanceLaw::efforts_of(Port& port, VecX& efforts) const {
  for (auto n = tree_.nodes.rbegin(); n != tree_.nodes.rend(); ++n) {
    if (n->joint < 0) continue;
    const Joint& joint = model_.joints()[static_cast<std::size_t>(n->joint)];
    const JointAt& at = inverse_.joint(n->joint);
    const Wrench beyond =
        port[static_cast<std::size_t>(n->body)].about(n->reversed ? -at.arm_parent : -at.arm_child);  // at the joint
    const double sign = n->reversed ? -1 : 1;
    for (int k = 0; k < joint.nv; ++k)
      efforts[joint.v0 + k] += sign * (beyond.moment.dot(at.S.col(k).head<3>()) + beyond.force.dot(at.S.col(k).tail<3>()));
    if (n->inner >= 0)
      port[static_cast<std::size_t>(tree_.nodes[static_cast<std::size_t>(n->inner)].body)] +=
          beyond.about(n->reversed ? at.arm_child : at.arm_parent);
  }
}

// Wrenches into port_, efforts into efforts_.
Verdict ImpedanceLaw::law(Instant at, const Bodies& bodies) {
  if (const Verdict verdict = inverse_.at(bodies); !verdict.ok()) return verdict;
  const auto b = static_cast<std::size_t>(spec_.body);
  const BodyState& body = bodies[b];
  wanted_ = spec_.path(at);
  arm_ = body.q_WB * (spec_.p_BE - model_.bodies()[b].inertia.p_BC);
  error_ = body.p_WC + arm_ - wanted_.p;
  error_rate_ = body.v_WC + body.w_WB.cross(arm_) - wanted_.v;
  force_ = -(spec_.stiffness * error_ + spec_.damping * error_rate_);
  for (Wrench& w : port_) w = Wrench{};
  inverse_.add_own_forces(true, port_);  // what holds the mechanism where it is is the opposite
  for (Wrench& w : port_) w = -w;
  port_[b] += {arm_.cross(force_), force_};
  efforts_.setZero();
  if (spec_.through_joints) {
    acts_ = port_;
    efforts_of(acts_, efforts_);
    for (Wrench& w : port_) w = Wrench{};
  }
  efforts_ -= spec_.joint_damping * inverse_.joint_rates();
  return {};
}

Verdict ImpedanceLaw::command(Instant at, const Bodies& bodies, Load& out) {
  const Verdict verdict = law(at, bodies);
  if (!verdict.ok()) return verdict;
  for (std::size_t b = 0; b < port_.size(); ++b) out.port[b] += port_[b];
  out.efforts += efforts_;
  return {};
}

void ImpedanceLaw::witness(const Witness& seen) {
  const Verdict verdict = law(seen.t, seen.bodies);
  certificate_.look(defined_, seen.t, verdict.ok() ? 0 : 1);
  if (!verdict.ok()) return;
  // What the nominal bodies get by what is known: the law, what acts by itself at this motion, reactions.
  acts_ = port_;
  inverse_.add_efforts(efforts_, acts_);
  const double lost = inverse_.add_own_forces(false, acts_);
  inverse_.add_reactions(seen.reactions, acts_);
  double kinetic = 0, kinetic_rate = 0, outside = 0;
  for (std::size_t b = 0; b < seen.bodies.size(); ++b) {
    const Inertia& inertia = model_.bodies()[b].inertia;
    const BodyState& at = seen.bodies[b];
    const BodyAcceleration& a = seen.accelerations[b];
    const Vec3 f = inertia.mass * a.a_WC,
               n = spun(model_.bodies()[b], at, a.alpha_WB) + at.w_WB.cross(spun(model_.bodies()[b], at, at.w_WB));
    const Vec3 d = f - acts_[b].force, m = n - acts_[b].moment;
    kinetic += 0.5 * (inertia.mass * at.v_WC.squaredNorm() + at.w_WB.dot(spun(model_.bodies()[b], at, at.w_WB)));
    kinetic_rate += f.dot(at.v_WC) + n.dot(at.w_WB);
    outside += d.dot(at.v_WC) + m.dot(at.w_WB);
    acts_[b] = {m, d};
  }
  const double V = kinetic + 0.5 * error_.dot(spec_.stiffness * error_);
  const double V_dot = kinetic_rate + error_rate_.dot(spec_.stiffness * error_);
  const double damped =
      error_rate_.dot(spec_.damping * error_rate_) + spec_.joint_damping * inverse_.joint_rates().squaredNorm() + lost;
  // A target that moves gives work through the spring and the damper.
  const double pulled = -force_.dot(wanted_.v), promised = outside + pulled - damped;
  certificate_.look(passive_clause_, seen.t, std::abs(V_dot - promised) / (1 + std::abs(outside) + std::abs(pulled) + damped));
  // Of d only what moves something counts.
  if (!inverse_.apply(&acts_, nullptr, moved_).ok()) return;
  double largest = 0;
  int culprit = -1;
  for (std::size_t b = 0; b < seen.bodies.size(); ++b) {
    const Inertia& inertia = model_.bodies()[b].inertia;
    const Vec3 n = spun(model_.bodies()[b], seen.bodies[b], moved_.x[b].alpha_WB);
    const double size = std::max(inertia.mass * moved_.x[b].a_WC.norm(), n.norm() / model_.length());
    if (!std::isnan(largest) && !(size <= largest)) largest = size, culprit = static_cast<int>(b);
  }
  certificate_.look(disturbed_, seen.t, largest, culprit);
  if (largest < 1e-9 && wanted_.v.isZero(0)) certificate_.look(falls_, seen.t, V_dot);
  certificate_.look(still_, seen.t, wanted_.v.norm());
  tracking_[0].look(seen.t, error_.norm());
  show(V_, V), show(V_dot_, V_dot), show(promised_, promised);
}

}  // namespace invar
