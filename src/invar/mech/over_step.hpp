// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "invar/mech/joint_rows.hpp"

namespace invar {

/// The mean motion of a step of length h, as `discrete_gradient` and `conserving` tell it in Bodies: p_WC the mean of the centres
/// of mass at its nodes and v_WC their difference over h, w_WB the rate of the Cayley rotation, R_1 - R_0 = (h/2) w × (R_0 +
/// R_1), and q_WB the attitude halfway. With the mean arm r = (R_0 + R_1) p / 2 of a point, v + w × r is its difference over h.

/// The mean arm out of the one at the halfway attitude: what lies along w stays, the rest shrinks by cos(angle/2).
inline Vec3 mean_arm(const Vec3& halfway, const Vec3& w, double h) {
  const Vec3 b = 0.5 * h * w;
  const double c = 1 / std::sqrt(1 + b.squaredNorm());
  return c * halfway + c * c / (1 + c) * b.dot(halfway) * b;
}

/// The mean motion between two nodes h apart (h not zero), for turns of less than half of one.
BodyState mean_motion(const BodyState& from, const BodyState& to, double h);
/// Where a body is at the start (side -1) or at the end (side 1) of a step with this mean motion; velocities are left out.
BodyState node_of(const BodyState& mean, double h, int side);

/// A joint over a step, World axes, at the mean of the places of its point (origin of M). The relative mean twist there,
///   X = (w_C - w_P;  v_C + w_C × arm_child - v_P - w_P × arm_parent),
/// is exactly Σ S_k v_k with v_k = (change of the coordinate)/h, and dual is S's left inverse on it: an effort that acts as the
/// wrench dual_k on the child and its opposite on the parent does the work effort · (change of the coordinate). Balls and free
/// joints have rates for coordinates: there S is that of the halfway attitude. h = 0: the joint at an instant.
struct JointOver {
  Vec3 arm_parent = Vec3::Zero();  ///< parent's centre of mass -> joint point
  Vec3 arm_child = Vec3::Zero();   ///< child's centre of mass -> joint point
  Columns S;                       ///< 6 x nv
  Columns dual;                    ///< 6 x nv
  double v[6] = {};                ///< mean rates
};

/// Fills `out` for joint j. No heap.
void joint_over(const Model& model, int j, const Bodies& mean, double h, JointOver& out);

/// The wrench on the child at the joint point of efforts on the joint's freedoms; the parent gets its opposite.
Wrench effort_wrench(const JointOver& over, const Eigen::Ref<const VecX>& efforts);

}  // namespace invar
