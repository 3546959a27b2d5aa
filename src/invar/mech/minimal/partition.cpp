// SPDX-License-Identifier: Apache-2.0
//
// A freedom k gives every body beyond it the twist (w_k; v_k + w_k × (c - P_k)) at the point c: w_k, v_k are columns of the
// joint's motion S, World, at the joint point P_k. Along a motion
//   w_k' = ω_F × w_k + R_F Ṡ_w,   v_k' = ω_F × v_k + R_F Ṡ_v,   (v_k + w_k × r)' = v_k' + w_k' × r + w_k × (c' - P_k')
// with F on the joint's parent and P_k the origin of M, on its child. Ṡ is not zero where a later axis of a joint is turned by an
// earlier freedom: column k of it is what bias, Ṡ v, gains when freedom k is added to those before it.
//
// Rows of closures on motions e that meet them, seen from F where e = S e_c:  Φ e = C G e = 0 gives along the motion
//   Φ̇ e = C (Ġ e - Ṡ e_c),  e_c = dualᵀ G e,   and with  Φ_d E_d + Φ_i = 0:   Φ_d Ė_d = -Φ̇ E.
// The rate of a cut joint's own freedoms is dualᵀ G e, its derivative dualᵀ (Ġ e + G ė - Ṡ e_c); couplings are rows of these.
#include "invar/mech/minimal/partition.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>

#include "invar/mech/joint_rows.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/passive.hpp"
#include "invar/mech/tendons.hpp"

namespace invar {
namespace {

using Mat6 = Eigen::Matrix<double, 6, 6>;

// Columns of Ṡ in F at rates u.
Columns motion_rate(const Joint& joint, const double* q, const double* u) {
  Columns out = Columns::Zero(6, joint.nv);
  with_kind(joint.kind, [&](auto kind) {
    double w[6] = {};
    for (int k = 0; k < joint.nv; ++k) {
      w[k] = 1;
      out.col(k) = kind.bias(q, w);
      w[k] = 0;
      out.col(k) -= kind.bias(q, w);
      w[k] = u[k];
    }
  });
  return out;
}

// A freedom of a node as a screw with its derivative along the motion of the bodies.
struct Moving {
  Vec3 w, v, P, w_dot, v_dot, P_dot;
  Vec6 at(const Vec3& c) const {
    Vec6 out;
    out << w, v + w.cross(c - P);
    return out;
  }
  Vec6 rate_at(const Vec3& c, const Vec3& c_dot) const {
    Vec6 out;
    out << w_dot, v_dot + w_dot.cross(c - P) + w.cross(c_dot - P_dot);
    return out;
  }
};

// Pose and twist of a body frame: what is carried from body to body.
struct Carrier {
  Pose X;
  Vec3 w = Vec3::Zero(), v = Vec3::Zero();  // of its origin, World
};

class Motion {
 public:
  // As bodies have it.
  Motion(const JointTree& tree, const Bodies& bodies) : tree_(tree), bodies_(bodies) {
    for (const JointTree::Node& n : tree.nodes()) n.joint < 0 ? add_floating(n) : add_joint(n);
  }
  // At coordinates and rates of the tree. Body frames follow each other, so that no centre of mass has a say, in the last bit
  // either, in the motion of another body: an edit of one inertia leaves all others as they are.
  Motion(const JointTree& tree, const VecX& q, const VecX& v) : tree_(tree), bodies_(tree.model().bodies().size()) {
    frames_.resize(bodies_.size());
    for (const JointTree::Node& n : tree.nodes()) {
      n.joint < 0 ? place_floating(n, q, v) : place_joint(n, q, v);
      const Carrier& frame = frames_[static_cast<std::size_t>(n.body)];
      const Vec3 arm = frame.X.q * tree.model().bodies()[static_cast<std::size_t>(n.body)].inertia.p_BC;
      if (n.joint >= 0)
        bodies_[static_cast<std::size_t>(n.body)] = {frame.X.p + arm, frame.v + frame.w.cross(arm), frame.w, frame.X.q};
    }
  }
  const Bodies& bodies() const { return bodies_; }
  const std::vector<Moving>& freedoms() const { return freedoms_; }

