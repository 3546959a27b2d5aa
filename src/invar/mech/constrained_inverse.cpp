// SPDX-License-Identifier: Apache-2.0
//
// A joint's rows act on the relative twist X = W_child - W_parent at the joint point, W = (w, v + w × r) with the arm r from the
// centre of mass. Their directions turn with F, at the rate of the parent P, so along the motion
//   C (Ẇ_child - Ẇ_parent) = C b,   b = w_P × X - (w_child^w × ṙ_child - w_parent^w × ṙ_parent)
// where the upper w marks rates of the field, all others are those of the motion. A universal joint's row along y = e_z × x adds
// y q̇0 v1^w, because x turns by q̇0 e_z in F. Freedoms are read by dual directions that turn with F as well, so their derivative
// is dual · (Ẇ_child - Ẇ_parent - b) without that addition, which no freedom sees.
// A reaction with components that are constant in F changes by w_P × itself, and its moments by the motion of the arms.
#include "invar/mech/constrained_inverse.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/passive.hpp"
#include "invar/mech/tendons.hpp"

namespace invar {
namespace {

// The rate of a freedom in a relative twist.
double read(const JointAt& at, int freedom, const Twist& t) {
  return at.dual.col(freedom).head<3>().dot(t.angular) + at.dual.col(freedom).tail<3>().dot(t.linear);
}

}  // namespace

LargestWrench largest_wrench(const Model& model, const Bodies& bodies, const Accelerations& x) {
  LargestWrench out{0, -1};
  for (std::size_t b = 0; b < x.size(); ++b) {
    const Body& body = model.bodies()[b];
    const double size =
        std::hypot(body.inertia.mass * x[b].a_WC.norm(), spun(body, bodies[b], x[b].alpha_WB).norm() / model.length());
    if (!std::isnan(out.size) && !(size <= out.size)) out = {size, static_cast<int>(b)};
  }
  return out;
}

ConstrainedInverse::ConstrainedInverse(const Model& model)
    : model_(model),
      solver_(model),
      bodies_(model.bodies().size()),
      rest_(bodies_),
      joints_(model.joints().size()),
      arm_rate_(model.joints().size(), Vec3::Zero()),
      coupling_q_(VecX::Zero(static_cast<Eigen::Index>(model.couplings().size()))),
      coupling_bias_(coupling_q_),
      q_(VecX::Zero(model.nq())),
      v_(VecX::Zero(model.nv())),
      still_(v_),
      efforts_(v_),
      other_(v_),
      bias_(model.joints().size()),
      unasked_(model.joints().size()),
      port_(model.bodies().size()) {}

int ConstrainedInverse::rotors() const {
  for (std::size_t j = 0; j < model_.joints().size(); ++j)
    if (model_.joints()[j].has_armature()) return static_cast<int>(j);
  return -1;
}

Verdict ConstrainedInverse::at(const Bodies& bodies) {
  bodies_ = bodies;
  solved_ = false;
  for (int j = 0; j < static_cast<int>(joints_.size()); ++j) {
    JointAt& at = joints_[static_cast<std::size_t>(j)];
    joint_at(model_, j, bodies, true, at);
    const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
    std::copy(at.q, at.q + joint.nq, q_.data() + joint.q0);
    std::copy(at.v, at.v + joint.nv, v_.data() + joint.v0);
    const BodyState &parent = body_state(bodies, joint.parent), &child = body_state(bodies, joint.child);
    arm_rate_[static_cast<std::size_t>(j)] = child.v_WC + child.w_WB.cross(at.arm_child) - parent.v_WC;
  }
  for (Eigen::Index c = 0; c < coupling_q_.size(); ++c) {
    const Coupling& coupling = model_.couplings()[static_cast<std::size_t>(c)];
    coupling_q_[c] = joint(coupling.of).q[coupling.of_freedom];
  }
  return {};
}

Verdict ConstrainedInverse::solve(KktInput input, Accelerations& x, std::vector<Wrench>& reactions) {
  input.dynamics = false, input.settled = true, input.again = solved_;
  input.coupling_q = &coupling_q_;
  const Verdict verdict = solver_.solve(bodies_, input, x, reactions);
  solved_ = verdict.ok();
  return verdict;
}

Verdict ConstrainedInverse::apply(const Port* port, const VecX* efforts, Field& w) {
  const Verdict verdict = solve({.port = port, .efforts = efforts}, w.x, w.reactions);
  for (Eigen::Index c = 0; c < w.couplings.size(); ++c) w.couplings[c] = solver_.coupling_effort(static_cast<int>(c));
  return verdict;
}

Verdict ConstrainedInverse::apply(const Port* port, const VecX* efforts, Accelerations& w) {
  return solve({.reactions = false, .port = port, .efforts = efforts}, w, unasked_);
}

// Relative twist of a field at the joint point, World.
Twist ConstrainedInverse::between(int j, const Accelerations& x) const {
  const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
  const JointAt& at = this->joint(j);
  const BodyAcceleration& child = x[static_cast<std::size_t>(joint.child)];
  Twist t{child.alpha_WB, child.a_WC + child.alpha_WB.cross(at.arm_child)};
  if (joint.parent != kWorld) {
    const BodyAcceleration& parent = x[static_cast<std::size_t>(joint.parent)];
    t.angular -= parent.alpha_WB;
    t.linear -= parent.a_WC + parent.alpha_WB.cross(at.arm_parent);
  }
  return t;
}

// The b of the head of this file.
Twist ConstrainedInverse::convection(int j, const Accelerations& w) const {
  const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
  const JointAt& at = this->joint(j);
  const BodyState &parent = body_state(bodies_, joint.parent), &child = body_state(bodies_, joint.child);
  const Twist X = between(j, w);
  Twist b{parent.w_WB.cross(X.angular), parent.w_WB.cross(X.linear)};
  b.linear -= w[static_cast<std::size_t>(joint.child)].alpha_WB.cross(child.w_WB.cross(at.arm_child));
  if (joint.parent != kWorld)
    b.linear += w[static_cast<std::size_t>(joint.parent)].alpha_WB.cross(arm_rate_[static_cast<std::size_t>(j)]);
  return b;
}

Verdict ConstrainedInverse::follow(const Accelerations& w, const Port& port, const VecX* efforts, Accelerations& x) {
  for (int j = 0; j < static_cast<int>(bias_.size()); ++j) {
    const JointAt& at = joint(j);
    Twist& b = bias_[static_cast<std::size_t>(j)];
    b = convection(j, w);
    // Along the rows only: what freedoms do is not said here.
    for (int k = 0; k < at.dual.cols(); ++k) {
      const double rate = read(at, k, b);
      b.angular -= rate * at.S.col(k).head<3>(), b.linear -= rate * at.S.col(k).tail<3>();
    }
    if (model_.joints()[static_cast<std::size_t>(j)].facts->turning() == Turning::TwoAxes) {
      const Vec3 z = at.S.col(0).head<3>(), x_axis = at.S.col(1).head<3>();
      b.angular += at.v[0] * x_axis.dot(between(j, w).angular) * z.cross(x_axis);
    }
  }
  for (Eigen::Index c = 0; c < coupling_bias_.size(); ++c) {
    const Coupling& coupling = model_.couplings()[static_cast<std::size_t>(c)];
    const Driven p = driven_by(coupling, coupling_q_[c]);
    coupling_bias_[c] = read(joint(coupling.joint), coupling.freedom, convection(coupling.joint, w)) -
                        p.slope * read(joint(coupling.of), coupling.of_freedom, convection(coupling.of, w)) +
                        p.curvature * joint(coupling.of).v[coupling.of_freedom] *
                            read(joint(coupling.of), coupling.of_freedom, between(coupling.of, w));
  }
  return solve({.reactions = false, .port = &port, .efforts = efforts, .bias = &bias_, .coupling_bias = &coupling_bias_}, x,
               unasked_);
}

Verdict ConstrainedInverse::derivative(const Field& w, const Port& f_dot, Accelerations& w_dot) {
  port_ = f_dot;
  // -Ṁ w, with d/dt (I w) = ω × I w - I (ω × w) for a field that stays.
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    const Body& body = model_.bodies()[b];
    const Vec3 &turn = bodies_[b].w_WB, &along = w.x[b].alpha_WB;
    port_[b].moment -= turn.cross(spun(body, bodies_[b], along)) - spun(body, bodies_[b], turn.cross(along));
  }
  for (int j = 0; j < static_cast<int>(joints_.size()); ++j) {
    const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
    Vec3 turning = body_state(bodies_, joint.parent).w_WB;
    if (joint.facts->turning() == Turning::TwoAxes) turning += this->joint(j).v[0] * this->joint(j).S.col(0).head<3>();
    add_rate(j, w.reactions[static_cast<std::size_t>(j)], turning, port_);
  }
  add_coupling_rates(w.couplings, port_);
  return follow(w.x, port_, nullptr, w_dot);
}

