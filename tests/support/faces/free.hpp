// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/face.hpp"

namespace invar {

/// Nothing is held. Coordinates: position of M in F, m, then the quaternion q_FM, scalar first.
/// Freedoms: velocity of M's origin in F, m/s, then rate of M in F, rad/s, components of F.
///   motion  S = (0; 1), (1; 0)       rows  none
struct Free {
  static constexpr int nq = 7, nv = 6;
  static Pose pose(const double* q, double) { return {normalized(Quat(q[3], q[4], q[5], q[6])), Vec3(q[0], q[1], q[2])}; }
  static void measure(const Pose& X_FM, double, double* q) {
    q[0] = X_FM.p.x(), q[1] = X_FM.p.y(), q[2] = X_FM.p.z();
    q[3] = X_FM.q.w(), q[4] = X_FM.q.x(), q[5] = X_FM.q.y(), q[6] = X_FM.q.z();
  }
  static void motion(const double*, double, Columns& S) {
    S.setZero(6, 6);
    S.bottomLeftCorner<3, 3>().setIdentity();
    S.topRightCorner<3, 3>().setIdentity();
  }
  static Vec6 bias(const double*, const double*) { return Vec6::Zero(); }
  static void rows(const double*, double, Rows& C) { C.resize(0, 6); }
  static void dual(const double* q, double pitch, Columns& D) { motion(q, pitch, D); }
};

}  // namespace invar
