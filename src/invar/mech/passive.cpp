// SPDX-License-Identifier: Apache-2.0
//
// Scalar freedoms:  spring -k (q - rest), damper -c v, friction -level tanh(v / v_s),
// stop at depth d > 0 with rate d': -k max(0, d (1 + c d')) outward; it stores ½ k d² and loses the rest of what it takes.
//
// Ball joints. Let R = R_restᵀ R_FM; its rate, components of the rest frame, is r = R_restᵀ w.
//   Rotation vector:  θ = log R, energy ½ θᵀKθ, θ' = dexp^-1(θ) r;  power balance: moment on the child -dexp^-T(θ) K θ.
//   Euler angles of A (10):  R = Rx(-φ) Ry(-θ) Rz(-ψ), so r = -(φ' j1 + θ' j2 + ψ' j3) with A's axes
//     j1 = e_x,  j2 = Rx(-φ) e_y,  j3 = Rx(-φ) (-sin θ, 0, cos θ).
//     Energy ½ Σ K a² and power balance give +Σ K a jⁱ on the child with the reciprocal axes jⁱ (jⁱ·j_k = δ):
//     j¹ = Rx(-φ) (1, 0, tan θ),  j² = j2,  j³ = Rx(-φ) (0, 0, 1/cos θ).
//     A (9) with the sign of docs/papers.md A3 takes j_i for jⁱ; the axes are oblique, so that law has no energy (A4 there).
#include "invar/mech/passive.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/passive_law.hpp"

