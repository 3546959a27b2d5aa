// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/face.hpp"

namespace invar {

/// Ball joint. Coordinates: the quaternion q_FM, scalar first. Freedoms: rate of M in F, components of F, rad/s.
///   motion  S = (1; 0)       rows  v = 0 at the joint point
struct Spherical {
  static constexpr int nq = 4, nv = 3;
  static Pose pose(const double* q, double) { return {normalized(Quat(q[0], q[1], q[2], q[3])), Vec3::Zero()}; }
  static void measure(const Pose& X_FM, double, double* q) {
    q[0] = X_FM.q.w(), q[1] = X_FM.q.x(), q[2] = X_FM.q.y(), q[3] = X_FM.q.z();
  }
  static void motion(const double*, double, Columns& S) {
    S.setZero(6, 3);
    S.topRows<3>().setIdentity();
  }
  static Vec6 bias(const double*, const double*) { return Vec6::Zero(); }
  static void rows(const double*, double, Rows& C) {
    C.setZero(3, 6);
    C.rightCols<3>().setIdentity();
  }
  static void dual(const double* q, double pitch, Columns& D) { motion(q, pitch, D); }
};

}  // namespace invar