  // Every freedom on the way from a body to the ground.
  template <class F>
  void on_the_way(int body, F&& f) const {
    for (int i = body == kWorld ? -1 : tree_.node_of_body(body); i >= 0; i = tree_.nodes()[static_cast<std::size_t>(i)].inner) {
      const JointTree::Node& n = tree_.nodes()[static_cast<std::size_t>(i)];
      for (int k = n.v0; k < n.v0 + n.nv; ++k) f(k, freedoms_[static_cast<std::size_t>(k)]);
    }
  }

  // Body axes at the centre of mass: Jacobian and its derivative.
  void jacobian(int body, MatX& J, MatX& J_dot) const {
    J = J_dot = MatX::Zero(6, tree_.nv());
    const BodyState& s = bodies_[static_cast<std::size_t>(body)];
    const Mat3 R = s.q_WB.toRotationMatrix().transpose();
    on_the_way(body, [&](int k, const Moving& m) {
      const Vec6 V = m.at(s.p_WC), A = m.rate_at(s.p_WC, s.v_WC);
      J.col(k) << R * V.head<3>(), R * V.tail<3>();
      J_dot.col(k) << R * (A.head<3>() - s.w_WB.cross(V.head<3>())), R * (A.tail<3>() - s.w_WB.cross(V.tail<3>()));
    });
  }

