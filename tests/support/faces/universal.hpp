// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/face.hpp"

namespace invar {

/// Cardan joint: turns by q0 about z of F, then by q1 about x of M; R_FM = Rz(q0) Rx(q1). Freedoms: two angles, rad.
///   motion  S = (e_z; 0), (x; 0) with x = Rz(q0) e_x      rows  (e_z × x)·w = 0, v = 0 at the joint point
///   bias    x turns with rate q0' about z: Ṡ v = (e_z × x) q0' q1'
struct Universal {
  static constexpr int nq = 2, nv = 2;
  static Vec3 x_axis(const double* q) { return {std::cos(q[0]), std::sin(q[0]), 0}; }
  static Vec3 y_axis(const double* q) { return {-std::sin(q[0]), std::cos(q[0]), 0}; }
  static Pose pose(const double* q, double) { return {about_z(q[0]) * about_x(q[1]), Vec3::Zero()}; }
  static void measure(const Pose& X_FM, double, double* q) {
    // x of M in F lies in the plane of F's x and y: its direction is q0; what is left is a turn about x.
    const Vec3 x = X_FM.q * Vec3::UnitX();
    q[0] = std::atan2(x.y(), x.x());
    const Quat rest = about_z(-q[0]) * X_FM.q;
    q[1] = angle_about_z(Quat(rest.w(), 0, 0, rest.x()));
  }
  static void motion(const double* q, double, Columns& S) {
    S.resize(6, 2);
    S << angular(Vec3::UnitZ()), angular(x_axis(q));
  }
  static Vec6 bias(const double* q, const double* v) { return angular(v[0] * v[1] * y_axis(q)); }
  static void rows(const double* q, double, Rows& C) {
    C.setZero(4, 6);
    C.row(0) = angular(y_axis(q)).transpose();
    C(1, 3) = C(2, 4) = C(3, 5) = 1;
  }
  static void dual(const double* q, double pitch, Columns& D) { motion(q, pitch, D); }
};

}  // namespace invar
