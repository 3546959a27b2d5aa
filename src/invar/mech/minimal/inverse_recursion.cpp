// SPDX-License-Identifier: Apache-2.0
//
// Outwards, with V = S v and A = S a + bias the motion of M in F, seen from F, at the joint point P on the child:
//   w_child = w_parent + V_w,   alpha_child = alpha_parent + w_parent × V_w + A_w
//   v_child(P) = v_parent(P) + V_v,   a_child(P) = a_parent(P) + 2 w_parent × V_v + A_v
// (reversed where the child is the inner body), and for a point at the arm r from another of the same body
//   v' = v + w × r,   a' = a + alpha × r + w × (w × r).
// Joints outside the tree are measured from the same relations. Inwards, wrenches about the joint points: what the inertia of
// all outer bodies asks for, less what acts on them.
#include "invar/mech/minimal/inverse_recursion.hpp"

#include <algorithm>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/passive.hpp"

namespace invar {
namespace {

template <class S>
Eigen::Matrix<S, 3, 3> hat_of(const Vec3Of<S>& a) {
  Eigen::Matrix<S, 3, 3> m;
  m << S(0), -a.z(), a.y(), a.z(), S(0), -a.x(), -a.y(), a.x(), S(0);
  return m;
}

template <class S>
Vec3Of<S> rigid(const Vec3Of<S>& alpha, const Vec3Of<S>& w, const Vec3Of<S>& arm) {
  return alpha.cross(arm) + w.cross(w.cross(arm));
}

// R turned by the small rotation u.
template <class S>
Eigen::Matrix<S, 3, 3> moved(const Mat3& R, const Vec3Of<S>& u) {
  const Eigen::Matrix<S, 3, 3> value = R.template cast<S>();
  return value + hat_of<S>(u) * value;
}

Vec3 centre(const Model& model, int body) {
  return body == kWorld ? Vec3(Vec3::Zero()) : model.bodies()[static_cast<std::size_t>(body)].inertia.p_BC;
}

}  // namespace

template <class S>
InverseRecursion<S>::InverseRecursion(const JointTree& tree, const VecX& q, const VecX& wound, const Load& load)
    : tree_(tree), model_(tree.model()), q_(q), load_(load), outside_(tree.closures()), bodies_(model_.bodies().size()) {
  const auto count = static_cast<int>(model_.joints().size());
  std::vector<bool> inside(static_cast<std::size_t>(count), false);
  for (const JointTree::Node& n : tree.nodes())
    if (n.joint >= 0) inside[static_cast<std::size_t>(n.joint)] = true;
  for (const int j : outside_) inside[static_cast<std::size_t>(j)] = true;
  for (int j = 0; j < count; ++j)
    if (!inside[static_cast<std::size_t>(j)]) outside_.push_back(j);

  // Values of all coordinates, and what follows from them alone.
  Bodies bodies;
  tree.place(q, VecX::Zero(tree.nv()), bodies);
  VecX all_q = VecX::Zero(model_.nq()), all_v = VecX::Zero(model_.nv());
  joint_coordinates(model_, bodies, all_q, all_v);
  unwind(model_, wound, all_q);
  for (const JointTree::Node& n : tree.nodes())
    if (n.joint >= 0) all_q.segment(model_.joints()[static_cast<std::size_t>(n.joint)].q0, n.nq) = q.segment(n.q0, n.nq);
  joints_.resize(static_cast<std::size_t>(count));
  for (int j = 0; j < count; ++j) {
    const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
    JointAt& at = joints_[static_cast<std::size_t>(j)];
    std::copy_n(all_q.data() + joint.q0, joint.nq, at.q);
    joint.facts->rows(at.q, at.C);
  }
  rows_.setZero(tree.rows());
  rows_rate_.setZero(tree.rows());
}

// Columns, duals and bias of a joint at its displaced coordinates.
template <class S>
void InverseRecursion<S>::face(const Joint& joint, JointAt& at) const {
  Columns motion, dual;
  joint.facts->motion(at.q, motion), joint.facts->dual(at.q, dual);
  at.columns = motion.template cast<S>();
  at.dual = dual.template cast<S>();
  at.bias.setZero();
  at.across.setZero();
  if (joint.facts->steady()) return;
  const Vec3 x = motion.col(1).template head<3>(), y = Vec3::UnitZ().cross(x);
  const V3 moved_x = x.template cast<S>() + at.u[0] * y.template cast<S>();
  at.columns.col(1).template head<3>() = moved_x;
  at.dual.col(1).template head<3>() = moved_x;
  at.across = y.template cast<S>() - at.u[0] * x.template cast<S>();
  at.bias.template head<3>() = (at.v[0] * at.v[1]) * at.across;
}

template <class S>
void InverseRecursion<S>::place_floating(const JointTree::Node& n, const Vector& u, const Vector& v, const Vector& a) {
  BodyAt& b = bodies_[static_cast<std::size_t>(n.body)];
  const Quat attitude(q_[n.q0 + 3], q_[n.q0 + 4], q_[n.q0 + 5], q_[n.q0 + 6]);
  b.p = q_.segment<3>(n.q0).template cast<S>() + u.template segment<3>(n.v0);
  b.R = moved<S>(normalized(attitude).toRotationMatrix(), u.template segment<3>(n.v0 + 3));
  b.v = v.template segment<3>(n.v0);
  b.w = v.template segment<3>(n.v0 + 3);
  b.a = a.template segment<3>(n.v0);
  b.alpha = a.template segment<3>(n.v0 + 3);
}

template <class S>
void InverseRecursion<S>::place_node(const JointTree::Node& n, const Vector& u, const Vector& v, const Vector& a) {
  const Joint& joint = model_.joints()[static_cast<std::size_t>(n.joint)];
  JointAt& at = joints_[static_cast<std::size_t>(n.joint)];
  for (int k = 0; k < n.nv; ++k) at.u[k] = u[n.v0 + k], at.v[k] = v[n.v0 + k], at.a[k] = a[n.v0 + k];
  face(joint, at);
  V6 displacement = V6::Zero(), V = V6::Zero(), A = at.bias;
  for (int k = 0; k < n.nv; ++k) {
    displacement += at.u[k] * at.columns.col(k);
    V += at.v[k] * at.columns.col(k);
    A += at.a[k] * at.columns.col(k);
  }
  const Pose X = n.facts->pose(at.q);
  const M3 R_FM = moved<S>(X.R(), displacement.template head<3>());
  const V3 p_FM = X.p.template cast<S>() + displacement.template tail<3>();

  // Poses.
  const int inner_body = n.inner < 0 ? kWorld : tree_.nodes()[static_cast<std::size_t>(n.inner)].body;
  const BodyAt& in = body(inner_body);
  BodyAt& out = bodies_[static_cast<std::size_t>(n.body)];
  const Pose &X_in = n.reversed ? joint.X_CM : joint.X_PF, &X_out = n.reversed ? joint.X_PF : joint.X_CM;
  const M3 carried = in.R * X_in.R().template cast<S>();  // F, or M where the joint is reversed
  at.R_F = n.reversed ? M3(carried * R_FM.transpose()) : carried;
  const M3 outer = n.reversed ? at.R_F : M3(carried * R_FM);
  out.R = outer * X_out.R().transpose().template cast<S>();
  const V3 anchor = in.R * (X_in.p - centre(model_, inner_body)).template cast<S>(), across = at.R_F * p_FM;
  const V3 to_P = n.reversed ? anchor : V3(anchor + across);
  const V3 own = out.R * (centre(model_, n.body) - X_out.p).template cast<S>();
  const V3 arm = n.reversed ? V3(own - across) : own;
  at.P = in.p + to_P;
  out.p = at.P + arm;

  // Motions.
  const V3 V_w = at.R_F * V.template head<3>(), V_v = at.R_F * V.template tail<3>();
  const V3 A_w = at.R_F * A.template head<3>(), A_v = at.R_F * A.template tail<3>();
  const double sign = n.reversed ? -1.0 : 1.0;
  out.w = in.w + S(sign) * V_w;
  const V3& w_parent = n.reversed ? out.w : in.w;
  out.alpha = in.alpha + S(sign) * (w_parent.cross(V_w) + A_w);
  const V3 v_P = in.v + in.w.cross(to_P) + S(sign) * V_v;
  const V3 a_P = in.a + rigid<S>(in.alpha, in.w, to_P) + S(sign) * (S(2) * w_parent.cross(V_v) + A_v);
  out.v = v_P + out.w.cross(arm);
  out.a = a_P + rigid<S>(out.alpha, out.w, arm);
}

// A joint outside the tree, from the bodies that it joins.
template <class S>
void InverseRecursion<S>::measure(int j) {
  const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
  JointAt& at = joints_[static_cast<std::size_t>(j)];
  const BodyAt &parent = body(joint.parent), &child = body(joint.child);
  at.R_F = parent.R * joint.X_PF.R().template cast<S>();
  const M3 R_M = child.R * joint.X_CM.R().template cast<S>();
  const V3 arm_child = child.R * (joint.X_CM.p - centre(model_, joint.child)).template cast<S>();
  at.P = child.p + arm_child;
  const V3 arm_F = parent.R * (joint.X_PF.p - centre(model_, joint.parent)).template cast<S>();
  const V3 arm_parent = at.P - parent.p;

  // Displacement from the value of its own coordinates.
  const Pose X = joint.facts->pose(at.q);
  const M3 turn = at.R_F.transpose() * R_M * X.R().transpose().template cast<S>();
  V6 displacement, V, A;
  displacement << S(0.5) * (turn(2, 1) - turn(1, 2)), S(0.5) * (turn(0, 2) - turn(2, 0)), S(0.5) * (turn(1, 0) - turn(0, 1)),
      at.R_F.transpose() * (arm_parent - arm_F) - X.p.template cast<S>();
  const V3 w = child.w - parent.w, v = child.v + child.w.cross(arm_child) - parent.v - parent.w.cross(arm_parent);
  const V3 alpha = child.alpha - parent.alpha - parent.w.cross(w);
  const V3 a = child.a + rigid<S>(child.alpha, child.w, arm_child) - parent.a - rigid<S>(parent.alpha, parent.w, arm_parent) -
               S(2) * parent.w.cross(v);
  V << at.R_F.transpose() * w, at.R_F.transpose() * v;
  A << at.R_F.transpose() * alpha, at.R_F.transpose() * a;
  for (int k = 0; k < 6; ++k) at.u[k] = at.v[k] = at.a[k] = S(0);
  face(joint, at);
  for (int k = 0; k < joint.nv; ++k) at.u[k] = at.dual.col(k).dot(displacement);
  face(joint, at);
  for (int k = 0; k < joint.nv; ++k) at.v[k] = at.dual.col(k).dot(V);
  face(joint, at);
  for (int k = 0; k < joint.nv; ++k) at.a[k] = at.dual.col(k).dot(V6(A - at.bias));
  const auto row0 = std::find(outside_.begin(), outside_.end(), j);
  Eigen::Index first = 0;
  for (auto it = outside_.begin(); it != row0; ++it) first += model_.joints()[static_cast<std::size_t>(*it)].rows();
  for (Eigen::Index k = 0; k < joint.rows(); ++k) {
    const V6 C = row(joint, at, k);
    rows_[first + k] = C.dot(V);
    rows_rate_[first + k] = C.dot(V6(A - at.bias));
  }
}

template <class S>
typename InverseRecursion<S>::V6 InverseRecursion<S>::row(const Joint& joint, const JointAt& at, Eigen::Index k) const {
  V6 out = at.C.row(k).transpose().template cast<S>();
  if (!joint.facts->steady() && k == 0) out.template head<3>() = at.across;
  return out;
}

// A derivative of the coupling's polynomial at the driving coordinate.
template <class S>
S InverseRecursion<S>::driving(const Coupling& c, int derivative) const {
  const JointAt& of = joints_[static_cast<std::size_t>(c.of)];
  const S q = of.q[c.of_freedom] + of.u[c.of_freedom];
  S sum(0);
  for (int k = static_cast<int>(c.coefficients.size()) - 1; k >= derivative; --k) {
    double factor = c.coefficients[static_cast<std::size_t>(k)];
    for (int i = 0; i < derivative; ++i) factor *= k - i;
    sum = sum * q + factor;
  }
  return sum;
}

template <class S>
void InverseRecursion<S>::note_rows() {
  Eigen::Index row = rows_.size() - static_cast<Eigen::Index>(model_.couplings().size());
  for (const Coupling& c : model_.couplings()) {
    const JointAt &driven = joints_[static_cast<std::size_t>(c.joint)], &of = joints_[static_cast<std::size_t>(c.of)];
    const S slope = driving(c, 1), rate = of.v[c.of_freedom];
    rows_[row] = driven.v[c.freedom] - slope * rate;
    rows_rate_[row] = driven.a[c.freedom] - slope * of.a[c.of_freedom] - driving(c, 2) * rate * rate;
    ++row;
  }
}

template <class S>
void InverseRecursion<S>::move(const Vector& u, const Vector& v, const Vector& a) {
  for (const JointTree::Node& n : tree_.nodes()) n.joint < 0 ? place_floating(n, u, v, a) : place_node(n, u, v, a);
  for (const int j : outside_) measure(j);
  note_rows();
}

template <class S>
typename InverseRecursion<S>::Vector InverseRecursion<S>::rates() const {
  Vector out(model_.nv());
  for (std::size_t j = 0; j < joints_.size(); ++j)
    for (int k = 0; k < model_.joints()[j].nv; ++k) out[model_.joints()[j].v0 + k] = joints_[j].v[k];
  return out;
}

// What acts on the freedoms of all joints, less what their rotors ask for.
template <class S>
typename InverseRecursion<S>::Vector InverseRecursion<S>::efforts() const {
  Vector out = load_.efforts.template cast<S>();
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const Joint& joint = model_.joints()[j];
    const JointAt& at = joints_[j];
    const int ball = ball_start(joint);
    for (int k = 0; k < joint.nv; ++k) {
      const Passive& p = joint.passive[static_cast<std::size_t>(k)];
      out[joint.v0 + k] += loss_effort<S>(p, at.v[k]) - p.armature * at.a[k];
      if (k < ball) out[joint.v0 + k] += spring_and_stop_effort<S>(p, at.q[k] + at.u[k], at.v[k]);
    }
    if (!joint.has_spring || ball == joint.nv) continue;
    Vec3 stiffness, rest;
    for (int k = 0; k < 3; ++k) {
      stiffness[k] = joint.passive[static_cast<std::size_t>(ball + k)].stiffness;
      rest[k] = joint.passive[static_cast<std::size_t>(ball + k)].rest;
    }
    const double* c = at.q + ball;
    const QuatOf<S> q{S(c[0]), S(c[1]), S(c[2]), S(c[3])};
    const QuatOf<S> turn(S(1), 0.5 * at.u[ball], 0.5 * at.u[ball + 1], 0.5 * at.u[ball + 2]);
    out.template segment<3>(joint.v0 + ball) += ball_spring_moment<S>(joint.spring_law, stiffness, rest, turn * q);
  }
  return out;
}

