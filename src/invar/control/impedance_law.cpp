// SPDX-License-Identifier: Apache-2.0
//
// Over a step h with the mean position error x̃_m and its difference Δx̃ = h ẋ̃: the spring's work -K x̃_m · Δx̃ is -Δ(½ x̃ᵀ K x̃), and
// the damper takes h ẋ̃ᵀ D ẋ̃. Mean arms make Δx̃ = h (v + ω × r) true, and joints over the step pass the wrenches on without loss.
#include "invar/control/impedance_law.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "invar/control/equal_bodies.hpp"
#include "invar/mech/passive.hpp"
#include "invar/mech/projection.hpp"
#include "invar/mech/tendons.hpp"
#include "invar/mech/unreduced.hpp"

namespace invar {
namespace {

constexpr double kReach = 1e-9;  // of the largest mobility: directions below it cannot be reached
// Of the mobility that the body would have alone, all bodies being equal: what nothing moves keeps no more, by rounding.
constexpr double kUnmoved = 1e-11;
constexpr double kLookAhead = 1e-2;  // rad, of the body that turns most: so far on a dead centre is left behind

// Of the point's coordinates and of all freedoms; balls and free joints have no coordinates that a filter could see.
std::vector<bool> winding(const Model& model) {
  std::vector<bool> out(3 + static_cast<std::size_t>(model.nv()), false);
  for (const Joint& joint : model.joints())
    for (int k = 0; k < joint.nv; ++k) out[static_cast<std::size_t>(3 + joint.v0 + k)] = joint.winds(k);
  return out;
}

// The mechanism with equal bodies, to ask what joints allow at all: no mass enters.
class Geometry {
 public:
  explicit Geometry(const Model& model) : model_(with_equal_bodies(model)), scales_(scales_of(model_)), inverse_(model_) {}

  /// Whether joints hold a point of a body where it is, there and a little further along a motion that they allow: at a dead
  /// centre a point rests at that very pose only. Where no pose is found there nothing is held.
  bool holds(const Bodies& bodies, int body, const Vec3& p_CE) {
    if (!rests(bodies, body, p_CE)) return false;
    Bodies further = bodies;
    return go_on(further, body) && rests(further, body, p_CE);
  }

 private:
  bool rests(const Bodies& bodies, int body, const Vec3& p_CE) {
    if (!inverse_.at(bodies).ok()) return false;
    const auto b = static_cast<std::size_t>(body);
    const Vec3 arm = bodies[b].q_WB * p_CE;
    Port port(bodies.size());
    Accelerations w(bodies.size());
    double mobility = 0;
    for (int k = 0; k < 3; ++k) {
      port[b] = {arm.cross(Vec3::Unit(k)), Vec3::Unit(k)};
      if (!inverse_.apply(&port, nullptr, w).ok()) return false;
      mobility += (w[b].a_WC + w[b].alpha_WB.cross(arm))[k];
    }
    const double length = scales_.length_at(body);
    return mobility < kUnmoved * (3 + 2 * arm.squaredNorm() / (length * length));
  }

  // All bodies push, each in a direction of its own, fixed in it; those connected with `body` move.
  bool go_on(Bodies& bodies, int body) {
    Port port(bodies.size());
    Accelerations w(bodies.size());
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      const double k = static_cast<double>(b + 1), length = scales_.length_at(static_cast<int>(b));
      const Vec3 way = bodies[b].q_WB * Vec3(std::cos(k), std::sin(k), std::cos(2.4 * k));
      port[b] = {length * length * way, length * way};
    }
    if (!inverse_.apply(&port, nullptr, w).ok()) return false;
    const auto together = [&](std::size_t b) {
      return scales_.part_of_body[b] == scales_.part_of_body[static_cast<std::size_t>(body)];
    };
    double fastest = 0;
    for (std::size_t b = 0; b < w.size(); ++b)
      if (together(b)) fastest = std::max({fastest, w[b].alpha_WB.norm(), w[b].a_WC.norm() / scales_.length_at(body)});
    // Where nothing moves, rounding must not be taken for a way.
    if (!(fastest > std::sqrt(kUnmoved))) return true;
    for (std::size_t b = 0; b < w.size(); ++b)
      if (together(b)) {
        bodies[b].p_WC += kLookAhead / fastest * w[b].a_WC;
        bodies[b].q_WB = turned(bodies[b].q_WB, kLookAhead / fastest * w[b].alpha_WB);
      }
    Unreduced solver(model_);
    return Projection(model_, solver).positions(bodies, VecX::Zero(model_.nv()), 1e-6, 20).ok();
  }

