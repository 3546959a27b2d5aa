// SPDX-License-Identifier: Apache-2.0
//
// A joint sees its two bodies through the frames F (on the parent P) and M (on the child C); the joint point is the origin of M.
//   pose       X_FM = X_WF^-1 X_WM
//   twist      w = R_FW (w_C - w_P),  v = R_FW (v_C(p_M) - v_P(p_M)): the rate of p_FM as seen from F
//   its rate   w' = R_FW (alpha_C - alpha_P - w_P × (w_C - w_P)),
//              v' = R_FW (a_C(p_M) - a_P(p_M) - 2 w_P × (v_C(p_M) - v_P(p_M)))
//   freedoms   v_j = dualᵀ V, and from V' = S v_j' + Ṡ v_j:  v_j' = dualᵀ (V' - bias)
// Closing error: with q = measure(X_FM) the pose (R, p) differs from the admissible pose(q) by log(R_FM R(q)ᵀ) and
// p_FM - p(q), both in F; only the part along the rows can be non-zero, and its rate is C V where it vanishes.
#include "invar/mech/kinematics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "invar/base/largest.hpp"

namespace invar {

namespace {

using Coordinates = std::array<double, 7>;  // of one joint; the first nq count

/// The two sides of a joint in World: attitude of F, gap from F to M, arms from the centres of mass to the joint point.
struct Sides {
  const BodyState& parent;
  const BodyState& child;
  Quat q_WF;
  Vec3 p_FM_W;
  Vec3 arm_P, arm_C;
};

Vec3 com(const Model& model, int b) {
  return b == kWorld ? Vec3(Vec3::Zero()) : model.bodies()[static_cast<std::size_t>(b)].inertia.p_BC;
}

const Joint& joint_of(const Model& model, int j) { return model.joints()[static_cast<std::size_t>(j)]; }

Sides sides(const Model& model, const Joint& joint, const Bodies& bodies) {
  const BodyState& parent = body_state(bodies, joint.parent);
  const BodyState& child = body_state(bodies, joint.child);
  const Vec3 arm_F = parent.q_WB * (joint.X_PF.p - com(model, joint.parent));
  const Vec3 arm_C = child.q_WB * (joint.X_CM.p - com(model, joint.child));
  // Two points far from the World origin are subtracted first (on World the far one is F itself), then arms are added: what is
  // lost is what the positions themselves do not hold.
  const Vec3 between = child.p_WC - parent.p_WC;
  return {parent, child, parent.q_WB * joint.X_PF.q, (between - arm_F) + arm_C, between + arm_C, arm_C};
}

Pose pose_of(const Joint& joint, const Sides& s) {
  return {normalized(s.q_WF.conjugate() * s.child.q_WB * joint.X_CM.q), s.q_WF.conjugate() * s.p_FM_W};
}

Vec6 twist_of(const Sides& s) {
  Vec6 V;
  V.head<3>() = s.q_WF.conjugate() * (s.child.w_WB - s.parent.w_WB);
  V.tail<3>() = s.q_WF.conjugate() * (s.child.v_WC - s.parent.v_WC + s.child.w_WB.cross(s.arm_C) - s.parent.w_WB.cross(s.arm_P));
  return V;
}

Coordinates measure_of(const Joint& joint, const Pose& X_FM) {
  Coordinates q{};
  joint.facts->measure(X_FM, q.data());
  return q;
}

/// Rates of the freedoms, dualᵀ V, into v[0 .. nv).
void rates_of(const Joint& joint, const Coordinates& q, const Vec6& V, double* v) {
  Columns dual;
  joint.facts->dual(q.data(), dual);
  for (int k = 0; k < joint.nv; ++k) v[k] = dual.col(k).dot(V);
}

/// One freedom of a joint as the bodies have it: coordinate (wound, where it winds) and rate.
struct Freedom {
  double q = 0, v = 0;
};
Freedom freedom_of(const Model& model, int j, int k, const Bodies& bodies, const VecX& wound) {
  const Joint& joint = joint_of(model, j);
  const Sides s = sides(model, joint, bodies);
  const Coordinates q = measure_of(joint, pose_of(joint, s));
  std::array<double, 6> v{};
  rates_of(joint, q, twist_of(s), v.data());
  const auto i = static_cast<std::size_t>(k);
  return {joint.winds(k) ? nearest_turn(q[i], wound[joint.v0 + k]) : q[i], v[i]};
}

Residual residual_of(const Joint& joint, const Pose& X_FM) {
  const Coordinates q = measure_of(joint, X_FM);
  const Pose X = joint.facts->pose(q.data());
  Rows C;
  joint.facts->rows(q.data(), C);
  Vec6 error;
  error << log_so3(X_FM.q * X.q.conjugate()), X_FM.p - X.p;
  return C * error;
}

Residual residual_rate_of(const Joint& joint, const Sides& s) {
  const Coordinates q = measure_of(joint, pose_of(joint, s));
  Rows C;
  joint.facts->rows(q.data(), C);
  return C * twist_of(s);
}

double largest(const Residual& r) {
  double most = 0;
  for (const double x : r) keep_largest(most, std::abs(x));
  return most;
}

/// The larger position error, and whose it is; the first NaN stays.
void raise(ConstraintError& error, int joint, double position, double velocity) {
  const double before = error.position;
  keep_largest(error.position, position);
  if (error.position > before || (std::isnan(error.position) && !std::isnan(before))) error.joint = joint;
  keep_largest(error.velocity, velocity);
}

void fit(VecX& x, int size) {
  if (x.size() != size) x.resize(size);
}

}  // namespace

double nearest_turn(double angle, double wound) {
  constexpr double turn = 2 * std::numbers::pi;
  return angle + turn * std::round((wound - angle) / turn);
}

Pose joint_pose(const Model& model, int joint, const Bodies& bodies) {
  const Joint& j = joint_of(model, joint);
  return pose_of(j, sides(model, j, bodies));
}

Twist joint_twist(const Model& model, int joint, const Bodies& bodies) {
  const Vec6 V = twist_of(sides(model, joint_of(model, joint), bodies));
  return {V.head<3>(), V.tail<3>()};
}

Pose joint_pose(const Model& model, int joint, const Bodies& bodies, Twist& twist) {
  const Joint& j = joint_of(model, joint);
  const Sides s = sides(model, j, bodies);
  const Vec6 V = twist_of(s);
  twist = {V.head<3>(), V.tail<3>()};
  return pose_of(j, s);
}

void joint_coordinates(const Model& model, const Bodies& bodies, VecX& q, VecX& v) {
  fit(q, model.nq());
  fit(v, model.nv());
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) coordinates_of_joint(model, j, bodies, q, v);
}

