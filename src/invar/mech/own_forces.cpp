// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/own_forces.hpp"

#include <algorithm>
#include <span>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/passive.hpp"
#include "invar/mech/tendon_points.hpp"

namespace invar {

OwnForces::OwnForces(const Model& model)
    : model_(model),
      mean_(model.bodies().size()),
      start_(mean_),
      end_(mean_),
      joints_(model.joints().size()),
      q0_(VecX::Zero(model.nq())),
      q1_(q0_),
      v_(VecX::Zero(model.nv())),
      still_(v_),
      efforts_(v_) {
  std::size_t most = 0;
  for (const Tendon& tendon : model.tendons()) most = std::max(most, tendon.points.size());
  p0_.resize(most);
  p1_ = arm_ = force_ = p0_;
}

void OwnForces::at(const Bodies& mean, double h) {
  mean_ = mean;
  h_ = h;
  for (int j = 0; j < static_cast<int>(joints_.size()); ++j) {
    JointOver& over = joints_[static_cast<std::size_t>(j)];
    joint_over(model_, j, mean, h, over);
    const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
    std::copy(over.v, over.v + joint.nv, v_.data() + joint.v0);
  }
  for (std::size_t b = 0; b < mean.size(); ++b) start_[b] = node_of(mean[b], h, -1), end_[b] = node_of(mean[b], h, 1);
  joint_coordinates(model_, start_, q0_, still_);
  if (h != 0) joint_coordinates(model_, end_, q1_, still_);
  still_.setZero();
  for (const Joint& joint : model_.joints())
    for (int k = 0; h != 0 && k < joint.nv && joint.nq == joint.nv; ++k)
      if (joint.winds(k)) q1_[joint.q0 + k] = nearest_turn(q1_[joint.q0 + k], q0_[joint.q0 + k] + h * v_[joint.v0 + k]);
}

Quat OwnForces::ball(const Joint& joint, const VecX& q) const {
  const double* c = q.data() + joint.q0;
  return {c[0], c[1], c[2], c[3]};
}

void OwnForces::add_ball_spring(const Joint& joint) {
  if (!joint.has_spring) return;
  Vec3 stiffness, rest;
  for (std::size_t k = 0; k < 3; ++k)
    stiffness[static_cast<int>(k)] = joint.passive[k].stiffness, rest[static_cast<int>(k)] = joint.passive[k].rest;
  const Quat from = ball(joint, q0_), to = ball(joint, q1_);
  const Vec3 halfway = spherical_spring_halfway(joint.spring_law, stiffness, rest, from, to);
  efforts_.segment<3>(joint.v0) +=
      spherical_spring_exact(joint.spring_law, stiffness, rest, from, to, halfway, h_ * v_.segment<3>(joint.v0));
}

// Efforts of springs and stops.
void OwnForces::add_springs() {
  efforts_.setZero();
  if (h_ == 0) {
    double lost = 0;
    add_passive_efforts(model_, q0_, still_, efforts_, lost);
    return;
  }
  for (const Joint& joint : model_.joints()) {
    if (!joint.has_passive) continue;
    if (joint.facts->ball() == 0) add_ball_spring(joint);
    for (int k = 0; k < joint.nv && joint.nq == joint.nv; ++k)
      efforts_[joint.v0 + k] -=
          spring_and_stop_secant(joint.passive[static_cast<std::size_t>(k)], q0_[joint.q0 + k], q1_[joint.q0 + k]);
  }
}

// Points of a tendon at both nodes, measured from its first body, and their mean arms; how many.
std::size_t OwnForces::place(const Tendon& tendon) {
  const int first = tendon.points[0].body;
  const Vec3 origin = first == kWorld ? tendon.points[0].p_BP : mean_[static_cast<std::size_t>(first)].p_WC;
  for (std::size_t k = 0; k < tendon.points.size(); ++k) {
    const Tendon::Point& point = tendon.points[k];
    force_[k].setZero();
    arm_[k].setZero();
    p0_[k] = p1_[k] = point.p_BP - origin;
    if (point.body == kWorld) continue;
    const BodyState& body = mean_[static_cast<std::size_t>(point.body)];
    const Vec3 halfway = body.q_WB * (point.p_BP - model_.bodies()[static_cast<std::size_t>(point.body)].inertia.p_BC);
    arm_[k] = mean_arm(halfway, body.w_WB, h_);
    const Vec3 middle = (body.p_WC - origin) + arm_[k], way = 0.5 * h_ * (body.v_WC + body.w_WB.cross(arm_[k]));
    p0_[k] = middle - way, p1_[k] = middle + way;
  }
  return tendon.points.size();
}

void OwnForces::add_at_rest(Port& port) {
  for (std::size_t b = 0; b < port.size(); ++b) port[b].force += model_.bodies()[b].inertia.mass * model_.gravity();
  add_springs();
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const Joint& joint = model_.joints()[j];
    if (!joint.has_passive) continue;
    const Wrench w = effort_wrench(joints_[j], efforts_.segment(joint.v0, joint.nv));
    port[static_cast<std::size_t>(joint.child)] += w.about(joints_[j].arm_child);
    if (joint.parent != kWorld) port[static_cast<std::size_t>(joint.parent)] -= w.about(joints_[j].arm_parent);
  }
  for (const Tendon& tendon : model_.tendons()) {
    const std::size_t n = place(tendon);
    const std::span<const Vec3> p0(p0_.data(), n), p1(p1_.data(), n);
    const std::span<Vec3> force(force_.data(), n);
    if (h_ == 0)
      add_forces(tension_at(tendon, p0).elastic, p0, force);
    else
      add_forces(tension_over(tendon, p0, p1, h_).elastic, p0, p1, force);
    for (std::size_t k = 0; k < n; ++k)
      if (const int b = tendon.points[k].body; b != kWorld)
        port[static_cast<std::size_t>(b)] += Wrench{arm_[k].cross(force_[k]), force_[k]};
  }
}

double OwnForces::lost() {
  double sum = 0;
  for (const Joint& joint : model_.joints()) {
    if (!joint.has_passive) continue;
    if (joint.facts->ball() == 0)
      sum += passive_over_step(joint, ball(joint, q0_), ball(joint, q1_), v_.segment<3>(joint.v0), h_).lost;
    for (int k = 0; k < joint.nv && joint.nq == joint.nv; ++k)
      sum += passive_over_step(joint.passive[static_cast<std::size_t>(k)], q0_[joint.q0 + k], q1_[joint.q0 + k], h_).lost;
  }
  for (const Tendon& tendon : model_.tendons()) {
    const std::size_t n = place(tendon);
    sum += tension_over(tendon, {p0_.data(), n}, {p1_.data(), n}, h_).lost / h_;
  }
  return sum;
}

}  // namespace invar