  Model model_;
  Scales scales_;
  ConstrainedInverse inverse_;
};

}  // namespace

ImpedanceLaw::ImpedanceLaw(const Model& model, ImpedanceSpec spec)
    : model_(model),
      spec_(std::move(spec)),
      inverse_(model),
      own_(model),
      filter_(spec_.filter, winding(model)),
      moved_(model),
      tree_(spanning_tree(model)),
      position_(VecX::Zero(3 + model.nv())),
      change_(position_),
      offset_(position_),
      joint_rate_(VecX::Zero(model.nv())),
      port_(model.bodies().size()),
      wanted_port_(port_),
      acts_(port_),
      carried_(model.joints().size()),
      efforts_(joint_rate_),
      node_(model.bodies().size()),
      mean_(node_) {
  V_ = read({"V", "J", "kinetic energy, that of the virtual spring and of the filter"});
  V_dot_ = read({"V_dot", "W", "its derivative, from the accelerations of the plant"});
  promised_ = read({"V_dot_promised", "W", "what dampers take and what comes from outside"});
  target_at_ = read({"reference_" + spec_.name + "_p", "m", "where the point is drawn to, World", 3});
  stiffness_ = read({"stiffness_xx", "N/m", "of the point at its target, in what it can reach; World"});
  for (const char* entry : {"yy", "zz", "xy", "xz", "yz"}) read({std::string("stiffness_") + entry, "N/m", "see stiffness_xx"});
  tracking_.push_back({spec_.name + ".position", "m"});
  certificate_.law = spec_.filter > 0 ? "C (44), impedance from positions" : "C (44), impedance";
  certificate_.guarantee = "passive: with the target at rest and nothing from outside V never rises";
  defined_ = certificate_.add({"law_is_defined", "the law can be evaluated", "1", 0, {}});
  passive_clause_ = certificate_.add({"V_dot_as_promised", "|V_dot - promised|, over the powers at play", "1", kRoundOff, {}});
  falls_ = certificate_.add({"V_falls", "V_dot while nothing acts from outside and the target rests", "W", 0, {}});
  disturbed_ =
      certificate_.add({"disturbance_is_absent", "|M A d|: forces from outside, errors of the model, commands that were held",
                        "N", 0, names_of(model.bodies())});
  still_ = certificate_.add({"target_rests", "speed of the target", "m/s", 0, {}});
  if (spec_.over_steps) {
    step_clause_ =
        certificate_.add({"V_falls_over_steps",
                          "|change of V over a step that nothing disturbs + what dampers take in it|, over the energies at play",
                          "1",
                          1e-13,
                          {}});
    balance_ = read({"V_over_step", "1", "change of V over the last step with what dampers took, over the energies at play"});
  }
  if (!spec_.through_joints) return;
  for (const TreeNode& node : tree_.nodes) {
    if (node.joint < 0) continue;
    const std::string& name = model.joints()[static_cast<std::size_t>(node.joint)].name;
    carried_readings_.emplace_back(node.joint,
                                   read({"carried_force_" + name, "N", "force that the joint carries of the command"}));
    read({"carried_moment_" + name, "N m", "moment that the joint carries of the command, beside its efforts"});
  }
}

std::vector<Mark> ImpedanceLaw::marks() const {
  const Pose at{Quat::Identity(), spec_.p_BE};
  return {{"reference_" + spec_.name, spec_.body, at}, {"stiffness", spec_.body, at}};
}

std::string ImpedanceLaw::objection(Instant at, const Bodies& bodies) {
  const auto name = [&](int j) { return model_.joints()[static_cast<std::size_t>(j)].name; };
  if (const int j = inverse_.rotors(); j >= 0)
    return fmt::format("joint '{}' has an armature, which this law does not know", name(j));
  // A wrench on a part that floats passes through no joint.
  int root = tree_.node_of_body[static_cast<std::size_t>(spec_.body)];
  while (tree_.nodes[static_cast<std::size_t>(root)].inner >= 0) root = tree_.nodes[static_cast<std::size_t>(root)].inner;
  for (int n = 0; spec_.through_joints && n < static_cast<int>(tree_.nodes.size()); ++n)
    if (const TreeNode& node = tree_.nodes[static_cast<std::size_t>(n)];
        node.joint < 0 && (n == root || !model_.gravity().isZero(0)))
      return fmt::format("body '{}' floats: no joint holds what the law asks for; take through = \"port\"",
                         model_.bodies()[static_cast<std::size_t>(node.body)].name);
  for (std::size_t j = 0; spec_.filter > 0 && spec_.joint_damping > 0 && j < model_.joints().size(); ++j)
    if (model_.joints()[j].nq != model_.joints()[j].nv)
      return fmt::format(
          "joint '{}' has an attitude, not an angle: its rates cannot be filtered from positions; "
          "take joint_damping = 0",
          name(static_cast<int>(j)));
  law(at, bodies);
  if (!is_finite()) return "its command at the start is not finite: the spring is too stiff or too far";
  const Body& body = model_.bodies()[static_cast<std::size_t>(spec_.body)];
  if (Geometry(model_).holds(bodies, spec_.body, spec_.p_BE - body.inertia.p_BC))
    return fmt::format("its point on body '{}' cannot move at this start: joints hold it in every direction", body.name);
  return {};
}

