// SPDX-License-Identifier: Apache-2.0
#include "invar/geom/rotation.hpp"

#include <cmath>
#include <numbers>

namespace invar {

Quat exp_so3(const Vec3& u) {
  const double angle2 = u.squaredNorm();
  // sin(a/2)/a as a series below a = 1e-2: the next term, a^8/(2^9 9!), is under 1e-24.
  if (angle2 < 1e-4) {
    const double s = 0.5 - angle2 / 48 + angle2 * angle2 / 3840 - angle2 * angle2 * angle2 / 645120;
    const double c = 1 - angle2 / 8 + angle2 * angle2 / 384 - angle2 * angle2 * angle2 / 46080;
    return {c, s * u.x(), s * u.y(), s * u.z()};
  }
  const double angle = std::sqrt(angle2);
  const double s = std::sin(0.5 * angle) / angle;
  return {std::cos(0.5 * angle), s * u.x(), s * u.y(), s * u.z()};
}

Vec3 log_so3(const Quat& q) {
  // Both signs of q are the same rotation: take the one with the shorter way.
  const double sign = q.w() < 0 ? -1.0 : 1.0;
  const Vec3 v = sign * q.vec();
  const double s = v.norm();
  // angle/s with angle = 2 atan2(s, c): accurate for small s (2/c) and near pi (c -> 0) alike.
  if (s < 1e-150) return 2.0 * v;
  return (2.0 * std::atan2(s, sign * q.w()) / s) * v;
}

// dexp(u) = 1 + (1-cos a)/a² û + (a - sin a)/a³ û²
Mat3 dexp_so3(const Vec3& u) {
  const double a2 = u.squaredNorm();
  const Mat3 h = hat(u);
  double first = 0;
  double second = 0;
  if (a2 < 1e-2) {
    // Series to a^8; the next terms are under 1e-10^... a^10/14! and a^10/15!: below 1e-20.
    first = 0.5 - a2 / 24 * (1 - a2 / 30 * (1 - a2 / 56 * (1 - a2 / 90)));
    second = (1.0 - a2 / 20 * (1 - a2 / 42 * (1 - a2 / 72 * (1 - a2 / 110)))) / 6;
  } else {
    const double a = std::sqrt(a2);
    first = (1 - std::cos(a)) / a2;
    second = (a - std::sin(a)) / (a2 * a);
  }
  return Mat3::Identity() + first * h + second * h * h;
}

// dexp^-1(u) = 1 - û/2 + c û²,  c = (1 - (a/2) cot(a/2))/a²
Mat3 dexp_inv_so3(const Vec3& u) {
  const double a2 = u.squaredNorm();
  const Mat3 h = hat(u);
  double c = 0;
  if (a2 < 1e-2) {
    // Bernoulli numbers: 1/12 + a²/720 + a⁴/30240 + a⁶/1209600 + a⁸/47900160; the next term is below 1e-19.
    c = 1.0 / 12 + a2 * (1.0 / 720 + a2 * (1.0 / 30240 + a2 * (1.0 / 1209600 + a2 / 47900160)));
  } else {
    const double half = 0.5 * std::sqrt(a2);
    c = (1 - half * std::cos(half) / std::sin(half)) / a2;
  }
  return Mat3::Identity() - 0.5 * h + c * h * h;
}

Quat normalized(const Quat& q) {
  const double n = 1.0 / std::sqrt(q.squaredNorm());
  return {q.w() * n, q.x() * n, q.y() * n, q.z() * n};
}

Quat from_zyx(const Vec3& roll_pitch_yaw) {
  const Vec3 h = 0.5 * roll_pitch_yaw;
  const double cx = std::cos(h.x()), sx = std::sin(h.x());
  const double cy = std::cos(h.y()), sy = std::sin(h.y());
  const double cz = std::cos(h.z()), sz = std::sin(h.z());
  return {cz * cy * cx + sz * sy * sx, cz * cy * sx - sz * sy * cx, cz * sy * cx + sz * cy * sx, sz * cy * cx - cz * sy * sx};
}

// The quotients of A (44) become 0/0 at pitch ±90°. With A (43), c, s = cos, sin(pitch/2) and half sums and differences:
//   q0 + q2 = (c + s) cos((yaw - roll)/2)     q3 - q1 = (c + s) sin((yaw - roll)/2)
//   q0 - q2 = (c - s) cos((yaw + roll)/2)     q1 + q3 = (c - s) sin((yaw + roll)/2)
// c + s and c - s are the sine and cosine of pitch/2 + 45° times √2. Same angles as (44), to round-off at the pole too, where
// one of the two pairs vanishes together with its influence.
Vec3 to_zyx(const Quat& q) {
  const double q0 = q.w(), q1 = q.x(), q2 = q.y(), q3 = q.z();
  const double difference = std::atan2(q3 - q1, q0 + q2);
  const double sum = std::atan2(q1 + q3, q0 - q2);
  const double pitch = 2 * std::atan2(std::hypot(q0 + q2, q3 - q1), std::hypot(q0 - q2, q1 + q3)) - 0.5 * std::numbers::pi;
  constexpr double turn = 2 * std::numbers::pi;
  return {std::remainder(sum - difference, turn), pitch, std::remainder(sum + difference, turn)};
}

}  // namespace invar
