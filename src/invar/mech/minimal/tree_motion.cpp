// SPDX-License-Identifier: Apache-2.0
//
// A freedom k gives every body beyond it the twist (w_k; v_k + w_k × (c - P_k)) at the point c: w_k, v_k are columns of the
// joint's motion S, World, at the joint point P_k. Along a motion
//   w_k' = ω_F × w_k + R_F Ṡ_w,   v_k' = ω_F × v_k + R_F Ṡ_v,   (v_k + w_k × r)' = v_k' + w_k' × r + w_k × (c' - P_k')
// with F on the joint's parent and P_k the origin of M, on its child. Ṡ is not zero where a later axis of a joint is turned by an
// earlier freedom: column k of it is what bias, Ṡ v, gains when freedom k is added to those before it.
#include "invar/mech/minimal/tree_motion.hpp"

#include "invar/mech/joint_rows.hpp"
#include "invar/mech/kinematics.hpp"

namespace invar {

Columns motion_rate(const Joint& joint, const double* q, const double* u) {
  Columns out = Columns::Zero(6, joint.nv);
  if (joint.facts->steady()) return out;
  double w[6] = {};
  for (int k = 0; k < joint.nv; ++k) {
    w[k] = 1;
    out.col(k) = joint.facts->bias(q, w);
    w[k] = 0;
    out.col(k) -= joint.facts->bias(q, w);
    w[k] = u[k];
  }
  return out;
}

TreeMotion::TreeMotion(const JointTree& tree, const Bodies& bodies) : tree_(tree), bodies_(bodies) {
  for (const JointTree::Node& n : tree.nodes()) n.joint < 0 ? add_floating(n) : add_joint(n);
}

TreeMotion::TreeMotion(const JointTree& tree, const VecX& q, const VecX& v) : tree_(tree), bodies_(tree.model().bodies().size()) {
  frames_.resize(bodies_.size());
  for (const JointTree::Node& n : tree.nodes()) {
    n.joint < 0 ? place_floating(n, q, v) : place_joint(n, q, v);
    const Carrier& frame = frames_[static_cast<std::size_t>(n.body)];
    const Vec3 arm = frame.X.q * tree.model().bodies()[static_cast<std::size_t>(n.body)].inertia.p_BC;
    if (n.joint >= 0)
      bodies_[static_cast<std::size_t>(n.body)] = {frame.X.p + arm, frame.v + frame.w.cross(arm), frame.w, frame.X.q};
  }
}

void TreeMotion::jacobian(int body, MatX& J, MatX& J_dot) const {
  J = J_dot = MatX::Zero(6, tree_.nv());
  const BodyState& s = bodies_[static_cast<std::size_t>(body)];
  const Mat3 R = s.q_WB.toRotationMatrix().transpose();
  on_the_way(body, [&](int k, const MovingFreedom& m) {
    const Vec6 V = m.at(s.p_WC), A = m.rate_at(s.p_WC, s.v_WC);
    J.col(k) << R * V.head<3>(), R * V.tail<3>();
    J_dot.col(k) << R * (A.head<3>() - s.w_WB.cross(V.head<3>())), R * (A.tail<3>() - s.w_WB.cross(V.tail<3>()));
  });
}

void TreeMotion::relative(int j, MatX& G, MatX& G_dot) const {
  G = G_dot = MatX::Zero(6, tree_.nv());
  const Model& model = tree_.model();
  const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
  const BodyState &parent = body_state(bodies_, joint.parent), &child = body_state(bodies_, joint.child);
  const Vec3 P = body_pose(model, bodies_, joint.child) * joint.X_CM.p, P_dot = child.velocity_at(P);
  const Mat3 R = (parent.q_WB * joint.X_PF.q).toRotationMatrix().transpose();
  const auto add = [&](double sign) {
    return [&, sign](int k, const MovingFreedom& m) {
      const Vec6 V = sign * m.at(P), A = sign * m.rate_at(P, P_dot);
      Vec6 g, d;
      g << R * V.head<3>(), R * V.tail<3>();
      d << R * (A.head<3>() - parent.w_WB.cross(V.head<3>())), R * (A.tail<3>() - parent.w_WB.cross(V.tail<3>()));
      G.col(k) += g;
      G_dot.col(k) += d;
    };
  };
  on_the_way(joint.child, add(1));
  on_the_way(joint.parent, add(-1));
}

void TreeMotion::place_floating(const JointTree::Node& n, const VecX& q, const VecX& v) {
  const double *c = q.data() + n.q0, *r = v.data() + n.v0;
  BodyState& s = bodies_[static_cast<std::size_t>(n.body)];
  s = {Vec3(c[0], c[1], c[2]), Vec3(r[0], r[1], r[2]), Vec3(r[3], r[4], r[5]), normalized(Quat(c[3], c[4], c[5], c[6]))};
  const Pose X = s.X_WB(tree_.model().bodies()[static_cast<std::size_t>(n.body)]);
  frames_[static_cast<std::size_t>(n.body)] = {X, s.w_WB, s.velocity_at(X.p)};
  add_floating(n);
}

void TreeMotion::place_joint(const JointTree::Node& n, const VecX& q, const VecX& v) {
  const Joint& joint = tree_.model().joints()[static_cast<std::size_t>(n.joint)];
  const Carrier inner =
      n.inner < 0 ? Carrier{} : frames_[static_cast<std::size_t>(tree_.nodes()[static_cast<std::size_t>(n.inner)].body)];
  Pose X;
  Columns S;
  X = n.facts->pose(q.data() + n.q0), n.facts->motion(q.data() + n.q0, S);
  const Pose &X_in = n.reversed ? joint.X_CM : joint.X_PF, &X_out = n.reversed ? joint.X_PF : joint.X_CM;
  const Quat carried = inner.X.q * X_in.q;  // F, or M where the joint is reversed
  const Quat q_WF = n.reversed ? carried * X.q.conjugate() : carried;
  const Vec3 anchor = inner.X.p + inner.X.q * X_in.p, across = q_WF * X.p;
  Carrier& outer = frames_[static_cast<std::size_t>(n.body)];
  outer.X.q = normalized((n.reversed ? q_WF : carried * X.q) * X_out.q.conjugate());
  const Vec3 P = n.reversed ? anchor : Vec3(anchor + across);  // the joint point
  const Vec3 arm = (n.reversed ? Vec3(-across) : Vec3(Vec3::Zero())) - outer.X.q * X_out.p;
  Vec6 V = Vec6::Zero();
  for (int k = 0; k < n.nv; ++k) V += v[n.v0 + k] * S.col(k);
  const double sign = n.reversed ? -1 : 1;
  outer.X.p = P + arm;
  outer.w = inner.w + sign * (q_WF * V.head<3>());
  outer.v = inner.v + inner.w.cross(P - inner.X.p) + sign * (q_WF * V.tail<3>()) + outer.w.cross(arm);
  const Carrier &parent = n.reversed ? outer : inner, &child = n.reversed ? inner : outer;
  const Columns S_dot = motion_rate(joint, q.data() + n.q0, v.data() + n.v0);
  const Vec3 P_dot = child.v + child.w.cross(P - child.X.p);
  for (int k = 0; k < n.nv; ++k) {
    const Vec3 w = sign * (q_WF * S.col(k).head<3>()), t = sign * (q_WF * S.col(k).tail<3>());
    freedoms_.push_back({w, t, P, parent.w.cross(w) + sign * (q_WF * S_dot.col(k).head<3>()),
                         parent.w.cross(t) + sign * (q_WF * S_dot.col(k).tail<3>()), P_dot});
  }
}

void TreeMotion::add_floating(const JointTree::Node& n) {
  const BodyState& s = bodies_[static_cast<std::size_t>(n.body)];
  const Vec3 none = Vec3::Zero();
  for (int k = 0; k < 6; ++k) {
    const Vec3 e = Vec3::Unit(k % 3);
    freedoms_.push_back({k < 3 ? none : e, k < 3 ? e : none, s.p_WC, none, none, s.v_WC});
  }
}

void TreeMotion::add_joint(const JointTree::Node& n) {
  const Model& model = tree_.model();
  const Joint& joint = model.joints()[static_cast<std::size_t>(n.joint)];
  const BodyState &parent = body_state(bodies_, joint.parent), &child = body_state(bodies_, joint.child);
  JointAt at;
  joint_at(model, n.joint, bodies_, true, at);
  const Columns S_dot = motion_rate(joint, at.q, at.v);
  const Mat3 R = (parent.q_WB * joint.X_PF.q).toRotationMatrix();
  const Vec3 P = child.p_WC + at.arm_child, P_dot = child.velocity_at(P);
  const double sign = n.reversed ? -1 : 1;
  for (int k = 0; k < n.nv; ++k) {
    const Vec3 w = sign * at.S.col(k).head<3>(), v = sign * at.S.col(k).tail<3>();
    freedoms_.push_back({w, v, P, parent.w_WB.cross(w) + sign * (R * S_dot.col(k).head<3>()),
                         parent.w_WB.cross(v) + sign * (R * S_dot.col(k).tail<3>()), P_dot});
  }
}

}  // namespace invar
