// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/face.hpp"

namespace invar {

/// Turns about z of F and slides along it, independently. Freedoms: angle q0, rad; displacement q1, m.
///   motion  S = (e_z; 0), (0; e_z)      rows  w_x = w_y = v_x = v_y = 0
struct Cylindrical {
  static constexpr int nq = 2, nv = 2;
  static Pose pose(const double* q, double) { return {about_z(q[0]), Vec3(0, 0, q[1])}; }
  static void measure(const Pose& X_FM, double, double* q) { q[0] = angle_about_z(X_FM.q), q[1] = X_FM.p.z(); }
  static void motion(const double*, double, Columns& S) {
    S.resize(6, 2);
    S << angular(Vec3::UnitZ()), linear(Vec3::UnitZ());
  }
  static Vec6 bias(const double*, const double*) { return Vec6::Zero(); }
  static void rows(const double*, double, Rows& C) {
    C.setZero(4, 6);
    C(0, 0) = C(1, 1) = C(2, 3) = C(3, 4) = 1;
  }
  static void dual(const double* q, double pitch, Columns& D) { motion(q, pitch, D); }
};

}  // namespace invar
