// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "invar/mech/bodies.hpp"

namespace invar {

/// A joint at one state as the unreduced equations need it, World axes, everything at the joint point (origin of M).
/// The joint's coordinates and rates are measured from the bodies and the arms built from them, so that a gap between F
/// and M does not enter; it is the stabilisation that sees gaps.
///   rows  C (V_child - V_parent) = 0 with both twists at the joint point; C is made of (angular; linear) directions
///   acceleration level  C (A_child - A_parent) = C bias, where A_parent, A_child contain their own centripetal terms
struct JointAt {
  Vec3 arm_parent = Vec3::Zero();  ///< parent's centre of mass -> joint point (zero for the ground, which does not need it)
  Vec3 arm_child = Vec3::Zero();   ///< child's centre of mass -> joint point
  Columns S;                       ///< motion: 6 x nv
  Columns dual;                    ///< wrench of unit effort on the child: 6 x nv (moment; force)
  Rows C;                          ///< rows x 6
  Vec6 bias = Vec6::Zero();        ///< relative acceleration that the rates cause by themselves
  double q[7] = {};                ///< measured coordinates
  double v[6] = {};                ///< measured rates
};

/// Fills `out` for joint j. `rates`: whether velocities count (otherwise bias and v are zero). No heap.
void joint_at(const Model& model, int j, const Bodies& bodies, bool rates, JointAt& out);

/// Size of a row (angular; linear) in the metric of motions (v, length w) at the joint point: rows of all kinds become
/// comparable, and their multipliers wrenches measured by |f|² + |m|²/length².
inline double row_size(const Vec6& row, double length) {
  return std::sqrt(row.head<3>().squaredNorm() / (length * length) + row.tail<3>().squaredNorm());
}

/// The wrench on the child at the joint point, World, of efforts on the joint's freedoms; the parent gets its opposite.
Wrench effort_wrench(const JointAt& at, const Eigen::Ref<const VecX>& efforts);

}  // namespace invar