  // Relative twist of a joint in F at its point, and its derivative as seen from F.
  void relative(int j, MatX& G, MatX& G_dot) const {
    G = G_dot = MatX::Zero(6, tree_.nv());
    const Model& model = tree_.model();
    const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
    const BodyState &parent = body_state(bodies_, joint.parent), &child = body_state(bodies_, joint.child);
    const Vec3 P = body_pose(model, bodies_, joint.child) * joint.X_CM.p, P_dot = child.velocity_at(P);
    const Mat3 R = (parent.q_WB * joint.X_PF.q).toRotationMatrix().transpose();
    const auto add = [&](double sign) {
      return [&, sign](int k, const Moving& m) {
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

 private:
  void place_floating(const JointTree::Node& n, const VecX& q, const VecX& v) {
    const double *c = q.data() + n.q0, *r = v.data() + n.v0;
    BodyState& s = bodies_[static_cast<std::size_t>(n.body)];
    s = {Vec3(c[0], c[1], c[2]), Vec3(r[0], r[1], r[2]), Vec3(r[3], r[4], r[5]), normalized(Quat(c[3], c[4], c[5], c[6]))};
    const Pose X = s.X_WB(tree_.model().bodies()[static_cast<std::size_t>(n.body)]);
    frames_[static_cast<std::size_t>(n.body)] = {X, s.w_WB, s.velocity_at(X.p)};
    add_floating(n);
  }

  void place_joint(const JointTree::Node& n, const VecX& q, const VecX& v) {
    const Joint& joint = tree_.model().joints()[static_cast<std::size_t>(n.joint)];
    const Carrier inner =
        n.inner < 0 ? Carrier{} : frames_[static_cast<std::size_t>(tree_.nodes()[static_cast<std::size_t>(n.inner)].body)];
    Pose X;
    Columns S;
    with_kind(n.kind, [&](auto kind) {
      X = kind.pose(q.data() + n.q0, n.pitch);
      kind.motion(q.data() + n.q0, n.pitch, S);
    });
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

  void add_floating(const JointTree::Node& n) {
    const BodyState& s = bodies_[static_cast<std::size_t>(n.body)];
    const Vec3 none = Vec3::Zero();
    for (int k = 0; k < 6; ++k) {
      const Vec3 e = Vec3::Unit(k % 3);
      freedoms_.push_back({k < 3 ? none : e, k < 3 ? e : none, s.p_WC, none, none, s.v_WC});
    }
  }

  void add_joint(const JointTree::Node& n) {
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

  const JointTree& tree_;
  Bodies bodies_;
  std::vector<Carrier> frames_;  // per body
  std::vector<Moving> freedoms_;
};

// Rates of all joints of the model per independent freedom, and what the closures make of E along the motion.
class Chain {
 public:
  Chain(const JointTree& tree, const Motion& motion, const MatX& E, const VecX& wound) : tree_(tree), E_(E) {
    const Model& model = tree.model();
    const Eigen::Index n = E.cols();
    rates = MatX::Zero(model.nv(), n);
    bare_ = MatX::Zero(model.nv(), n);
    to_tree_ = MatX::Zero(model.nv(), tree.nv());
    MatX rows = MatX::Zero(tree.rows(), n), on_tree = MatX::Zero(tree.rows(), tree.nv());
    for (const JointTree::Node& node : tree.nodes()) {
      if (node.joint < 0) continue;
      const Joint& joint = model.joints()[static_cast<std::size_t>(node.joint)];
      to_tree_.block(joint.v0, node.v0, node.nv, node.nv).setIdentity();
    }
    Eigen::Index row = 0;
    std::vector<bool> cut(model.joints().size(), true);
    for (const JointTree::Node& node : tree.nodes())
      if (node.joint >= 0) cut[static_cast<std::size_t>(node.joint)] = false;
    const std::vector<int>& closures = tree.closures();
    for (int j = 0; j < static_cast<int>(cut.size()); ++j)
      if (cut[static_cast<std::size_t>(j)] && std::find(closures.begin(), closures.end(), j) == closures.end())
        measure(motion, j);
    for (const int j : closures) {
      measure(motion, j);
      rows.middleRows(row, C_.rows()) = C_ * seen_;
      on_tree.middleRows(row, C_.rows()) = C_ * G_;
      row += C_.rows();
    }
    rates = to_tree_ * E;
    couple(motion.bodies(), wound, row, rows, on_tree);
    // Ė: least squares over all rows, which agree.
    E_dot = MatX::Zero(tree.nv(), n);
    if (tree.dependent().empty() || n == 0) return;
    MatX dependent(tree.rows(), static_cast<Eigen::Index>(tree.dependent().size()));
    for (std::size_t c = 0; c < tree.dependent().size(); ++c)
      dependent.col(static_cast<Eigen::Index>(c)) = on_tree.col(tree.dependent()[c]);
    const MatX solved = -dependent.fullPivLu().solve(rows);
    for (std::size_t c = 0; c < tree.dependent().size(); ++c)
      E_dot.row(tree.dependent()[c]) = solved.row(static_cast<Eigen::Index>(c));
  }

  MatX rates, E_dot;
  MatX rates_dot() const { return bare_ + to_tree_ * E_dot; }

 private:
  // G e, and Ġ e - Ṡ e_c, of a joint outside the tree.
  void measure(const Motion& motion, int j) {
    const Model& model = tree_.model();
    const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
    MatX G_dot;
    motion.relative(j, G_, G_dot);
    const Pose X = joint_pose(model, j, motion.bodies());
    const Twist twist = joint_twist(model, j, motion.bodies());
    double q[7] = {}, v[6] = {};
    Columns dual;
    with_kind(joint.kind, [&](auto kind) {
      kind.measure(X, joint.pitch, q);
      kind.dual(q, joint.pitch, dual);
      kind.rows(q, joint.pitch, C_);
    });
    Vec6 V;
    V << twist.angular, twist.linear;
    for (int k = 0; k < joint.nv; ++k) v[k] = dual.col(k).dot(V);
    to_tree_.middleRows(joint.v0, joint.nv) = dual.transpose() * G_;
    seen_ = G_dot * E_ - motion_rate(joint, q, v) * (dual.transpose() * G_ * E_);
    bare_.middleRows(joint.v0, joint.nv) = dual.transpose() * seen_;
  }

  void couple(const Bodies& bodies, const VecX& wound, Eigen::Index row, MatX& rows, MatX& on_tree) const {
    const Model& model = tree_.model();
    VecX q, v;
    joint_coordinates(model, bodies, q, v);
    unwind(model, wound, q);
    for (const Coupling& c : model.couplings()) {
      const Joint &driven = model.joints()[static_cast<std::size_t>(c.joint)],
                  &of = model.joints()[static_cast<std::size_t>(c.of)];
      const Driven p = driven_by(c, q[of.q0 + c.of_freedom]);
      const int i = driven.v0 + c.freedom, k = of.v0 + c.of_freedom;
      rows.row(row) = bare_.row(i) - p.slope * bare_.row(k) - p.curvature * v[k] * rates.row(k);
      on_tree.row(row) = to_tree_.row(i) - p.slope * to_tree_.row(k);
      ++row;
    }
  }

  const JointTree& tree_;
  const MatX& E_;
  MatX G_, seen_;  // 6 x nv, 6 x n: of the joint measured last
  Rows C_;
  MatX bare_;     // derivatives of `rates` without Ė
  MatX to_tree_;  // rates of the model's joints per freedom of the tree
};

// n × w + f × v etc. as a skew matrix on twists: B V = V ×* (M V) for momentum (n; f).
Mat6 gyroscopic(const Vec6& momentum) {
  Mat6 B = Mat6::Zero();
  B.topLeftCorner<3, 3>() = -hat(momentum.head<3>());
  B.topRightCorner<3, 3>() = B.bottomLeftCorner<3, 3>() = -hat(momentum.tail<3>());
  return B;
}

// B (9).
MatX part(const Mat6& M, const MatX& J) { return J.transpose() * M * J; }

VecX armatures(const Model& model) {
  VecX out = VecX::Zero(model.nv());
  for (const Joint& joint : model.joints())
    for (int k = 0; k < joint.nv; ++k) out[joint.v0 + k] = joint.passive[static_cast<std::size_t>(k)].armature;
  return out;
}

// Γ̇ along a motion of the bodies.
MatX gamma_rate(const JointTree& tree, const Motion& motion, const MatX& E, const VecX& wound) {
  const Model& model = tree.model();
  const Chain chain(tree, motion, E, wound);
  const VecX rotor = armatures(model);
  MatX half = chain.rates.transpose() * rotor.asDiagonal() * chain.rates_dot(), J, J_dot;
  for (int b = 0; b < static_cast<int>(model.bodies().size()); ++b) {
    motion.jacobian(b, J, J_dot);
    const MatX JE = J * E;
    half += JE.transpose() * spatial_inertia(model.bodies()[static_cast<std::size_t>(b)]) * (J_dot * E + J * chain.E_dot);
  }
  return half + half.transpose();
}

// What acts, on the independent freedoms.
VecX generalized(const Model& model, const Bodies& bodies, const VecX& wound, const Load& load, const Partition& p) {
  Port port = load.port;
  double lost = 0;
  add_tendons(model, bodies, port, lost);
  VecX efforts = load.efforts, q, v;
  joint_coordinates(model, bodies, q, v);
  unwind(model, wound, q);
  add_passive_efforts(model, q, v, efforts, lost);
  VecX Q = p.joint_rates.transpose() * efforts;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const Quat to_body = bodies[b].q_WB.conjugate();
    Vec6 W;
    W << to_body * port[b].moment, to_body * (port[b].force + model.bodies()[b].inertia.mass * model.gravity());
    Q += p.J[b].transpose() * W;
  }
  return Q;
}

}  // namespace

Mat6 spatial_inertia(const Body& body) {
  Mat6 M = Mat6::Zero();
  M.topLeftCorner<3, 3>() = body.inertia.I_C;
  M.bottomRightCorner<3, 3>().diagonal().setConstant(body.inertia.mass);
  return M;
}

MatX body_jacobian(const JointTree& tree, int body, const Bodies& bodies) {
  MatX J, J_dot;
  Motion(tree, bodies).jacobian(body, J, J_dot);
  return J;
}

MatX at_frame(const MatX& J, const Pose& X_CE) {
  MatX out(6, J.cols());
  const Mat3 R = X_CE.q.toRotationMatrix().transpose();
  for (Eigen::Index k = 0; k < J.cols(); ++k) {
    const Vec3 w = J.col(k).head<3>(), v = J.col(k).tail<3>();
    out.col(k) << R * w, R * (v + w.cross(X_CE.p));
  }
  return out;
}

Verdict partition_at(const JointTree& tree, const VecX& q, const VecX& v, const VecX& wound, const Load& load, Partition& out) {
  const Model& model = tree.model();
  VecX whole_q = q, whole_v = v;
  Bodies closed;
  if (const Verdict verdict = tree.complete(whole_q, whole_v, wound, closed); !verdict.ok()) return verdict;
  if (const Verdict verdict = tree.motions(closed, wound, out.E); !verdict.ok()) return verdict;
  out.coordinates.clear();
  for (const int i : tree.independent()) out.coordinates.push_back(tree.freedom_name(i));
  const Motion motion(tree, whole_q, whole_v);
  const Bodies& bodies = out.bodies = motion.bodies();
  const Chain chain(tree, motion, out.E, wound);
  const Eigen::Index n = out.E.cols();
  const VecX rotor = armatures(model);
  out.joint_rates = chain.rates;
  const MatX rates_dot = chain.rates_dot();
  out.rotors = chain.rates.transpose() * rotor.asDiagonal() * chain.rates;
  out.Gamma = out.rotors;
  out.C = chain.rates.transpose() * rotor.asDiagonal() * rates_dot;
  MatX half = out.C;
  const std::size_t count = model.bodies().size();
  out.J.assign(count, {}), out.J_dot.assign(count, {}), out.Gamma_parts.assign(count, {});
  out.v.resize(n);
  for (Eigen::Index i = 0; i < n; ++i) out.v[i] = whole_v[tree.independent()[static_cast<std::size_t>(i)]];
  for (std::size_t b = 0; b < count; ++b) {
    MatX J, J_dot;
    motion.jacobian(static_cast<int>(b), J, J_dot);
    const Mat6 M = spatial_inertia(model.bodies()[b]);
    out.J[b] = J * out.E;
    out.J_dot[b] = J_dot * out.E + J * chain.E_dot;
    out.Gamma_parts[b] = part(M, out.J[b]);
    out.Gamma += out.Gamma_parts[b];
    const MatX inertial = out.J[b].transpose() * M * out.J_dot[b];
    half += inertial;
    out.C += inertial + out.J[b].transpose() * gyroscopic(M * (out.J[b] * out.v)) * out.J[b];
  }
  out.Gamma_dot = half + half.transpose();
  out.h = out.C * out.v;
  out.Q = generalized(model, bodies, wound, load, out);
  out.vdot = n > 0 ? VecX(out.Gamma.ldlt().solve(out.Q - out.h)) : VecX();
  out.dGamma.clear();
  for (Eigen::Index k = 0; k < n; ++k) {
    out.dGamma.push_back(gamma_rate(tree, Motion(tree, whole_q, out.E.col(k)), out.E, wound));
  }
  return {};
}

namespace {

// The arguments of Γ_i, as numbers that can be compared: own pose and inertia, freedoms on the way to the ground and their rows
// of E.
void arguments(const JointTree& tree, const Motion& motion, const MatX& E, int body, std::vector<double>& out) {
  out.clear();
  const auto add = [&out](const auto& m) { out.insert(out.end(), m.data(), m.data() + m.size()); };
  const BodyState& s = motion.bodies()[static_cast<std::size_t>(body)];
  const Inertia& inertia = tree.model().bodies()[static_cast<std::size_t>(body)].inertia;
  add(s.p_WC), add(s.q_WB.coeffs()), add(inertia.I_C);
  out.push_back(inertia.mass);
  motion.on_the_way(body, [&](int k, const Moving& m) {
    out.push_back(k);
    add(m.w), add(m.v), add(m.P);
    for (Eigen::Index c = 0; c < E.cols(); ++c) out.push_back(E(k, c));
  });
}

}  // namespace

Verdict LivePartition::update(const VecX& q, const VecX& wound) {
  const Model& model = tree_.model();
  VecX whole_q = q, whole_v = VecX::Zero(tree_.nv());
  Bodies closed;
  if (const Verdict verdict = tree_.complete(whole_q, whole_v, wound, closed); !verdict.ok()) return verdict;
  if (const Verdict verdict = tree_.motions(closed, wound, E_); !verdict.ok()) return verdict;
  const Motion motion(tree_, whole_q, VecX::Zero(tree_.nv()));
  const Chain chain(tree_, motion, E_, wound);
  const VecX rotor = armatures(model);
  Gamma_ = chain.rates.transpose() * rotor.asDiagonal() * chain.rates;
  parts_.resize(model.bodies().size());
  arguments_.resize(parts_.size());
  touched_.clear();
  std::vector<double> now;
  for (std::size_t b = 0; b < parts_.size(); ++b) {
    arguments(tree_, motion, E_, static_cast<int>(b), now);
    if (now != arguments_[b]) {
      MatX J, J_dot;
      motion.jacobian(static_cast<int>(b), J, J_dot);
      parts_[b] = part(spatial_inertia(model.bodies()[b]), J * E_);
      arguments_[b] = now;
      touched_.push_back(static_cast<int>(b));
    }
    Gamma_ += parts_[b];
  }
  return {};
}

}  // namespace invar