// As in tendons.cpp.
template <class S>
void InverseRecursion<S>::add_tendons(std::vector<Force>& on) const {
  using std::sqrt;
  for (const Tendon& tendon : model_.tendons()) {
    const std::size_t count = tendon.points.size();
    std::vector<V3> arm(count), v(count), d(count, V3::Zero());
    S stretch = S(-tendon.rest), rate(0);
    for (std::size_t k = 0; k < count; ++k) {
      const Tendon::Point& point = tendon.points[k];
      const BodyAt& b = body(point.body);
      arm[k] = b.R * (point.p_BP - centre(model_, point.body)).template cast<S>();
      v[k] = b.v + b.w.cross(arm[k]);
      if (k == 0) continue;
      const V3 between = (b.p - body(tendon.points[k - 1].body).p) + (arm[k] - arm[k - 1]);
      const S square = between.dot(between);
      if (!(square > S(0))) continue;
      const S length = sqrt(square);
      d[k] = between / length;
      stretch += length;
      rate += d[k].dot(v[k] - v[k - 1]);
    }
    S tension = tendon.stiffness * stretch + tendon.damping * rate;
    if (tendon.tension_only && (!(stretch > S(0)) || !(tension > S(0)))) continue;
    const auto pull = [&](std::size_t k, const V3& force) {
      if (tendon.points[k].body == kWorld) return;
      Force& f = on[static_cast<std::size_t>(tendon.points[k].body)];
      f.force -= force;
      f.moment -= arm[k].cross(force);
    };
    for (std::size_t k = 1; k < count; ++k) {
      const V3 force = tension * d[k];
      pull(k - 1, force);
      pull(k, -force);
    }
  }
}