bool ImpedanceLaw::is_finite() const {
  bool out = efforts_.allFinite();
  for (const Wrench& w : port_) out = out && w.force.allFinite() && w.moment.allFinite();
  return out;
}

// From the leaves inwards: what a joint has to carry of wrenches on all bodies beyond it, along its freedoms and beside them.
void ImpedanceLaw::efforts_of() {
  acts_ = port_;
  for (auto n = tree_.nodes.rbegin(); n != tree_.nodes.rend(); ++n) {
    if (n->joint < 0) continue;
    const Joint& joint = model_.joints()[static_cast<std::size_t>(n->joint)];
    const JointOver& at = own_.joint(n->joint);
    const Wrench beyond =
        acts_[static_cast<std::size_t>(n->body)].about(n->reversed ? -at.arm_parent : -at.arm_child);  // at the joint
    const Wrench on_child = n->reversed ? -beyond : beyond;
    for (int k = 0; k < joint.nv; ++k)
      efforts_[joint.v0 + k] = on_child.moment.dot(at.S.col(k).head<3>()) + on_child.force.dot(at.S.col(k).tail<3>());
    carried_[static_cast<std::size_t>(n->joint)] = on_child - effort_wrench(at, efforts_.segment(joint.v0, joint.nv));
    if (n->inner >= 0)
      acts_[static_cast<std::size_t>(tree_.nodes[static_cast<std::size_t>(n->inner)].body)] +=
          beyond.about(n->reversed ? at.arm_child : at.arm_parent);
  }
}

// Wrenches into port_, efforts into efforts_.
void ImpedanceLaw::law(Instant at, const Bodies& bodies) {
  const double h = at.span;
  own_.at(bodies, h);
  const auto b = static_cast<std::size_t>(spec_.body);
  const BodyState& body = bodies[b];
  target_ = spec_.path(at);
  if (h != 0) {
    const Vec3 begin = spec_.path(Instant(at.t - 0.5 * h)).p, end = spec_.path(Instant(at.t + 0.5 * h)).p;
    target_.p = 0.5 * (begin + end), target_.v = (end - begin) / h;
  }
  arm_ = mean_arm(body.q_WB * (spec_.p_BE - model_.bodies()[b].inertia.p_BC), body.w_WB, h);
  error_ = body.p_WC + arm_ - target_.p;
  error_rate_ = body.v_WC + body.w_WB.cross(arm_) - target_.v;
  rate_ = error_rate_;
  joint_rate_ = own_.rates();
  if (spec_.filter > 0) {
    position_.head<3>() = error_ - 0.5 * h * error_rate_;
    for (const Joint& joint : model_.joints())
      if (joint.nq == joint.nv) position_.segment(3 + joint.v0, joint.nv) = own_.coordinates().segment(joint.q0, joint.nq);
    change_ << h * error_rate_, h * joint_rate_;
    if (h == 0)
      filter_.at(at.t, position_, offset_);
    else
      filter_.over(at.t - 0.5 * h, h, position_, change_, offset_);
    rate_ = spec_.filter * offset_.head<3>();
    joint_rate_ = spec_.filter * offset_.tail(joint_rate_.size());
  }
  force_ = -(spec_.stiffness * error_ + spec_.damping * rate_);
  for (Wrench& w : port_) w = Wrench{};
  own_.add_at_rest(port_);  // what holds the mechanism where it is is the opposite
  for (Wrench& w : port_) w = -w;
  port_[b] += {arm_.cross(force_), force_};
  wanted_port_ = port_;
  efforts_.setZero();
  if (spec_.through_joints) {
    efforts_of();
    for (Wrench& w : port_) w = Wrench{};
  }
  efforts_ -= spec_.joint_damping * joint_rate_;
}