void ConstrainedInverse::add(int j, const Wrench& on_parent, Port& port) const {
  const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
  const JointAt& at = this->joint(j);
  port[static_cast<std::size_t>(joint.child)] -= on_parent.about(at.arm_child);
  if (joint.parent != kWorld) port[static_cast<std::size_t>(joint.parent)] += on_parent.about(at.arm_parent);
}

// The derivative of what `add` adds, for a moment that turns like `turning` and a force that turns with the parent.
void ConstrainedInverse::add_rate(int j, const Wrench& on_parent, const Vec3& turning, Port& port) const {
  const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
  const JointAt& at = this->joint(j);
  const BodyState& child = body_state(bodies_, joint.child);
  const Wrench rate{turning.cross(on_parent.moment), body_state(bodies_, joint.parent).w_WB.cross(on_parent.force)};
  add(j, rate, port);
  port[static_cast<std::size_t>(joint.child)].moment -= child.w_WB.cross(at.arm_child).cross(on_parent.force);
  if (joint.parent != kWorld)
    port[static_cast<std::size_t>(joint.parent)].moment += arm_rate_[static_cast<std::size_t>(j)].cross(on_parent.force);
}

// The derivative of the wrench of an effort on one freedom.
void ConstrainedInverse::add_effort_rate(int j, int freedom, double effort, double effort_rate, Port& port) const {
  const JointAt& at = joint(j);
  const Joint& of = model_.joints()[static_cast<std::size_t>(j)];
  const Vec6 dual = at.dual.col(freedom);
  const Wrench unit{-dual.head<3>(), -dual.tail<3>()};  // on the parent
  Vec3 turning = body_state(bodies_, of.parent).w_WB;
  if (of.facts->turning() == Turning::TwoAxes && freedom == 1) turning += at.v[0] * at.S.col(0).head<3>();
  add_rate(j, effort * unit, turning, port);
  add(j, effort_rate * unit, port);
}