// Efforts and row forces of the joints outside the tree.
template <class S>
void InverseRecursion<S>::add_outside(const VecX& multipliers, const Vector& effort, std::vector<Force>& on) const {
  Eigen::Index first = 0;
  for (const int j : outside_) {
    const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
    const JointAt& at = joints_[static_cast<std::size_t>(j)];
    V6 F = V6::Zero();
    for (int k = 0; k < joint.nv; ++k) F += effort[joint.v0 + k] * at.dual.col(k);
    for (Eigen::Index k = 0; k < joint.rows(); ++k) F += S(multipliers[first + k]) * row(joint, at, k);
    first += joint.rows();
    const V3 moment = at.R_F * F.template head<3>(), force = at.R_F * F.template tail<3>();
    const auto push = [&](int b, double sign) {
      if (b == kWorld) return;
      Force& f = on[static_cast<std::size_t>(b)];
      f.force -= S(sign) * force;
      f.moment -= S(sign) * (moment + V3(at.P - body(b).p).cross(force));
    };
    push(joint.child, 1);
    push(joint.parent, -1);
  }
}

template <class S>
void InverseRecursion<S>::balance(const VecX& multipliers, Vector& missing) {
  Vector effort = efforts();
  Eigen::Index row = rows_.size() - static_cast<Eigen::Index>(model_.couplings().size());
  for (const Coupling& c : model_.couplings()) {
    const S force(multipliers[row++]);
    effort[model_.joints()[static_cast<std::size_t>(c.joint)].v0 + c.freedom] += force;
    effort[model_.joints()[static_cast<std::size_t>(c.of)].v0 + c.of_freedom] -= driving(c, 1) * force;
  }
  std::vector<Force> on(bodies_.size());
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    const BodyAt& s = bodies_[b];
    const Inertia& inertia = model_.bodies()[b].inertia;
    const M3 I = s.R * inertia.I_C.template cast<S>() * s.R.transpose();
    on[b].moment = I * s.alpha + s.w.cross(I * s.w) - load_.port[b].moment.template cast<S>();
    on[b].force = S(inertia.mass) * (s.a - model_.gravity().template cast<S>()) - load_.port[b].force.template cast<S>();
  }
  add_tendons(on);
  add_outside(multipliers, effort, on);

  missing.setZero(tree_.nv());
  const auto& nodes = tree_.nodes();
  for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
    const Force& f = on[static_cast<std::size_t>(n->body)];
    const BodyAt& s = bodies_[static_cast<std::size_t>(n->body)];
    if (n->joint < 0) {
      missing.template segment<3>(n->v0) = f.force;
      missing.template segment<3>(n->v0 + 3) = f.moment;
      continue;
    }
    const JointAt& at = joints_[static_cast<std::size_t>(n->joint)];
    const V3 moment = f.moment + V3(s.p - at.P).cross(f.force);
    V6 F;
    F << at.R_F.transpose() * moment, at.R_F.transpose() * f.force;
    const double sign = n->reversed ? -1.0 : 1.0;
    const int v0 = model_.joints()[static_cast<std::size_t>(n->joint)].v0;
    for (int k = 0; k < n->nv; ++k) missing[n->v0 + k] = S(sign) * at.columns.col(k).dot(F) - effort[v0 + k];
    if (n->inner < 0) continue;
    const int inner = nodes[static_cast<std::size_t>(n->inner)].body;
    Force& in = on[static_cast<std::size_t>(inner)];
    in.force += f.force;
    in.moment += f.moment + V3(s.p - bodies_[static_cast<std::size_t>(inner)].p).cross(f.force);
  }
}

template class InverseRecursion<double>;
template class InverseRecursion<Dual<8>>;

}  // namespace invar
