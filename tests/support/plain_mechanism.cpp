// SPDX-License-Identifier: Apache-2.0
//
// A joint between parent P and child C. F is fixed to P, M to C; the joint point is M's origin, r_P and r_C lead there from the
// centres of mass. Seen from F, in World axes:
//   w = w_C - w_P                        w' = alpha_C - alpha_P - w_P × w_C
//   v = v_C(M) - v_P(M)                  v' = a_C(M) - a_P(M) - 2 w_P × v
// where P's point is the one that coincides with M now. All axes of freedoms are fixed in F, but the second one of a universal
// joint, x, which is fixed in M: its rate is x·w, and (x·w)' = x·w' since (w × x)·w = 0; w' has w_0 w_1 z × x besides.
#include "support/plain_mechanism.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <unordered_map>

#include "support/random_mechanism.hpp"

namespace invar::testing {

namespace {

Mat3 turn(const Vec3& axis, double angle) { return Eigen::AngleAxisd(angle, axis).toRotationMatrix(); }
Mat3 matrix(const Quat& q) { return q.normalized().toRotationMatrix(); }

/// The angle of a rotation about a known axis.
double angle_about(const Vec3& axis, const Mat3& R) {
  const Vec3 sine(R(2, 1) - R(1, 2), R(0, 2) - R(2, 0), R(1, 0) - R(0, 1));
  return std::atan2(axis.dot(sine), R.trace() - 1);
}

Mat3 parallel_axes(double mass, const Vec3& d) { return mass * (d.dot(d) * Mat3::Identity() - d * d.transpose()); }

/// Axes of a joint in F: its axis, and the one that makes planar and universal joints complete.
struct Axes {
  Vec3 z, x, y;
};
Axes axes_of(const JointSpec& j) {
  const Vec3 z = j.axis.normalized();
  Vec3 x = any_perpendicular(z);
  if (j.kind == JointKind::Universal && !j.axis2.isZero(0)) x = (j.axis2 - j.axis2.dot(z) * z).normalized();
  return {z, x, z.cross(x)};
}

/// What two bodies do relative to each other at the joint, seen from F, World axes.
struct Relative {
  Vec3 w, v, w_dot, v_dot;
  double v_size = 0, a_size = 0;  // of the terms of rates and of accelerations
};

struct Side {
  Vec3 p = Vec3::Zero(), v = Vec3::Zero(), w = Vec3::Zero(), a = Vec3::Zero(), alpha = Vec3::Zero(), p_BC = Vec3::Zero();
  Mat3 R = Mat3::Identity();
};

Relative relative(const Side& P, const Side& C, const Vec3& r_P, const Vec3& r_C) {
  Relative r;
  r.w = C.w - P.w;
  r.v = (C.v + C.w.cross(r_C)) - (P.v + P.w.cross(r_P));
  const auto at = [](const Side& s, const Vec3& arm) { return Vec3(s.a + s.alpha.cross(arm) + s.w.cross(s.w.cross(arm))); };
  r.w_dot = C.alpha - P.alpha - P.w.cross(C.w);
  r.v_dot = at(C, r_C) - at(P, r_P) - 2 * P.w.cross(r.v);
  for (const auto& [s, arm] : {std::pair(P, r_P), std::pair(C, r_C)})
    r.v_size += s.v.norm() + s.w.norm() * (1 + arm.norm()),
        r.a_size += s.a.norm() + (s.alpha.norm() + s.w.squaredNorm()) * (1 + arm.norm());
  return r;
}

/// One turn and one slide per freedom, the wrench of its effort, and its rates.
void add_freedom(const Vec3& turn, const Vec3& slide, bool by_moment, const Relative& r, PlainJoint& j) {
  PlainFreedom f;
  f.turn = turn, f.slide = slide;
  (by_moment ? f.moment : f.force) = by_moment ? turn : slide;
  f.v = f.moment.dot(r.w) + f.force.dot(r.v);
  f.vdot = f.moment.dot(r.w_dot) + f.force.dot(r.v_dot);
  j.freedoms.push_back(f);
}

/// Freedoms and coordinates as in the table of kinds; then how far the joint is from what they allow.
void open(const JointSpec& spec, const Relative& r, PlainJoint& j) {
  const Axes a = axes_of(spec);
  const Vec3 z = j.R_WF * a.z, x = j.R_WF * a.x, y = j.R_WF * a.y, none = Vec3::Zero();
  const auto turning = [&](const Vec3& axis) { add_freedom(axis, none, true, r, j); };
  const auto sliding = [&](const Vec3& axis) { add_freedom(none, axis, false, r, j); };
  const double angle = angle_about(a.z, j.R_FM);
  Mat3 R = Mat3::Identity();  // of the nearest admissible pose
  Vec3 p = Vec3::Zero(), bias = Vec3::Zero();
  switch (spec.kind) {
    case JointKind::Fixed: break;
    case JointKind::Revolute: turning(z), j.q = {angle}, R = turn(a.z, angle); break;
    case JointKind::Prismatic: sliding(z), j.q = {a.z.dot(j.p_FM)}, p = j.q[0] * a.z; break;
    case JointKind::Screw:
      add_freedom(z, spec.pitch * z, true, r, j);
      j.q = {angle + 2 * M_PI * std::round((a.z.dot(j.p_FM) / spec.pitch - angle) / (2 * M_PI))};
      R = turn(a.z, angle), p = spec.pitch * j.q[0] * a.z;
      break;
    case JointKind::Cylindrical:
      turning(z), sliding(z), j.q = {angle, a.z.dot(j.p_FM)};
      R = turn(a.z, angle), p = j.q[1] * a.z;
      break;
    case JointKind::Universal: {
      const Vec3 carried = j.R_FM * a.x;
      j.q = {std::atan2(carried.dot(a.y), carried.dot(a.x)), 0};
      j.q[1] = angle_about(a.x, turn(a.z, -j.q[0]) * j.R_FM);
      R = turn(a.z, j.q[0]) * turn(a.x, j.q[1]);
      turning(z), turning(j.R_WF * carried);
      bias = j.freedoms[0].v * j.freedoms[1].v * z.cross(j.R_WF * carried);
      break;
    }
    case JointKind::Planar:
      sliding(x), sliding(y), turning(z), j.q = {a.x.dot(j.p_FM), a.y.dot(j.p_FM), angle};
      R = turn(a.z, angle), p = j.q[0] * a.x + j.q[1] * a.y;
      break;
    case JointKind::Free:
      for (int k = 0; k < 3; ++k) sliding(j.R_WF.col(k)), j.q.push_back(j.p_FM[k]);
      p = j.p_FM;
      [[fallthrough]];
    case JointKind::Spherical: {
      for (int k = 0; k < 3; ++k) turning(j.R_WF.col(k));
      const Quat q(j.R_FM);
      for (const double c : {q.w(), q.x(), q.y(), q.z()}) j.q.push_back(c);
      R = j.R_FM;
      break;
    }
  }
  Vec3 w = r.w, v = r.v, w_dot = r.w_dot - bias, v_dot = r.v_dot;
  for (const PlainFreedom& f : j.freedoms) {
    w -= f.v * f.turn, v -= f.v * f.slide;
    w_dot -= f.vdot * f.turn, v_dot -= f.vdot * f.slide;
  }
  j.slip = w.norm() + v.norm();
  j.miss = w_dot.norm() + v_dot.norm();
  j.gap = (R.transpose() * j.R_FM - Mat3::Identity()).norm() + (p - j.p_FM).norm();
}

/// A joint that is held where its coordinates put it.
void hold(const JointSpec& spec, const Relative& r, PlainJoint& j) {
  Pose at;
  if (spec.kind == JointKind::Spherical && spec.locked_at.size() == 3) {
    const Vec3 u(spec.locked_at[0], spec.locked_at[1], spec.locked_at[2]);
    if (u.norm() > 0) at.q = Eigen::AngleAxisd(u.norm(), u.normalized());
  } else if (!spec.locked_at.empty()) {
    at = pose_of(spec, spec.locked_at);
  }
  j.gap = (matrix(at.q).transpose() * j.R_FM - Mat3::Identity()).norm() + (at.p - j.p_FM).norm();
  j.slip = r.w.norm() + r.v.norm(), j.miss = r.w_dot.norm() + r.v_dot.norm();
}

double entry(const std::vector<double>& list, std::size_t k, double otherwise) { return list.empty() ? otherwise : list[k]; }

/// The spring of a ball on the child, axes of F; R_FM. Rest attitude R_0 = exp(rest), R = R_0ᵀ R_FM, r its rate in R_0's axes.
/// Rotation vector θ = a n: θ' = J(θ) r with J = c 1 + (1 - c) n nᵀ - (a/2) n×, c = (a/2) cot(a/2): moment -Jᵀ K θ.
/// Angles Rᵀ = Rz(ψ) Ry(θ) Rx(φ): r = A (φ', θ', ψ') with A = -[e_x, Rx(-φ) e_y, Rx(-φ) Ry(-θ) e_z]; moment -A⁻ᵀ K a, as printed
/// -A K a.
Vec3 ball_spring(const JointSpec& spec, std::size_t from, const Mat3& R_FM, double& size) {
  Vec3 K, rest;
  for (std::size_t k = 0; k < 3; ++k) {
    K[static_cast<Eigen::Index>(k)] = spec.spring.stiffness[from + k];
    rest[static_cast<Eigen::Index>(k)] = entry(spec.spring.rest, from + k, 0);
  }
  const Mat3 R0 = rest.norm() > 0 ? turn(rest.normalized(), rest.norm()) : Mat3(Mat3::Identity());
  const Mat3 R = R0.transpose() * R_FM;
  if (spec.spring.law == SpringLaw::RotationVector) {
    const Eigen::AngleAxisd turned(R);
    const double a = turned.angle(), c = a > 1e-8 ? 0.5 * a / std::tan(0.5 * a) : 1.0;
    const Vec3 n = turned.axis(), m = K.cwiseProduct(a * n);
    // Near half a turn the axis changes sign for a small turn more, and c has the slope of a pole at a = 2 pi.
    size = K.cwiseAbs().maxCoeff() * (1 + a);
    return -R0 * (c * m + (1 - c) * n.dot(m) * n + 0.5 * a * n.cross(m));
  }
  const Mat3 R_MF = R.transpose();
  const Vec3 a(std::atan2(R_MF(2, 1), R_MF(2, 2)), std::atan2(-R_MF(2, 0), std::hypot(R_MF(2, 1), R_MF(2, 2))),
               std::atan2(R_MF(1, 0), R_MF(0, 0)));
  const Mat3 Rx = turn(Vec3::UnitX(), -a[0]), Ry = turn(Vec3::UnitY(), -a[1]);
  Mat3 A;
  A << -Vec3::UnitX(), -Rx * Vec3::UnitY(), -Rx * Ry * Vec3::UnitZ();
  const Vec3 Ka = K.cwiseProduct(a);
  const double cosine = std::cos(a[1]);
  size = K.cwiseAbs().maxCoeff() * (1 + a.norm()) / (cosine * cosine);
  return R0 * (spec.spring.law == SpringLaw::Euler ? Vec3(-A.transpose().inverse() * Ka) : Vec3(-A * Ka));
}

}  // namespace

Inertia plain_inertia(const ModelSpec& spec, std::size_t body) {
  std::vector<Inertia> parts = {spec.bodies[body].inertia};
  for (const PayloadSpec& p : spec.payloads)
    if (p.body == spec.bodies[body].name) parts.push_back(p.inertia);
  Inertia whole;
  Vec3 first_moment = Vec3::Zero();
  for (const Inertia& part : parts) whole.mass += part.mass, first_moment += part.mass * part.p_BC;
  whole.p_BC = whole.mass > 0 ? Vec3(first_moment / whole.mass) : parts[0].p_BC;
  if (parts.size() == 1) whole.p_BC = parts[0].p_BC;
  for (const Inertia& part : parts) whole.I_C += part.I_C + parallel_axes(part.mass, part.p_BC - whole.p_BC);
  return whole;
}

int plain_body(const ModelSpec& spec, const std::string& name) {
  for (std::size_t b = 0; b < spec.bodies.size(); ++b)
    if (spec.bodies[b].name == name) return static_cast<int>(b);
  EXPECT_EQ(name, "world") << "a body that is not there";
  return kWorld;
}

std::size_t plain_joint(const ModelSpec& spec, const std::string& name) {
  for (std::size_t j = 0; j < spec.joints.size(); ++j)
    if (spec.joints[j].name == name) return j;
  ADD_FAILURE() << "no joint " << name;
  return 0;
}

std::vector<PlainJoint> plain_joints(const ModelSpec& spec, const Bodies& bodies, const Accelerations& accelerations) {
  std::vector<Side> sides(bodies.size());
  for (std::size_t b = 0; b < bodies.size(); ++b)
    sides[b] = {bodies[b].p_WC,
                bodies[b].v_WC,
                bodies[b].w_WB,
                accelerations[b].a_WC,
                accelerations[b].alpha_WB,
                plain_inertia(spec, b).p_BC,
                matrix(bodies[b].q_WB)};
  std::unordered_map<std::string, int> index = {{"world", kWorld}};
  for (std::size_t b = 0; b < spec.bodies.size(); ++b) index[spec.bodies[b].name] = static_cast<int>(b);
  std::vector<PlainJoint> out;
  out.reserve(spec.joints.size());
  for (const JointSpec& s : spec.joints) {
    PlainJoint j;
    j.parent = index.at(s.parent), j.child = index.at(s.child);
    const Side P = j.parent == kWorld ? Side{} : sides[static_cast<std::size_t>(j.parent)];
    const Side& C = sides[static_cast<std::size_t>(j.child)];
    j.arm_C = C.R * (s.at_child.p - C.p_BC);
    j.arm_P = (C.p - P.p) + j.arm_C;
    j.R_WF = P.R * matrix(s.at_parent.q);
    j.R_FM = j.R_WF.transpose() * C.R * matrix(s.at_child.q);
    j.p_FM = j.R_WF.transpose() * (j.arm_P - P.R * (s.at_parent.p - P.p_BC));
    j.held = s.locked || s.kind == JointKind::Fixed;
    const Relative r = relative(P, C, j.arm_P, j.arm_C);
    j.p_size = P.p.norm() + C.p.norm() + j.arm_P.norm() + j.arm_C.norm(), j.v_size = r.v_size, j.a_size = r.a_size;
    if (s.locked)
      hold(s, r, j);
    else
      open(s, r, j);
    for (std::size_t k = 0; k < j.freedoms.size(); ++k) j.freedoms[k].armature = entry(s.armature, k, 0);
    out.push_back(std::move(j));
  }
  return out;
}

std::vector<double> plain_passive(const JointSpec& spec, const PlainJoint& at, const std::vector<double>& q,
                                  std::vector<double>& size) {
  const std::size_t n = at.freedoms.size();
  const std::size_t ball = spec.kind == JointKind::Spherical ? 0 : (spec.kind == JointKind::Free ? 3 : n);
  std::vector<double> effort(n, 0.0);
  size.assign(n, 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    const double v = at.freedoms[k].v;
    const double damping = entry(spec.damping, k, 0), level = entry(spec.friction, k, 0);
    effort[k] = -damping * v - level * std::tanh(v / spec.friction_velocity);
    size[k] = (damping + level / spec.friction_velocity) * (1 + std::abs(v));
    if (k >= ball) continue;
    const double stiffness = entry(spec.spring.stiffness, k, 0), rest = entry(spec.spring.rest, k, 0);
    effort[k] -= stiffness * (q[k] - rest);
    size[k] += std::abs(stiffness) * (1 + std::abs(q[k]) + std::abs(rest));
    for (const double side : {1.0, -1.0}) {
      const double limit = side > 0 ? entry(spec.limits.upper, k, 1e308) : entry(spec.limits.lower, k, -1e308);
      const double depth = side * (q[k] - limit);
      if (std::abs(limit) > 1e300 || depth < -1e-6) continue;
      const double push = spec.limits.stiffness * std::max(depth, 0.0) * (1 + spec.limits.damping * side * v);
      effort[k] -= side * std::max(0.0, push);
      size[k] += spec.limits.stiffness * (1 + std::abs(q[k])) * (1 + spec.limits.damping * (1 + std::abs(v)));
    }
  }
  if (ball == n || spec.spring.stiffness.empty()) return effort;
  double whole = 0;
  const Vec3 moment = ball_spring(spec, ball, at.R_FM, whole);
  for (std::size_t k = ball; k < n; ++k) effort[k] += moment[static_cast<Eigen::Index>(k - ball)], size[k] += whole;
  return effort;
}

PlainTendon plain_tendon(const ModelSpec& spec, const TendonSpec& tendon, const Bodies& bodies) {
  PlainTendon out;
  std::vector<Vec3> p, v;
  for (const PointSpec& point : tendon.points) {
    Vec3 p_BP = point.p;
    std::string body = point.body;
    for (const FrameSpec& frame : spec.frames)
      if (!point.frame.empty() && frame.name == point.frame) p_BP = frame.at.p + matrix(frame.at.q) * point.p, body = frame.body;
    const int b = plain_body(spec, body);
    out.body.push_back(b);
    if (b == kWorld) {
      out.arm.push_back(p_BP), p.push_back(p_BP), v.push_back(Vec3::Zero());
      continue;
    }
    const BodyState& s = bodies[static_cast<std::size_t>(b)];
    out.arm.push_back(matrix(s.q_WB) * (p_BP - plain_inertia(spec, static_cast<std::size_t>(b)).p_BC));
    p.push_back(s.p_WC + out.arm.back()), v.push_back(s.v_WC + s.w_WB.cross(out.arm.back()));
  }
  std::vector<Vec3> along;
  double size = 0;
  for (std::size_t k = 1; k < p.size(); ++k) {
    const Vec3 d = p[k] - p[k - 1];
    along.push_back(d.norm() > 0 ? Vec3(d / d.norm()) : Vec3(Vec3::Zero()));
    out.length += d.norm(), out.rate += along.back().dot(v[k] - v[k - 1]);
    size += p[k].norm() + p[k - 1].norm();
  }
  // Without stiffness there is no relaxed length to be slack at but `length` itself.
  const double relaxed = tendon.stiffness > 0 ? tendon.length - tendon.pretension / tendon.stiffness : tendon.length;
  out.tension = tendon.stiffness * (out.length - relaxed) + tendon.damping * out.rate;
  if (tendon.tension_only && (out.length <= relaxed || out.tension < 0)) out.tension = 0;
  out.size = tendon.stiffness * (size + std::abs(relaxed)) + tendon.damping * (1 + std::abs(out.rate));
  out.force.assign(p.size(), Vec3::Zero());
  for (std::size_t k = 0; k < along.size(); ++k)
    out.force[k] += out.tension * along[k], out.force[k + 1] -= out.tension * along[k];
  return out;
}

}  // namespace invar::testing