Verdict ImpedanceLaw::command(Instant at, const Bodies& bodies, Load& out) {
  law(at, bodies);
  if (at.span != 0) span_ = at.span;
  for (std::size_t b = 0; b < port_.size(); ++b) out.port[b] += port_[b];
  out.efforts += efforts_;
  return {};
}

double ImpedanceLaw::kinetic(const Bodies& bodies) const {
  double sum = 0;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const BodyState& at = bodies[b];
    const Body& body = model_.bodies()[b];
    sum += 0.5 * (body.inertia.mass * at.v_WC.squaredNorm() + at.w_WB.dot(spun(body, at, at.w_WB)));
  }
  return sum;
}

// In the virtual spring and the filter, at the last evaluation.
double ImpedanceLaw::stored() const {
  const double spring = 0.5 * error_.dot(spec_.stiffness * error_);
  if (!(spec_.filter > 0)) return spring;
  const Vec3 u = offset_.head<3>();
  return spring +
         0.5 * spec_.filter * (u.dot(spec_.damping * u) + spec_.joint_damping * offset_.tail(joint_rate_.size()).squaredNorm());
}

// What the law's dampers take, W.
double ImpedanceLaw::damped() const { return rate_.dot(spec_.damping * rate_) + spec_.joint_damping * joint_rate_.squaredNorm(); }

// Energies whose differences make up a step: V, springs and tendons, weights over the length of the model.
double ImpedanceLaw::at_play(const Bodies& bodies) const {
  double weight = 0;
  for (const Body& body : model_.bodies()) weight += body.inertia.mass;
  return weight * model_.gravity().norm() * model_.length() + elastic_energy(model_, own_.coordinates()) +
         tendon_energy(model_, bodies);
}

// The mean motion between two nodes is all that the law needs to know of the step.
void ImpedanceLaw::look_at_step(double t, double h, const Bodies& bodies) {
  for (std::size_t b = 0; b < bodies.size(); ++b) mean_[b] = mean_motion(node_[b], bodies[b], h);
  law(Instant(t - 0.5 * h, t - 0.5 * h, h), mean_);
  const double taken = h * (damped() + own_.lost()), pulled = h * force_.dot(target_.v);
  law(t, bodies);
  filter_.settle(t, position_, true);
  filter_.at(t, position_, offset_);
  const double now = kinetic(bodies) + stored(), scale = now + at_play(bodies);
  at_play_ = std::max({at_play_, scale, stored_});
  const double gap = at_play_ > 0 ? (now - stored_ + taken - pulled) / at_play_ : 0.0;
  certificate_.look(step_clause_, t, std::abs(gap));
  show(balance_, gap);
}

void ImpedanceLaw::settle(Instant at, const Bodies& bodies) {
  if (!spec_.over_steps && !(spec_.filter > 0)) return;
  // A step that was divided was asked for in parts: its balance is that of the parts, and not looked at.
  const bool whole = span_ != 0 && std::abs(span_ - (at.t - t_)) <= 1e-9 * span_;
  if (spec_.over_steps && known_ && whole) {
    look_at_step(at.t, at.t - t_, bodies);
  } else {
    law(Instant(at.t), bodies);
    filter_.settle(at.t, position_, span_ != 0);
    filter_.at(at.t, position_, offset_);
  }
  stored_ = kinetic(bodies) + stored();
  t_ = at.t;
  node_ = bodies;
  known_ = true;
  span_ = 0;
}

