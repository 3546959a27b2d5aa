// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "invar/geom/pose.hpp"

namespace invar {

/// What a joint shows of itself, all in the axes of F and at the origin of M (the joint point):
///   pose      X_FM as a function of the coordinates q
///   measure   the coordinates of the nearest admissible pose
///   motion    V_FM = S v, columns (angular; linear)
///   bias      Ṡ v as seen from F
///   rows      C V_FM = 0, rows orthonormal except for screws (see there)
///   dual      the wrench of unit effort on each freedom: dualᵀ S = 1, so v = dualᵀ V_FM and power = effort · v
/// Laws: C S = 0; dualᵀ S = 1; measure(pose(q)) = q; d/dt pose = S v. Tested for every kind in tests/laws/facts_test.cpp.
using Columns = Eigen::Matrix<double, 6, Eigen::Dynamic, Eigen::ColMajor, 6, 6>;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, 6, Eigen::ColMajor, 6, 6>;

inline Vec6 angular(const Vec3& a) { return (Vec6() << a, Vec3::Zero()).finished(); }
inline Vec6 linear(const Vec3& a) { return (Vec6() << Vec3::Zero(), a).finished(); }

/// The angle about z in (-pi, pi] of the rotation about z nearest to q.
inline double angle_about_z(const Quat& q) {
  const double a = 2.0 * std::atan2(q.z(), q.w());
  constexpr double pi = 3.14159265358979323846;
  return a > pi ? a - 2 * pi : (a <= -pi ? a + 2 * pi : a);
}

inline Quat about_z(double angle) { return {std::cos(0.5 * angle), 0, 0, std::sin(0.5 * angle)}; }
inline Quat about_x(double angle) { return {std::cos(0.5 * angle), std::sin(0.5 * angle), 0, 0}; }

}  // namespace invar
