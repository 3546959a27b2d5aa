// SPDX-License-Identifier: Apache-2.0
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
#include "invar/mech/minimal/tree_motion.hpp"
#include "invar/mech/passive.hpp"
#include "invar/mech/tendons.hpp"

namespace invar {
namespace {

using Mat6 = Eigen::Matrix<double, 6, 6>;

// Rates of all joints of the model per independent freedom, and what the closures make of E along the motion.
class Chain {
 public:
  Chain(const JointTree& tree, const TreeMotion& motion, const MatX& E, const VecX& wound) : tree_(tree), E_(E) {
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
  void measure(const TreeMotion& motion, int j) {
    const Model& model = tree_.model();
    const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
    MatX G_dot;
    motion.relative(j, G_, G_dot);
    Twist twist;
    const Pose X = joint_pose(model, j, motion.bodies(), twist);
    double q[7] = {}, v[6] = {};
    Columns dual;
    joint.facts->measure(X, q);
    joint.facts->dual(q, dual), joint.facts->rows(q, C_);
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
MatX gamma_rate(const JointTree& tree, const TreeMotion& motion, const MatX& E, const VecX& wound) {
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
  TreeMotion(tree, bodies).jacobian(body, J, J_dot);
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
  const TreeMotion motion(tree, whole_q, whole_v);
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
    out.dGamma.push_back(gamma_rate(tree, TreeMotion(tree, whole_q, out.E.col(k)), out.E, wound));
  }
  return {};
}

namespace {

// The arguments of Γ_i, as numbers that can be compared: own pose and inertia, freedoms on the way to the ground and their rows
// of E.
void arguments(const JointTree& tree, const TreeMotion& motion, const MatX& E, int body, std::vector<double>& out) {
  out.clear();
  const auto add = [&out](const auto& m) { out.insert(out.end(), m.data(), m.data() + m.size()); };
  const BodyState& s = motion.bodies()[static_cast<std::size_t>(body)];
  const Inertia& inertia = tree.model().bodies()[static_cast<std::size_t>(body)].inertia;
  add(s.p_WC), add(s.q_WB.coeffs()), add(inertia.I_C);
  out.push_back(inertia.mass);
  motion.on_the_way(body, [&](int k, const MovingFreedom& m) {
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
  const TreeMotion motion(tree_, whole_q, VecX::Zero(tree_.nv()));
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