namespace invar {

int ball_start(const Joint& joint) { return joint.facts->ball() < 0 ? joint.nv : joint.facts->ball(); }

namespace {

// Below this turn (rad) the correction of a ball's moment, of second order in the turn, is less than rounding would make of it.
constexpr double kSmallTurn = 1e-5;

}  // namespace

double spring_and_stop_energy(const Passive& p, double q) {
  const double stretch = q - p.rest;
  const double depth = std::max({0.0, q - p.upper, p.lower - q});
  return 0.5 * (p.stiffness * stretch * stretch + p.stop_stiffness * depth * depth);
}

double damping_and_friction(const Passive& p, double v) { return loss_effort<double>(p, v); }

double spring_and_stop(const Passive& p, double q, double v, double& dissipation) {
  double effort = -p.stiffness * (q - p.rest);
  const double above = q - p.upper, below = p.lower - q;
  if (above > 0) {
    const double push = stop_force<double>(p, above, v);
    effort -= push;
    dissipation += (push - p.stop_stiffness * above) * v;
  }
  if (below > 0) {
    const double push = stop_force<double>(p, below, -v);
    effort += push;
    dissipation -= (push - p.stop_stiffness * below) * v;
  }
  return effort;
}

namespace {

struct Ball {
  Vec3 stiffness, rest;
  Quat q_FM;
};

/// The ball part of a joint: stiffness, rest and attitude.
Ball ball_of(const Joint& joint, int start, const VecX& q) {
  Ball ball;
  for (int k = 0; k < 3; ++k) {
    const Passive& p = joint.passive[static_cast<std::size_t>(start + k)];
    ball.stiffness[k] = p.stiffness;
    ball.rest[k] = p.rest;
  }
  const double* c = q.data() + joint.q0 + start;
  ball.q_FM = Quat(c[0], c[1], c[2], c[3]);
  return ball;
}

/// Angles (φ, θ, ψ) of A (10): the Z-Y-X angles of F seen from M.
Vec3 euler_angles(const Quat& q) { return to_zyx(q.conjugate()); }

}  // namespace

void add_passive_efforts(const Model& model, const VecX& q, const VecX& v, VecX& efforts, double& dissipation) {
  dissipation = 0;
  for (const Joint& joint : model.joints()) {
    if (!joint.has_passive) continue;
    const int ball = ball_start(joint);
    for (int k = 0; k < joint.nv; ++k) {
      const Passive& p = joint.passive[static_cast<std::size_t>(k)];
      const double rate = v[joint.v0 + k];
      const double loss = damping_and_friction(p, rate);
      dissipation -= loss * rate;
      efforts[joint.v0 + k] += loss;
      if (k < ball) efforts[joint.v0 + k] += spring_and_stop(p, q[joint.q0 + k], rate, dissipation);
    }
    if (!joint.has_spring || ball == joint.nv) continue;
    const Ball b = ball_of(joint, ball, q);
    efforts.segment<3>(joint.v0 + ball) += spherical_spring_moment(joint.spring_law, b.stiffness, b.rest, b.q_FM);
  }
}

double elastic_energy(const Model& model, const VecX& q) {
  double total = 0;
  for (const Joint& joint : model.joints()) {
    if (!joint.has_passive) continue;
    const int ball = ball_start(joint);
    for (int k = 0; k < ball; ++k) total += spring_and_stop_energy(joint.passive[static_cast<std::size_t>(k)], q[joint.q0 + k]);
    if (!joint.has_spring || ball == joint.nv) continue;
    const Ball b = ball_of(joint, ball, q);
    total += spherical_spring_energy(joint.spring_law, b.stiffness, b.rest, b.q_FM);
  }
  return total;
}

Vec3 spherical_spring_moment(SpringLaw law, const Vec3& stiffness, const Vec3& rest, const Quat& q_FM) {
  return ball_spring_moment<double>(law, stiffness, rest, q_FM);
}

double spherical_spring_energy(SpringLaw law, const Vec3& stiffness, const Vec3& rest, const Quat& q_FM) {
  const Quat q = exp_so3(rest).conjugate() * q_FM;
  const Vec3 a = law == SpringLaw::RotationVector ? log_so3(q) : euler_angles(q);
  return 0.5 * stiffness.dot(a.cwiseAbs2());
}

// Both inside: the mean. One inside: the change is at least as long as its depth.
double depth_secant(double a, double b) {
  if (a >= 0 && b >= 0) return 0.5 * (a + b);
  if (a <= 0 && b <= 0) return 0;
  const double pa = std::max(0.0, a), pb = std::max(0.0, b);
  return 0.5 * (pa + pb) * ((pb - pa) / (b - a));
}

double spring_and_stop_secant(const Passive& p, double q0, double q1) {
  double sum = p.stiffness * (0.5 * (q0 + q1) - p.rest);
  if (p.stop_stiffness > 0)
    sum += p.stop_stiffness * (depth_secant(q0 - p.upper, q1 - p.upper) - depth_secant(p.lower - q0, p.lower - q1));
  return sum;
}

Vec3 spherical_spring_halfway(SpringLaw law, const Vec3& stiffness, const Vec3& rest, const Quat& q0_FM, const Quat& q1_FM) {
  const double side = q0_FM.dot(q1_FM) < 0 ? -1.0 : 1.0;
  return spherical_spring_moment(law, stiffness, rest, normalized(Quat((q0_FM.coeffs() + side * q1_FM.coeffs()).eval())));
}

Vec3 spherical_spring_exact(SpringLaw law, const Vec3& stiffness, const Vec3& rest, const Quat& q0_FM, const Quat& q1_FM,
                            const Vec3& moment, const Vec3& turn) {
  if (law == SpringLaw::EulerPrinted || !(turn.norm() > kSmallTurn)) return moment;
  const double change =
      spherical_spring_energy(law, stiffness, rest, q1_FM) - spherical_spring_energy(law, stiffness, rest, q0_FM);
  return moment - (change + moment.dot(turn)) / turn.squaredNorm() * turn;
}

// Damping of stops acts on the mean depth; friction and damping see the mean rate.
PassiveStep passive_over_step(const Passive& p, double q0, double q1, double h) {
  PassiveStep out;
  const double rate = (q1 - q0) / h;
  out.effort = damping_and_friction(p, rate);
  out.lost = -out.effort * rate;
  const double tanh = std::tanh(rate / p.friction_velocity);
  out.slope = -(p.damping + (p.friction > 0 ? p.friction * (1 - tanh * tanh) / p.friction_velocity : 0.0)) / h;
  out.effort -= spring_and_stop_secant(p, q0, q1);
  out.slope -= 0.5 * p.stiffness;
  for (const double side : {1.0, -1.0}) {
    const double limit = side > 0 ? p.upper : -p.lower;
    const double depth = depth_secant(side * q0 - limit, side * q1 - limit);
    if (depth == 0) continue;
    const double damped = std::max(-1.0, p.stop_damping * side * rate);
    out.effort -= side * p.stop_stiffness * depth * damped;
    out.lost += p.stop_stiffness * depth * damped * side * rate;
    out.slope -= 0.5 * p.stop_stiffness * (1 + damped) + p.stop_stiffness * depth * p.stop_damping / h;
  }
  return out;
}

BallStep passive_over_step(const Joint& joint, const Quat& q0_FM, const Quat& q1_FM, const Vec3& rate, double h) {
  BallStep out;
  Vec3 stiffness, rest;
  for (int k = 0; k < 3; ++k) {
    const Passive& p = joint.passive[static_cast<std::size_t>(k)];
    out.moment[k] = damping_and_friction(p, rate[k]);
    stiffness[k] = p.stiffness;
    rest[k] = p.rest;
  }
  out.lost = -out.moment.dot(rate);
  if (!joint.has_spring) return out;
  const Vec3 halfway = spherical_spring_halfway(joint.spring_law, stiffness, rest, q0_FM, q1_FM);
  out.moment += spherical_spring_exact(joint.spring_law, stiffness, rest, q0_FM, q1_FM, halfway, h * rate);
  return out;
}

}  // namespace invar
