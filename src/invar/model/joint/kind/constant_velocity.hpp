// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// Bends in any direction across the axis and never twists about it, as two mirrored cardan joints do: both shafts turn alike.
/// Rx(½q0) Ry(q1) Rx(½q0) has no turn about z: f_x·m_y = f_y·m_x. Coordinates hold for bends below half a turn.
inline Facts constant_velocity() {
  Form no_twist;
  no_twist.A(0, 1) = 1, no_twist.A(1, 0) = -1;
  Form at_point[3];
  for (int k = 0; k < 3; ++k) at_point[k].b = Vec3::Unit(k);
  return FactsOf("constant_velocity")
      .axes(1)
      .turn(Axis::X, 0, 0.5)
      .turn(Axis::Y, 1)
      .turn(Axis::X, 0, 0.5)
      .form(at_point[0])
      .form(at_point[1])
      .form(at_point[2])
      .form(no_twist)
      .facts();
}

}  // namespace invar::kind
