// SPDX-License-Identifier: Apache-2.0
//
// Forward kinematics, from the ground outwards. F sits on the joint's parent, M on its child, the joint point is M's origin, and
// X_FM = pose(q), V_FM = S v in F. The inner body carries F (M where the joint is reversed); the outer one follows:
//   R_WM = R_WF R_FM,  p_WM = p_WF + R_WF p_FM,     w_out = w_in ± R_WF (S v)_w,  v_out = v_in ± R_WF (S v)_v  at p_WM
// Rows of a joint outside the tree: C (V_child - V_parent) = 0 at its point, each V the sum of the screws on the way to the
// ground. Rows of couplings: rate driven - slope · rate driving. Both are divided by their size, so that pivots are pure numbers.
#include "invar/mech/minimal/joint_tree.hpp"

#include <algorithm>
#include <cmath>

#include "invar/base/check.hpp"
#include "invar/mech/block_tree.hpp"
#include "invar/mech/kinematics.hpp"

namespace invar {
namespace {

constexpr int kIterations = 25;
constexpr double kDependent = 1e-9;  // pivots of scaled rows below this share of the largest say nothing new
constexpr double kRounding = 4e-16;
constexpr double kNoise = 1e-10;  // of lengths and turns: increments below it that no longer shrink are rounding
constexpr double kSingular = 1e-13;

Vec3 com(const Model& model, int body) {
  return body == kWorld ? Vec3(Vec3::Zero()) : model.bodies()[static_cast<std::size_t>(body)].inertia.p_BC;
}

}  // namespace

namespace {

// Freedoms of joints that the file calls independent.
std::vector<int> independent_of(const Model& model) {
  std::vector<int> out;
  for (const Joint& joint : model.joints())
    for (int k = 0; joint.independent && k < joint.nv; ++k) out.push_back(joint.v0 + k);
  return out;
}

// Joints that must be in the tree for that.
std::vector<bool> holding(const Model& model, const std::vector<int>& freedoms) {
  std::vector<bool> out;
  for (const Joint& joint : model.joints())
    out.push_back(std::any_of(freedoms.begin(), freedoms.end(), [&](int f) { return f >= joint.v0 && f < joint.v0 + joint.nv; }));
  return out;
}

}  // namespace

JointTree::JointTree(const Model& model) : JointTree(model, independent_of(model)) {}

JointTree::JointTree(const Model& model, const std::vector<int>& independent)
    : model_(model), tree_(spanning_tree(model, holding(model, independent))) {
  for (const TreeNode& t : tree_.nodes) {
    Node n{t.body, t.inner, t.joint, t.reversed, JointKind::Free, 0, nq_, nv_, 7, 6};
    if (t.joint >= 0) {
      const Joint& joint = model.joints()[static_cast<std::size_t>(t.joint)];
      n.kind = joint.kind, n.pitch = joint.pitch, n.nq = joint.nq, n.nv = joint.nv;
    }
    for (int k = 0; k < n.nv; ++k) {
      node_of_freedom_.push_back(static_cast<int>(nodes_.size()));
      scale_.push_back(turns(n.kind, k) ? model.length() : 1.0);
      const int of_model = t.joint < 0 ? -1 : model.joints()[static_cast<std::size_t>(t.joint)].v0 + k;
      wanted_.push_back(of_model >= 0 && std::find(independent.begin(), independent.end(), of_model) != independent.end());
    }
    nq_ += n.nq, nv_ += n.nv;
    nodes_.push_back(n);
  }
  for (const int j : tree_.closures) {
    rows_ += model.joints()[static_cast<std::size_t>(j)].rows();
    joint_of_row_.resize(static_cast<std::size_t>(rows_), j);
  }
  rows_ += static_cast<int>(model.couplings().size());
  for (const Coupling& c : model.couplings()) joint_of_row_.push_back(c.joint);
  phi_.resize(rows_, nv_);
  residual_.resize(rows_);
  tangent_.resize(nv_);
  model_q_ = VecX::Zero(model.nq());
  model_v_ = VecX::Zero(model.nv());
  for (int i = 0; i < nv_; ++i) independent_.push_back(i);
}

std::string JointTree::freedom_name(int freedom) const {
  const Node& n = nodes_[static_cast<std::size_t>(node_of_freedom_[static_cast<std::size_t>(freedom)])];
  const std::string& name = n.joint < 0 ? model_.body_name(n.body) : model_.joints()[static_cast<std::size_t>(n.joint)].name;
  return n.nv == 1 ? name : name + "." + std::to_string(freedom - n.v0);
}

void JointTree::measure(const Bodies& bodies, const VecX& wound, VecX& q, VecX& v) const {
  q.resize(nq_);
  v.resize(nv_);
  VecX all_q = VecX::Zero(model_.nq()), all_v = VecX::Zero(model_.nv());
  joint_coordinates(model_, bodies, all_q, all_v);
  unwind(model_, wound, all_q);
  for (const Node& n : nodes_) {
    if (n.joint < 0) {
      const BodyState& s = bodies[static_cast<std::size_t>(n.body)];
      q.segment<7>(n.q0) << s.p_WC, s.q_WB.w(), s.q_WB.x(), s.q_WB.y(), s.q_WB.z();
      v.segment<6>(n.v0) << s.v_WC, s.w_WB;
      continue;
    }
    const Joint& joint = model_.joints()[static_cast<std::size_t>(n.joint)];
    q.segment(n.q0, n.nq) = all_q.segment(joint.q0, n.nq);
    v.segment(n.v0, n.nv) = all_v.segment(joint.v0, n.nv);
  }
}

void JointTree::place_node(std::size_t i, const VecX& q, const VecX& v, Bodies& out) const {
  const Node& n = nodes_[i];
  const double* c = q.data() + n.q0;
  BodyState& body = out[static_cast<std::size_t>(n.body)];
  if (n.joint < 0) {
    const double* r = v.data() + n.v0;
    body = {Vec3(c[0], c[1], c[2]), Vec3(r[0], r[1], r[2]), Vec3(r[3], r[4], r[5]), normalized(Quat(c[3], c[4], c[5], c[6]))};
    return;
  }
  const Joint& joint = model_.joints()[static_cast<std::size_t>(n.joint)];
  const int inner_body = n.inner < 0 ? kWorld : nodes_[static_cast<std::size_t>(n.inner)].body;
  const BodyState& inner = body_state(out, inner_body);
  Pose X;
  Columns S;
  with_kind(n.kind, [&](auto kind) {
    X = kind.pose(c, n.pitch);
    kind.motion(c, n.pitch, S);
  });
  const Pose &X_in = n.reversed ? joint.X_CM : joint.X_PF, &X_out = n.reversed ? joint.X_PF : joint.X_CM;
  const Quat carried = inner.q_WB * X_in.q;  // F, or M where the joint is reversed
  const Quat q_WF = n.reversed ? carried * X.q.conjugate() : carried;
  const Vec3 anchor = inner.p_WC + inner.q_WB * (X_in.p - com(model_, inner_body)), across = q_WF * X.p;
  body.q_WB = normalized((n.reversed ? q_WF : carried * X.q) * X_out.q.conjugate());
  const Vec3 point = n.reversed ? anchor : Vec3(anchor + across);  // the joint point
  const Vec3 arm = (n.reversed ? Vec3(-across) : Vec3(Vec3::Zero())) + body.q_WB * (com(model_, n.body) - X_out.p);
  Vec6 V = Vec6::Zero();
  for (int k = 0; k < n.nv; ++k) V += v[n.v0 + k] * S.col(k);
  const double sign = n.reversed ? -1.0 : 1.0;
  body.w_WB = inner.w_WB + sign * (q_WF * V.head<3>());
  body.p_WC = point + arm;
  body.v_WC = inner.v_WC + inner.w_WB.cross(point - inner.p_WC) + sign * (q_WF * V.tail<3>()) + body.w_WB.cross(arm);
}

void JointTree::place(const VecX& q, const VecX& v, Bodies& out) const {
  out.resize(model_.bodies().size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) place_node(i, q, v, out);
}

void JointTree::retract(const VecX& from, const VecX& u, VecX& to) const {
  to.resize(nq_);
  const auto turn = [&](int at, int tangent) {
    const Quat q(from[at], from[at + 1], from[at + 2], from[at + 3]);
    const Quat r = turned(q, u.segment<3>(tangent));
    to.segment<4>(at) << r.w(), r.x(), r.y(), r.z();
  };
  for (const Node& n : nodes_) {
    if (n.kind == JointKind::Spherical) {
      turn(n.q0, n.v0);
    } else if (n.kind == JointKind::Free) {
      to.segment<3>(n.q0) = from.segment<3>(n.q0) + u.segment<3>(n.v0);
      turn(n.q0 + 3, n.v0 + 3);
    } else {
      to.segment(n.q0, n.nq) = from.segment(n.q0, n.nq) + u.segment(n.v0, n.nv);
    }
  }
}

// R = exp(u) R_0, rates in the first frame: u' = dexp⁻¹(u) w.
void JointTree::pull(const VecX& u, const VecX& v, VecX& u_dot) const {
  u_dot = v;
  for (const Node& n : nodes_) {
    const int at = n.kind == JointKind::Spherical ? n.v0 : (n.kind == JointKind::Free ? n.v0 + 3 : -1);
    if (at >= 0) u_dot.segment<3>(at).noalias() = dexp_inv_so3(u.segment<3>(at)) * v.segment<3>(at);
  }
}

void JointTree::take(const VecX& vdot, const Accelerations& accelerations, VecX& out) const {
  out.resize(nv_);
  for (const Node& n : nodes_) {
    if (n.joint < 0) {
      const BodyAcceleration& a = accelerations[static_cast<std::size_t>(n.body)];
      out.segment<6>(n.v0) << a.a_WC, a.alpha_WB;
    } else {
      out.segment(n.v0, n.nv) = vdot.segment(model_.joints()[static_cast<std::size_t>(n.joint)].v0, n.nv);
    }
  }
}

JointTree::Screw JointTree::screw(int freedom, const Bodies& bodies) const {
  const Node& n = nodes_[static_cast<std::size_t>(node_of_freedom_[static_cast<std::size_t>(freedom)])];
  const int k = freedom - n.v0;
  if (n.joint < 0) {
    const Vec3 e = Vec3::Unit(k % 3);
    const Vec3 none = Vec3::Zero();
    return {k < 3 ? none : e, k < 3 ? e : none, bodies[static_cast<std::size_t>(n.body)].p_WC};
  }
  JointAt at;
  joint_at(model_, n.joint, bodies, false, at);
  const Joint& joint = model_.joints()[static_cast<std::size_t>(n.joint)];
  const Vec3 point = bodies[static_cast<std::size_t>(joint.child)].p_WC + at.arm_child;
  const double sign = n.reversed ? -1.0 : 1.0;
  return {sign * at.S.col(k).head<3>(), sign * at.S.col(k).tail<3>(), point};
}

void JointTree::jacobian(const Bodies& bodies, const VecX& wound, MatX& out) const {
  out.setZero(rows_, nv_);
  const double length = model_.length();
  // Every freedom on the way from a body to the ground, seen at a point.
  const auto on_the_way = [&](int body, const Vec3& point, auto&& f) {
    for (int i = body == kWorld ? -1 : node_of_body(body); i >= 0; i = nodes_[static_cast<std::size_t>(i)].inner) {
      const Node& n = nodes_[static_cast<std::size_t>(i)];
      for (int k = n.v0; k < n.v0 + n.nv; ++k) {
        const Screw s = screw(k, bodies);
        Vec6 V;
        V << s.w, s.v + s.w.cross(point - s.point);
        f(k, V);
      }
    }
  };
  JointAt at;
  const auto relative = [&](int j, auto&& f) {
    const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
    joint_at(model_, j, bodies, false, at);
    const Vec3 point = bodies[static_cast<std::size_t>(joint.child)].p_WC + at.arm_child;
    on_the_way(joint.child, point, [&](int k, const Vec6& V) { f(k, V); });
    on_the_way(joint.parent, point, [&](int k, const Vec6& V) { f(k, Vec6(-V)); });
  };
  int row = 0;
  for (const int j : tree_.closures) {
    relative(j, [&](int k, const Vec6& V) {
      for (int r = 0; r < at.C.rows(); ++r) out(row + r, k) += at.C.row(r).dot(V) / row_size(at.C.row(r).transpose(), length);
    });
    row += static_cast<int>(at.C.rows());
  }
  if (model_.couplings().empty()) return;
  joint_coordinates(model_, bodies, model_q_, model_v_);
  unwind(model_, wound, model_q_);
  for (const Coupling& c : model_.couplings()) {
    const Joint &driven = model_.joints()[static_cast<std::size_t>(c.joint)],
                &of = model_.joints()[static_cast<std::size_t>(c.of)];
    const double slope = driven_by(c, model_q_[of.q0 + c.of_freedom]).slope;
    relative(c.joint, [&](int k, const Vec6& V) { out(row, k) += at.dual.col(c.freedom).dot(V); });
    relative(c.of, [&](int k, const Vec6& V) { out(row, k) -= slope * at.dual.col(c.of_freedom).dot(V); });
    out.row(row) *= turns(driven.kind, c.freedom) ? length : 1.0;
    ++row;
  }
}

void JointTree::residual(const Bodies& bodies, const VecX& wound, VecX& out) const {
  int row = 0;
  JointAt at;
  for (const int j : tree_.closures) {
    const Residual r = joint_residual(model_, j, bodies);
    joint_at(model_, j, bodies, false, at);
    for (int k = 0; k < r.size(); ++k) out[row++] = r[k] / row_size(at.C.row(k).transpose(), model_.length());
  }
  if (model_.couplings().empty()) return;
  joint_coordinates(model_, bodies, model_q_, model_v_);
  unwind(model_, wound, model_q_);
  for (std::size_t c = 0; c < model_.couplings().size(); ++c) {
    const Coupling& coupling = model_.couplings()[c];
    const bool angle = turns(model_.joints()[static_cast<std::size_t>(coupling.joint)].kind, coupling.freedom);
    out[row++] = coupling_residual(model_, static_cast<int>(c), model_q_) * (angle ? model_.length() : 1.0);
  }
}

Verdict JointTree::choose(const VecX& q) {
  dependent_.clear(), independent_.clear(), kept_rows_.clear();
  Bodies bodies;
  place(q, VecX::Zero(nv_), bodies);
  const VecX wound = VecX::Zero(model_.nv());
  jacobian(bodies, wound, phi_);
  MatX a = phi_;
  for (int k = 0; k < nv_; ++k) a.col(k) /= scale_[static_cast<std::size_t>(k)];
  std::vector<bool> row_taken(static_cast<std::size_t>(rows_), false), taken(static_cast<std::size_t>(nv_), false);
  const double largest = rows_ > 0 ? a.cwiseAbs().maxCoeff() : 0.0;
  // Complete pivoting, first on the freedoms that nobody wants to keep.
  for (const bool wanted : {false, true})
    for (;;) {
      int p = -1, c = -1;
      double most = kDependent * largest;
      for (int k = 0; k < nv_; ++k) {
        if (taken[static_cast<std::size_t>(k)] || wanted_[static_cast<std::size_t>(k)] != wanted) continue;
        for (int r = 0; r < rows_; ++r)
          if (!row_taken[static_cast<std::size_t>(r)] && std::abs(a(r, k)) > most) most = std::abs(a(r, k)), p = r, c = k;
      }
      if (p < 0) break;
      row_taken[static_cast<std::size_t>(p)] = taken[static_cast<std::size_t>(c)] = true;
      kept_rows_.push_back(p);
      dependent_.push_back(c);
      for (int r = 0; r < rows_; ++r)
        if (!row_taken[static_cast<std::size_t>(r)]) a.row(r) -= (a(r, c) / a(p, c)) * a.row(p).eval();
    }
  std::sort(dependent_.begin(), dependent_.end());
  std::sort(kept_rows_.begin(), kept_rows_.end());
  for (int k = 0; k < nv_; ++k)
    if (!taken[static_cast<std::size_t>(k)]) independent_.push_back(k);
  const auto n = static_cast<Eigen::Index>(dependent_.size());
  lu_.resize(n, n);
  step_.resize(n);
  exchange_.assign(dependent_.size(), 0);
  if (!factor()) return {Status::Singular, -1, weakest_joint_, condition_};
  return {};
}

// Φ_d of phi_, with its condition by pivots.
bool JointTree::factor() const {
  const auto n = static_cast<Eigen::Index>(dependent_.size());
  for (Eigen::Index c = 0; c < n; ++c)
    for (Eigen::Index r = 0; r < n; ++r)
      lu_(r, c) = phi_(kept_rows_[static_cast<std::size_t>(r)], dependent_[static_cast<std::size_t>(c)]) /
                  scale_[static_cast<std::size_t>(dependent_[static_cast<std::size_t>(c)])];
  condition_ = 1;
  if (n == 0) return true;
  const bool fine = factor_in_place(lu_, exchange_, kSingular);
  Eigen::Index weakest = 0;
  const double largest = lu_.diagonal().cwiseAbs().maxCoeff();
  condition_ = lu_.diagonal().cwiseAbs().minCoeff(&weakest) / largest;
  const int node = node_of_freedom_[static_cast<std::size_t>(dependent_[static_cast<std::size_t>(weakest)])];
  weakest_joint_ = nodes_[static_cast<std::size_t>(node)].joint;
  return fine;
}

Verdict JointTree::complete(VecX& q, VecX& v, const VecX& wound, Bodies& bodies) const {
  place(q, v, bodies);
  if (dependent_.empty()) return {};
  double before = 0;
  for (int k = 0;; ++k) {
    jacobian(bodies, wound, phi_);
    if (!factor()) return {Status::Singular, -1, weakest_joint_, condition_};
    residual(bodies, wound, residual_);
    for (std::size_t r = 0; r < kept_rows_.size(); ++r) step_[static_cast<Eigen::Index>(r)] = -residual_[kept_rows_[r]];
    solve_in_place(lu_, exchange_, step_.data());
    double now = 0;
    tangent_.setZero();
    for (std::size_t c = 0; c < dependent_.size(); ++c) {
      now = std::max(now, std::abs(step_[static_cast<Eigen::Index>(c)]));
      tangent_[dependent_[c]] = step_[static_cast<Eigen::Index>(c)] / scale_[static_cast<std::size_t>(dependent_[c])];
    }
    if (!std::isfinite(now)) return {Status::NotFinite, -1, weakest_joint_, now};
    retract(q, tangent_, q);
    const double rounding = kRounding * model_.length();
    // Newton squares its error; increments that are small and no longer shrink are rounding.
    const bool last = now <= rounding || (k > 0 && now * (now / before) <= rounding) ||
                      (k > 1 && now > 0.5 * before && now <= kNoise * model_.length());
    if (last) break;
    if (k == kIterations) return {Status::NotConverged, -1, weakest_joint_, now};
    before = now;
    place(q, v, bodies);
  }
  // Rates: Φ_d v_d = -Φ_i v_i.
  place(q, v, bodies);
  jacobian(bodies, wound, phi_);
  if (!factor()) return {Status::Singular, -1, weakest_joint_, condition_};
  for (std::size_t r = 0; r < kept_rows_.size(); ++r) {
    double sum = 0;
    for (const int i : independent_) sum += phi_(kept_rows_[r], i) * v[i];
    step_[static_cast<Eigen::Index>(r)] = -sum;
  }
  solve_in_place(lu_, exchange_, step_.data());
  for (std::size_t c = 0; c < dependent_.size(); ++c)
    v[dependent_[c]] = step_[static_cast<Eigen::Index>(c)] / scale_[static_cast<std::size_t>(dependent_[c])];
  place(q, v, bodies);
  return {};
}

bool JointTree::as_wanted() const {
  return std::all_of(independent_.begin(), independent_.end(), [&](int i) { return wanted_[static_cast<std::size_t>(i)]; });
}

double JointTree::gain() const {
  double most = 0;
  for (const int i : independent_) {
    for (std::size_t r = 0; r < kept_rows_.size(); ++r) step_[static_cast<Eigen::Index>(r)] = phi_(kept_rows_[r], i);
    if (dependent_.empty()) break;
    solve_in_place(lu_, exchange_, step_.data());
    most = std::max(most, step_.cwiseAbs().maxCoeff() / scale_[static_cast<std::size_t>(i)]);
  }
  return most;
}

Verdict JointTree::motions(const Bodies& bodies, const VecX& wound, MatX& E) const {
  E = MatX::Zero(nv_, static_cast<Eigen::Index>(independent_.size()));
  for (std::size_t i = 0; i < independent_.size(); ++i) E(independent_[i], static_cast<Eigen::Index>(i)) = 1;
  if (dependent_.empty()) return {};
  jacobian(bodies, wound, phi_);
  if (!factor()) return {Status::Singular, -1, weakest_joint_, condition_};
  for (std::size_t i = 0; i < independent_.size(); ++i) {
    for (std::size_t r = 0; r < kept_rows_.size(); ++r)
      step_[static_cast<Eigen::Index>(r)] = -phi_(kept_rows_[r], independent_[i]);
    solve_in_place(lu_, exchange_, step_.data());
    for (std::size_t c = 0; c < dependent_.size(); ++c)
      E(dependent_[c], static_cast<Eigen::Index>(i)) =
          step_[static_cast<Eigen::Index>(c)] / scale_[static_cast<std::size_t>(dependent_[c])];
  }
  return {};
}

}  // namespace invar
