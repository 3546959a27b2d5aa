// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/face.hpp"

namespace invar {

/// Slider along z of F. Freedom: displacement q, m.
///   motion  S = (0; e_z)       rows  w = 0, v_x = 0, v_y = 0
struct Prismatic {
  static constexpr int nq = 1, nv = 1;
  static Pose pose(const double* q, double) { return {Quat::Identity(), Vec3(0, 0, q[0])}; }
  static void measure(const Pose& X_FM, double, double* q) { q[0] = X_FM.p.z(); }
  static void motion(const double*, double, Columns& S) { S = linear(Vec3::UnitZ()); }
  static Vec6 bias(const double*, const double*) { return Vec6::Zero(); }
  static void rows(const double*, double, Rows& C) {
    C.setZero(5, 6);
    C(0, 0) = C(1, 1) = C(2, 2) = C(3, 3) = C(4, 4) = 1;
  }
  static void dual(const double* q, double pitch, Columns& D) { motion(q, pitch, D); }
};

}  // namespace invar
