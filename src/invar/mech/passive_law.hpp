// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <numbers>

#include "invar/base/dual.hpp"
#include "invar/model/model.hpp"

namespace invar {

/// The laws of passive joints (see passive.cpp for their derivation), for any number: double, or Dual where derivatives are asked
/// for. One formula for both.

template <class S>
using Vec3Of = Eigen::Matrix<S, 3, 1>;
template <class S>
using QuatOf = Eigen::Quaternion<S>;

/// Force that pushes back (>= 0) at depth d with rate d'.
template <class S>
S stop_force(const Passive& p, const S& depth, const S& rate) {
  if (!(depth > S(0))) return S(0);
  const S push = p.stop_stiffness * depth * (1 + p.stop_damping * rate);
  return push > S(0) ? push : S(0);
}

/// Effort of spring and stops on a scalar freedom, and of damper and friction.
template <class S>
S spring_and_stop_effort(const Passive& p, const S& q, const S& v) {
  S effort = -p.stiffness * (q - p.rest);
  if (q > S(p.upper)) effort -= stop_force<S>(p, q - p.upper, v);
  if (q < S(p.lower)) effort += stop_force<S>(p, p.lower - q, -v);
  return effort;
}
template <class S>
S loss_effort(const Passive& p, const S& v) {
  using std::tanh;
  const S friction = p.friction > 0 ? S(p.friction * tanh(v / p.friction_velocity)) : S(0);
  return -p.damping * v - friction;
}

/// log of a rotation, without a root where the angle vanishes: θ = 2 atan2(s, c)/s v with s = |v|, and for t = (s/c)² small
/// atan(√t)/√t = 1 - t/3 + t²/5 - ..., whose next term is below 1e-20.
template <class S>
Vec3Of<S> rotation_vector(const QuatOf<S>& q) {
  using std::atan2, std::sqrt;
  const double sign = value_of(q.w()) < 0 ? -1.0 : 1.0;
  const Vec3Of<S> v = S(sign) * q.vec();
  const S c = sign * q.w(), square = v.dot(v);
  if (value_of(square) < 1e-4 * value_of(c) * value_of(c)) {
    const S t = square / (c * c);
    return (2.0 / c * (1 - t * (1.0 / 3 - t * (1.0 / 5 - t * (1.0 / 7 - t * (1.0 / 9 - t / 11.0)))))) * v;
  }
  const S s = sqrt(square);
  return (2.0 * atan2(s, c) / s) * v;
}

/// dexp^-T(θ) x = x + θ × x / 2 + c θ × (θ × x), c as in dexp_inv_so3.
template <class S>
Vec3Of<S> dexp_inv_transposed(const Vec3Of<S>& theta, const Vec3Of<S>& x) {
  using std::cos, std::sin, std::sqrt;
  const S a2 = theta.dot(theta);
  S c;
  if (value_of(a2) < 1e-2) {
    c = 1.0 / 12 + a2 * (1.0 / 720 + a2 * (1.0 / 30240 + a2 * (1.0 / 1209600 + a2 / 47900160.0)));
  } else {
    const S half = 0.5 * sqrt(a2);
    c = (1 - half * cos(half) / sin(half)) / a2;
  }
  const Vec3Of<S> once = theta.cross(x);
  return x + S(0.5) * once + c * theta.cross(once);
}

/// Angles (φ, θ, ψ) of A (10), the Z-Y-X angles of F seen from M (see to_zyx), of q = q_FM.
template <class S>
Vec3Of<S> euler_angles_of(const QuatOf<S>& q) {
  using std::atan2, std::sqrt;
  const S q0 = q.w(), q1 = -q.x(), q2 = -q.y(), q3 = -q.z();
  const auto within = [](const S& a) { return a - 2 * std::numbers::pi * std::nearbyint(value_of(a) / (2 * std::numbers::pi)); };
  const auto length = [](const S& a, const S& b) { return sqrt(a * a + b * b); };
  const S difference = atan2(q3 - q1, q0 + q2), sum = atan2(q1 + q3, q0 - q2);
  const S pitch = 2 * atan2(length(q0 + q2, q3 - q1), length(q0 - q2, q1 + q3)) - 0.5 * std::numbers::pi;
  return {within(sum - difference), pitch, within(sum + difference)};
}

/// The moment of a spherical joint's spring on the child, components of F.
template <class S>
Vec3Of<S> ball_spring_moment(SpringLaw law, const Vec3& stiffness, const Vec3& rest, const QuatOf<S>& q_FM) {
  using std::cos, std::sin;
  const Quat q_rest = exp_so3(rest);
  const QuatOf<S> back(S(q_rest.w()), S(-q_rest.x()), S(-q_rest.y()), S(-q_rest.z()));
  const QuatOf<S> q = back * q_FM;
  const Eigen::Matrix<S, 3, 3> R_rest = q_rest.toRotationMatrix().template cast<S>();
  const Vec3Of<S> K = stiffness.template cast<S>();
  if (law == SpringLaw::RotationVector) {
    const Vec3Of<S> theta = rotation_vector<S>(q);
    return -(R_rest * dexp_inv_transposed<S>(theta, K.cwiseProduct(theta)));
  }
  const Vec3Of<S> a = euler_angles_of<S>(q), Ka = K.cwiseProduct(a);
  const S s = sin(a[1]), c = cos(a[1]);
  const Vec3Of<S> m = law == SpringLaw::Euler ? Vec3Of<S>(Ka[0], Ka[1], (s * Ka[0] + Ka[2]) / c)  // Σ K a jⁱ
                                              : Vec3Of<S>(Ka[0] - s * Ka[2], Ka[1], c * Ka[2]);   // Σ K a j_i
  const S cx = cos(a[0]), sx = sin(a[0]);                                                         // Rx(-φ)
  return R_rest * Vec3Of<S>(m[0], cx * m[1] + sx * m[2], cx * m[2] - sx * m[1]);
}

}  // namespace invar