void coordinates_of_joint(const Model& model, int j, const Bodies& bodies, VecX& q, VecX& v) {
  const Joint& joint = joint_of(model, j);
  const Sides s = sides(model, joint, bodies);
  const Coordinates c = measure_of(joint, pose_of(joint, s));
  std::copy_n(c.begin(), joint.nq, q.data() + joint.q0);
  rates_of(joint, c, twist_of(s), v.data() + joint.v0);
}

void unwind(const Model& model, const VecX& wound, VecX& q) {
  // Kinds that wind have one coordinate per freedom, in the same order.
  for (const Joint& joint : model.joints())
    for (int k = 0; k < joint.nv; ++k)
      if (joint.winds(k)) q[joint.q0 + k] = nearest_turn(q[joint.q0 + k], wound[joint.v0 + k]);
}

namespace {

// Couplings in a row pass turns on, in whatever order they were written: from coordinates that are known either way, or from all
// driving ones to those that they drive.
void pass_turns_on(const Model& model, const VecX& q, bool from_known, std::vector<bool>& known, VecX& wound) {
  const auto value = [&](const Joint& joint, int k) { return joint.winds(k) ? wound[joint.v0 + k] : q[joint.q0 + k]; };
  for (std::size_t pass = 0; pass < model.couplings().size(); ++pass)
    for (const Coupling& c : model.couplings()) {
      const Joint& driven = joint_of(model, c.joint);
      const Joint& of = joint_of(model, c.of);
      const int i = driven.v0 + c.freedom, j = of.v0 + c.of_freedom;
      const double driving = value(of, c.of_freedom);
      if (!known[i] && (known[j] || !from_known)) {
        wound[i] = nearest_turn(wound[i], driven_by(c, driving).value);
        known[i] = known[j];
      } else if (known[i] && !known[j]) {
        const double back = driving_of(c, value(driven, c.freedom), driving);
        if (!std::isfinite(back)) continue;
        wound[j] = nearest_turn(wound[j], back);
        known[j] = true;
      }
    }
}

}  // namespace

