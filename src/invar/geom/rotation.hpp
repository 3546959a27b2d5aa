// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/geom/vector.hpp"

namespace invar {

/// Rotation by the vector u (axis times angle, rad). exp_so3(u) = cos(|u|/2) + sin(|u|/2) u/|u|; a unit quaternion to round-off.
Quat exp_so3(const Vec3& u);

/// The rotation vector of q with |u| <= pi. Law: exp_so3(log_so3(q)) = ±q.
Vec3 log_so3(const Quat& q);

/// dexp_so3(u): the rate w of R(t) = exp(u(t)) R0 (components of the first frame) is w = dexp_so3(u) du/dt.
Mat3 dexp_so3(const Vec3& u);

/// Its inverse, du/dt = dexp_inv_so3(u) w. Exists for |u| < 2 pi.
Mat3 dexp_inv_so3(const Vec3& u);

/// q divided by its norm: |q|² is 1 to one rounding. Every update of an attitude ends here.
Quat normalized(const Quat& q);

/// Z-Y-X angles (roll Φ, pitch Θ, yaw Ψ), R = Rz(Ψ) Ry(Θ) Rx(Φ): A (43) and A (44). Also the `rpy` of model files.
Quat from_zyx(const Vec3& roll_pitch_yaw);
Vec3 to_zyx(const Quat& q_WB);

/// q turned by u from the left: exp(u) q, normalised. The Lie-group update of attitudes (World components of u).
inline Quat turned(const Quat& q, const Vec3& u) { return normalized(exp_so3(u) * q); }

}  // namespace invar
