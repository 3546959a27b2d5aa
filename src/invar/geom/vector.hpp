// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Eigen/Geometry>

#include "invar/base/alignment.hpp"

namespace invar {

using Vec3 = Eigen::Vector3d;
using Mat3 = Eigen::Matrix3d;
using Vec6 = Eigen::Matrix<double, 6, 1>;
using Mat6 = Eigen::Matrix<double, 6, 6>;
using VecX = Eigen::VectorXd;
using MatX = Eigen::MatrixXd;
/// Unit quaternion, Hamilton product, rotating components of its second frame into its first: v_A = q_AB * v_B.
using Quat = Eigen::Quaterniond;

/// The matrix of the cross product, hat(a) b = a × b. Paper A: S for a position s, Ω for a rate ω.
inline Mat3 hat(const Vec3& a) {
  Mat3 m;
  m << 0, -a.z(), a.y(), a.z(), 0, -a.x(), -a.y(), a.x(), 0;
  return m;
}

/// A unit vector perpendicular to the unit vector n: x turned along by the shortest rotation that takes ±z (the nearer one) to n.
/// x for n = ±z and n = y. Continuous except across the plane n.z = 0.
inline Vec3 any_perpendicular(const Vec3& n) {
  const double s = n.z() >= 0 ? 1.0 : -1.0;
  const double a = -1.0 / (s + n.z());
  return {1.0 + s * n.x() * n.x() * a, s * n.x() * n.y() * a, -s * n.x()};
}

}  // namespace invar
