// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/face.hpp"

namespace invar {

/// Hinge about z of F. Freedom: angle q, rad.
///   motion  S = (e_z; 0)       rows  w_x = 0, w_y = 0, v = 0 at the joint point
struct Revolute {
  static constexpr int nq = 1, nv = 1;
  static Pose pose(const double* q, double) { return {about_z(q[0]), Vec3::Zero()}; }
  static void measure(const Pose& X_FM, double, double* q) { q[0] = angle_about_z(X_FM.q); }
  static void motion(const double*, double, Columns& S) { S = angular(Vec3::UnitZ()); }
  static Vec6 bias(const double*, const double*) { return Vec6::Zero(); }
  static void rows(const double*, double, Rows& C) {
    C.setZero(5, 6);
    C(0, 0) = C(1, 1) = C(2, 3) = C(3, 4) = C(4, 5) = 1;
  }
  static void dual(const double* q, double pitch, Columns& D) { motion(q, pitch, D); }
};

}  // namespace invar