// A coupling pulls with its effort on the driven freedom and with -slope times it on the driving one.
void ConstrainedInverse::add_coupling_rates(const VecX& efforts, Port& port) const {
  for (Eigen::Index c = 0; c < efforts.size(); ++c) {
    const Coupling& coupling = model_.couplings()[static_cast<std::size_t>(c)];
    const Driven p = driven_by(coupling, coupling_q_[c]);
    add_effort_rate(coupling.joint, coupling.freedom, efforts[c], 0, port);
    add_effort_rate(coupling.of, coupling.of_freedom, -p.slope * efforts[c],
                    -p.curvature * joint(coupling.of).v[coupling.of_freedom] * efforts[c], port);
  }
}

void ConstrainedInverse::rates(const Accelerations& w, VecX& v) const {
  for (int j = 0; j < static_cast<int>(joints_.size()); ++j) {
    const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
    const Twist t = between(j, w);
    for (int k = 0; k < joint.nv; ++k) v[joint.v0 + k] = read(this->joint(j), k, t);
  }
}

void ConstrainedInverse::accelerations(const Accelerations& w, const Accelerations& x, VecX& vdot) const {
  for (int j = 0; j < static_cast<int>(joints_.size()); ++j) {
    const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
    const Twist t = between(j, x) - convection(j, w);
    for (int k = 0; k < joint.nv; ++k) vdot[joint.v0 + k] = read(this->joint(j), k, t);
  }
}

