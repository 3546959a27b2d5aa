// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/face.hpp"

namespace invar {

/// No freedom: M stays on F. Also the face of a locked joint, whose M was turned to where it is held.
struct Fixed {
  static constexpr int nq = 0, nv = 0;
  static Pose pose(const double*, double) { return {}; }
  static void measure(const Pose&, double, double*) {}
  static void motion(const double*, double, Columns& S) { S.resize(6, 0); }
  static Vec6 bias(const double*, const double*) { return Vec6::Zero(); }
  static void rows(const double*, double, Rows& C) { C = Mat6::Identity(); }
  static void dual(const double*, double, Columns& D) { D.resize(6, 0); }
};

}  // namespace invar