VecX wound_at(const Model& model, const Bodies& bodies, const VecX& told) { return wound_at(model, bodies, told, {}); }

VecX wound_at(const Model& model, const Bodies& bodies, const VecX& told, const std::vector<int>& in_turn) {
  VecX q, v, wound = VecX::Zero(model.nv());
  joint_coordinates(model, bodies, q, v);
  const auto is_told = [&](int i) {
    return told.size() > 0 && !std::isnan(told[i]) && std::find(in_turn.begin(), in_turn.end(), i) == in_turn.end();
  };
  for (const Joint& joint : model.joints())
    for (int k = 0; k < joint.nv; ++k) {
      const int i = joint.v0 + k;
      if (joint.winds(k)) wound[i] = is_told(i) ? nearest_turn(q[joint.q0 + k], told[i]) : q[joint.q0 + k];
    }
  // Coordinates that are told, or that have no turns.
  std::vector<bool> known(static_cast<std::size_t>(model.nv()));
  for (const Joint& joint : model.joints())
    for (int k = 0; k < joint.nv; ++k) known[joint.v0 + k] = is_told(joint.v0 + k) || !joint.winds(k);
  pass_turns_on(model, q, true, known, wound);
  for (const int i : in_turn) {
    if (known[static_cast<std::size_t>(i)]) continue;
    wound[i] = nearest_turn(wound[i], told[i]);
    known[static_cast<std::size_t>(i)] = true;
    pass_turns_on(model, q, true, known, wound);
  }
  pass_turns_on(model, q, false, known, wound);
  return wound;
}

void acceleration_of_joint(const Model& model, int j, const Bodies& bodies, const Accelerations& accelerations, double* vdot) {
  static const BodyAcceleration ground;
  const auto acceleration = [&](int b) -> const BodyAcceleration& {
    return b == kWorld ? ground : accelerations[static_cast<std::size_t>(b)];
  };
  const Joint& joint = joint_of(model, j);
  const Sides s = sides(model, joint, bodies);
  const Vec3& w_P = s.parent.w_WB;
  const Vec3& w_C = s.child.w_WB;
  const BodyAcceleration& P = acceleration(joint.parent);
  const BodyAcceleration& C = acceleration(joint.child);
  // Accelerations of the two body-fixed points at the joint, and what an observer on F makes of them.
  const Vec3 a_C = C.a_WC + C.alpha_WB.cross(s.arm_C) + w_C.cross(w_C.cross(s.arm_C));
  const Vec3 a_P = P.a_WC + P.alpha_WB.cross(s.arm_P) + w_P.cross(w_P.cross(s.arm_P));
  const Vec6 V = twist_of(s);
  Vec6 rate;
  rate.head<3>() = s.q_WF.conjugate() * (C.alpha_WB - P.alpha_WB - w_P.cross(w_C));
  rate.tail<3>() = s.q_WF.conjugate() * (a_C - a_P) - 2.0 * (s.q_WF.conjugate() * w_P).cross(V.tail<3>());
  // v' = dualᵀ (V' - Ṡ v)
  const Coordinates q = measure_of(joint, pose_of(joint, s));
  std::array<double, 6> v{};
  rates_of(joint, q, V, v.data());
  rate -= joint.facts->bias(q.data(), v.data());
  rates_of(joint, q, rate, vdot);
}

void joint_accelerations(const Model& model, const Bodies& bodies, const Accelerations& accelerations, VecX& vdot) {
  fit(vdot, model.nv());
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j)
    acceleration_of_joint(model, j, bodies, accelerations, vdot.data() + joint_of(model, j).v0);
}

Residual joint_residual(const Model& model, int joint, const Bodies& bodies) {
  const Joint& j = joint_of(model, joint);
  return residual_of(j, pose_of(j, sides(model, j, bodies)));
}

