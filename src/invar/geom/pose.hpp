// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/geom/rotation.hpp"

namespace invar {

/// Where frame B is, seen from frame A: q_AB turns components of B into components of A, p_AB is from A's origin to B's,
/// in components of A. X_AC = X_AB * X_BC.
struct Pose {
  Quat q = Quat::Identity();
  Vec3 p = Vec3::Zero();  ///< m

  Mat3 R() const { return q.toRotationMatrix(); }
  Pose inverse() const { return {q.conjugate(), -(q.conjugate() * p)}; }
  Vec3 operator*(const Vec3& p_BQ) const { return p + q * p_BQ; }
};

inline Pose operator*(const Pose& X_AB, const Pose& X_BC) { return {normalized(X_AB.q * X_BC.q), X_AB.p + X_AB.q * X_BC.p}; }

}  // namespace invar