double ConstrainedInverse::violation(const Accelerations& w, int& joint) const {
  double worst = 0;
  joint = -1;
  for (int j = 0; j < static_cast<int>(joints_.size()); ++j) {
    const Twist t = between(j, w);
    const Rows& C = this->joint(j).C;
    for (int r = 0; r < C.rows(); ++r) {
      const Vec6 row = C.row(r).transpose();
      const double rate = std::abs(row.head<3>().dot(t.angular) + row.tail<3>().dot(t.linear)) / row_size(row, model_.length());
      if (!std::isnan(worst) && !(rate <= worst)) worst = rate, joint = j;
    }
  }
  return worst;
}

double ConstrainedInverse::power_of_reactions(const std::vector<Wrench>& reactions, const Accelerations& w) const {
  double sum = 0;
  for (int j = 0; j < static_cast<int>(joints_.size()); ++j) sum -= power(reactions[static_cast<std::size_t>(j)], between(j, w));
  return sum;
}

void ConstrainedInverse::add_reactions(const std::vector<Wrench>& reactions, Port& port) const {
  for (int j = 0; j < static_cast<int>(joints_.size()); ++j) add(j, reactions[static_cast<std::size_t>(j)], port);
}

double ConstrainedInverse::add_own_forces(bool at_rest, Port& port) {
  if (!at_rest) return add_own_forces(bodies_, v_, port);
  rest_ = bodies_;
  for (BodyState& b : rest_) b.v_WC = b.w_WB = Vec3::Zero();
  return add_own_forces(rest_, still_, port);
}

double ConstrainedInverse::add_own_forces(const Accelerations& velocities, Port& port) {
  rest_ = bodies_;
  for (std::size_t b = 0; b < rest_.size(); ++b) rest_[b].v_WC = velocities[b].a_WC, rest_[b].w_WB = velocities[b].alpha_WB;
  rates(velocities, other_);
  return add_own_forces(rest_, other_, port);
}

double ConstrainedInverse::add_own_forces(const Bodies& bodies, const VecX& v, Port& port) {
  for (std::size_t b = 0; b < port.size(); ++b) port[b].force += model_.bodies()[b].inertia.mass * model_.gravity();
  efforts_.setZero();
  double lost = 0;
  add_passive_efforts(model_, q_, v, efforts_, lost);
  add_efforts(efforts_, port);
  add_tendons(model_, bodies, port, lost);
  return lost;
}

void ConstrainedInverse::add_efforts(const VecX& efforts, Port& port) const {
  for (int j = 0; j < static_cast<int>(joints_.size()); ++j) {
    const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
    if (joint.nv > 0) add(j, -effort_wrench(this->joint(j), efforts.segment(joint.v0, joint.nv)), port);
  }
}

void ConstrainedInverse::add_effort_rates(const VecX& efforts, const VecX& rates, Port& port) const {
  for (int j = 0; j < static_cast<int>(joints_.size()); ++j) {
    const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
    for (int k = 0; k < joint.nv; ++k) add_effort_rate(j, k, efforts[joint.v0 + k], rates[joint.v0 + k], port);
  }
}

}  // namespace invar