Residual joint_residual_rate(const Model& model, int joint, const Bodies& bodies) {
  const Joint& j = joint_of(model, joint);
  return residual_rate_of(j, sides(model, j, bodies));
}

ConstraintError constraint_error(const Model& model, const Bodies& bodies, const VecX& wound) {
  ConstraintError error;
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) {
    const Joint& joint = joint_of(model, j);
    const Sides s = sides(model, joint, bodies);
    raise(error, j, largest(residual_of(joint, pose_of(joint, s))), largest(residual_rate_of(joint, s)));
  }
  for (const Coupling& c : model.couplings()) {
    const Freedom driven = freedom_of(model, c.joint, c.freedom, bodies, wound);
    const Freedom driving = freedom_of(model, c.of, c.of_freedom, bodies, wound);
    const Driven p = driven_by(c, driving.q);
    raise(error, -1, std::abs(driven.q - p.value), std::abs(driven.v - p.slope * driving.v));
  }
  return error;
}

// Horner's rule, with the derivatives carried along.
Driven driven_by(const Coupling& coupling, double q) {
  Driven p;
  for (auto c = coupling.coefficients.rbegin(); c != coupling.coefficients.rend(); ++c) {
    p.curvature = p.curvature * q + 2 * p.slope;
    p.slope = p.slope * q + p.value;
    p.value = p.value * q + *c;
  }
  return p;
}

namespace {

// Newton's method, until rounding leaves nothing to gain; for a gear its first iteration is exact.
double newton_driving_of(const Coupling& coupling, double value, double guess) {
  constexpr int kIterations = 40;
  constexpr double kClose = 1e-9;
  double q = guess, before = std::numeric_limits<double>::infinity();
  for (int k = 0; k < kIterations; ++k) {
    const Driven p = driven_by(coupling, q);
    const double step = (value - p.value) / p.slope;
    const bool close = before <= kClose * (1 + std::abs(q));
    if (close && !(std::abs(step) < before)) return q;
    if (!std::isfinite(step)) break;
    q += step;
    if (step == 0) return q;
    before = std::abs(step);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

// Where the polynomial is level at the guess no slope leads away from it: c qⁿ, its highest power, tells how far to look.
double driving_of(const Coupling& coupling, double value, double guess) {
  const double q = newton_driving_of(coupling, value, guess);
  if (std::isfinite(q)) return q;
  std::size_t n = coupling.coefficients.size();
  while (n > 1 && coupling.coefficients[n - 1] == 0) --n;
  if (n < 3) return q;
  const double missing = std::abs(value - driven_by(coupling, guess).value);
  const double far = std::pow(missing / std::abs(coupling.coefficients[n - 1]), 1 / static_cast<double>(n - 1));
  const double ahead = newton_driving_of(coupling, value, guess + far);
  return std::isfinite(ahead) ? ahead : newton_driving_of(coupling, value, guess - far);
}

void driving_coordinates(const Model& model, const VecX& q, VecX& out) {
  for (int c = 0; c < out.size(); ++c) {
    const Coupling& coupling = model.couplings()[static_cast<std::size_t>(c)];
    out[c] = q[joint_of(model, coupling.of).q0 + coupling.of_freedom];
  }
}

double coupling_residual(const Model& model, int coupling, const VecX& q) {
  const Coupling& c = model.couplings()[static_cast<std::size_t>(coupling)];
  const double driving = q[joint_of(model, c.of).q0 + c.of_freedom];
  return q[joint_of(model, c.joint).q0 + c.freedom] - driven_by(c, driving).value;
}

double coupling_residual_rate(const Model& model, int coupling, const VecX& q, const VecX& v) {
  const Coupling& c = model.couplings()[static_cast<std::size_t>(coupling)];
  const Joint& of = joint_of(model, c.of);
  const double slope = driven_by(c, q[of.q0 + c.of_freedom]).slope;
  return v[joint_of(model, c.joint).v0 + c.freedom] - slope * v[of.v0 + c.of_freedom];
}

Pose frame_pose(const Model& model, int frame, const Bodies& bodies) {
  const Frame& f = model.frames()[static_cast<std::size_t>(frame)];
  return body_pose(model, bodies, f.body) * f.X_BE;
}

}  // namespace invar
