// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/face.hpp"

namespace invar {

/// Turns about z of F and advances by pitch q. Freedom: angle q, rad, counted over all turns (the advance tells which).
///   motion  S = (e_z; pitch e_z)      rows  w_x = w_y = v_x = v_y = 0,  v_z - pitch w_z = 0
/// The last row has length sqrt(1 + pitch²/l²) in the metric of the model's length l: who needs unit rows divides by it.
/// dual: a moment about the axis (any share of axial force would do the same work).
struct Screw {
  static constexpr int nq = 1, nv = 1;
  static Pose pose(const double* q, double pitch) { return {about_z(q[0]), Vec3(0, 0, pitch * q[0])}; }
  static void measure(const Pose& X_FM, double pitch, double* q) {
    constexpr double turn = 2 * 3.14159265358979323846;
    const double angle = angle_about_z(X_FM.q);
    q[0] = pitch == 0 ? angle : angle + turn * std::round((X_FM.p.z() / pitch - angle) / turn);
  }
  static void motion(const double*, double pitch, Columns& S) { S = angular(Vec3::UnitZ()) + linear(Vec3(0, 0, pitch)); }
  static Vec6 bias(const double*, const double*) { return Vec6::Zero(); }
  static void rows(const double*, double pitch, Rows& C) {
    C.setZero(5, 6);
    C(0, 0) = C(1, 1) = C(2, 3) = C(3, 4) = C(4, 5) = 1;
    C(4, 2) = -pitch;
  }
  static void dual(const double*, double, Columns& D) { D = angular(Vec3::UnitZ()); }
};

}  // namespace invar
