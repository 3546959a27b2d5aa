// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/face.hpp"

namespace invar {

/// Moves in the plane of F's x and y and turns about z. Freedoms: q0, q1 displacements in F, m; q2 angle, rad.
///   motion  S = (0; e_x), (0; e_y), (e_z; 0)      rows  w_x = w_y = v_z = 0
struct Planar {
  static constexpr int nq = 3, nv = 3;
  static Pose pose(const double* q, double) { return {about_z(q[2]), Vec3(q[0], q[1], 0)}; }
  static void measure(const Pose& X_FM, double, double* q) { q[0] = X_FM.p.x(), q[1] = X_FM.p.y(), q[2] = angle_about_z(X_FM.q); }
  static void motion(const double*, double, Columns& S) {
    S.resize(6, 3);
    S << linear(Vec3::UnitX()), linear(Vec3::UnitY()), angular(Vec3::UnitZ());
  }
  static Vec6 bias(const double*, const double*) { return Vec6::Zero(); }
  static void rows(const double*, double, Rows& C) {
    C.setZero(3, 6);
    C(0, 0) = C(1, 1) = C(2, 5) = 1;
  }
  static void dual(const double* q, double pitch, Columns& D) { motion(q, pitch, D); }
};

}  // namespace invar
