// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/geom/rotation.hpp"

namespace invar {

/// How an attitude q differs from the one wanted, q_d: the quaternion q q_d⁻¹ = (η, ε), World components, so that the error is
/// the same in every World (docs/papers.md A7). A quaternion and its negative are the same attitude: the side, sgn η, tells which
/// way is shorter, and it is kept until η has passed kHysteresis on the other side, lest noise at half a turn make it chatter.
///   ε̇ = ½ (η ω_e + (ω + ω_d) × ε),   η̇ = -½ ε·ω_e,   ω_e = ω - ω_d                          docs/papers.md A8
struct AttitudeError {
  double eta = 1;
  Vec3 epsilon = Vec3::Zero(), epsilon_dot = Vec3::Zero();

  AttitudeError(const Quat& q, const Vec3& w, const Quat& q_d, const Vec3& w_d) {
    const Quat e = q * q_d.conjugate();
    eta = e.w(), epsilon = e.vec();
    epsilon_dot = 0.5 * (eta * (w - w_d) + (w + w_d).cross(epsilon));
  }
  /// The angle between the two, rad, in [0, π].
  double angle() const { return 2 * std::atan2(epsilon.norm(), std::abs(eta)); }
};

/// The side that an attitude error is worked off on. Zero before the first look.
struct TurnSide {
  static constexpr double kHysteresis = 0.1;
  int side = 0;

  int of(double eta) const { return side != 0 ? side : (eta < 0 ? -1 : 1); }
  /// True where it changes.
  bool look(double eta) {
    const int before = side;
    if (side == 0 || side * eta < -kHysteresis) side = eta < 0 ? -1 : 1;
    return before != 0 && side != before;
  }
};

}  // namespace invar