void ImpedanceLaw::witness(const Witness& seen) {
  law(seen.t, seen.bodies);
  const bool defined = inverse_.at(seen.bodies).ok() && is_finite();
  certificate_.look(defined_, seen.t, defined ? 0 : 1);
  if (!defined) return;
  for (const auto& [joint, reading] : carried_readings_) {
    show(reading, carried_[static_cast<std::size_t>(joint)].force.norm());
    show(reading + 1, carried_[static_cast<std::size_t>(joint)].moment.norm());
  }
  // What the nominal bodies get by what is known: the law, what acts by itself at this motion, reactions; and the sizes of it
  // all.
  const double length = model_.length(), gravity = model_.gravity().norm();
  const auto size = [length](const Wrench& w) { return w.force.norm() + w.moment.norm() / length; };
  for (Wrench& w : acts_) w = Wrench{};
  const double lost = inverse_.add_own_forces(false, acts_);
  double force = 0, speed = target_.v.norm();
  for (std::size_t b = 0; b < acts_.size(); ++b) {
    force += size(acts_[b]) + size(wanted_port_[b]);
    acts_[b] += port_[b];
  }
  for (const Wrench& reaction : seen.reactions) force += size(reaction);
  inverse_.add_efforts(efforts_, acts_);
  inverse_.add_reactions(seen.reactions, acts_);
  double kinetic_rate = 0, outside = 0;
  for (std::size_t b = 0; b < seen.bodies.size(); ++b) {
    const BodyState& at = seen.bodies[b];
    const BodyAcceleration& a = seen.accelerations[b];
    const double mass = model_.bodies()[b].inertia.mass;
    const Vec3 f = mass * a.a_WC,
               n = spun(model_.bodies()[b], at, a.alpha_WB) + at.w_WB.cross(spun(model_.bodies()[b], at, at.w_WB));
    const Vec3 d = f - acts_[b].force, m = n - acts_[b].moment;
    kinetic_rate += f.dot(at.v_WC) + n.dot(at.w_WB);
    outside += d.dot(at.v_WC) + m.dot(at.w_WB);
    force += size({n, f}) + mass * gravity;
    speed = std::max(speed, at.v_WC.norm() + length * at.w_WB.norm());
    acts_[b] = {m, d};
    moved_.x[b] = {at.v_WC, at.w_WB};
  }
  const double drift = inverse_.power_of_reactions(seen.reactions, moved_.x);  // along velocities that joints do not quite allow
  double V_dot = kinetic_rate + error_rate_.dot(spec_.stiffness * error_);
  if (spec_.filter > 0)
    V_dot += rate_.dot(spec_.damping * (error_rate_ - rate_)) + spec_.joint_damping * joint_rate_.dot(own_.rates() - joint_rate_);
  // A target that moves gives work through the spring and the damper.
  const double pulled = force_.dot(target_.v), taken = damped() + lost, promised = outside + pulled - taken;
  const double power = force * speed + taken, gap = std::abs(V_dot - promised - drift);
  certificate_.look(passive_clause_, seen.t, gap == 0 ? 0.0 : gap / power);
  look_at_disturbance(seen, V_dot, force, power);
  look_at_stiffness();
  tracking_[0].look(seen.t, error_.norm());
  show(V_, kinetic(seen.bodies) + stored()), show(V_dot_, V_dot), show(promised_, promised);
  show(target_at_, target_.p);
}

// Of what disturbs, acts_, only what moves something counts.
void ImpedanceLaw::look_at_disturbance(const Witness& seen, double V_dot, double force, double power) {
  if (!inverse_.apply(&acts_, nullptr, moved_).ok()) return;
  const LargestWrench largest = largest_wrench(model_, seen.bodies, moved_.x);
  certificate_.look(disturbed_, seen.t, largest.size, largest.body, round_off(force));
  if (largest.size <= round_off(force) && target_.v.isZero(0)) certificate_.look(falls_, seen.t, V_dot, -1, round_off(power));
  certificate_.look(still_, seen.t, target_.v.norm());
}

// J A Jᵀ of the point at the bodies of inverse_: its accelerations under unit forces, 1/kg.
bool ImpedanceLaw::mobility_of_point(Mat3& out) {
  const auto b = static_cast<std::size_t>(spec_.body);
  for (int k = 0; k < 3; ++k) {
    for (Wrench& w : acts_) w = Wrench{};
    acts_[b] = {arm_.cross(Vec3::Unit(k)), Vec3::Unit(k)};
    if (!inverse_.apply(&acts_, nullptr, moved_).ok()) return false;
    out.col(k) = moved_.x[b].a_WC + moved_.x[b].alpha_WB.cross(arm_);
  }
  return true;
}

// The virtual spring within the directions in which the point can move: the range of its mobility.
void ImpedanceLaw::look_at_stiffness() {
  Mat3 mobility;
  if (!mobility_of_point(mobility)) return;
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(0.5 * (mobility + mobility.transpose()));
  Mat3 P = Mat3::Zero();
  for (int k = 0; k < 3; ++k)
    if (eigen.eigenvalues()[k] > kReach * eigen.eigenvalues()[2])
      P += eigen.eigenvectors().col(k) * eigen.eigenvectors().col(k).transpose();
  const Mat3 K = P * spec_.stiffness * P;
  const double entries[] = {K(0, 0), K(1, 1), K(2, 2), K(0, 1), K(0, 2), K(1, 2)};
  for (std::size_t k = 0; k < 6; ++k) show(stiffness_ + k, entries[k]);
}

}  // namespace invar
