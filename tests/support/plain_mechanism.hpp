// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "invar/mech/bodies.hpp"

namespace invar::testing {

/// A mechanism as its file has it, read by textbook kinematics: no function of the library's mechanics takes part, so that it can
/// judge them. Everything in World axes. Of the library only containers are used (ModelSpec, Bodies, Accelerations).

/// Mass, centre of mass and inertia of a body of the spec with what is attached to it, by sums over the parts.
Inertia plain_inertia(const ModelSpec& spec, std::size_t body);

/// One freedom of a joint: a unit rate turns and slides the child so; a unit effort is this wrench on the child at the joint
/// point.
struct PlainFreedom {
  Vec3 turn = Vec3::Zero(), slide = Vec3::Zero();
  Vec3 moment = Vec3::Zero(), force = Vec3::Zero();
  double v = 0, vdot = 0;
  double armature = 0;
};

/// A joint at one instant. The joint point is the origin of M, also of locked joints: model-file.md puts M on the child.
struct PlainJoint {
  int parent = kWorld, child = kWorld;  ///< of the spec
  bool held = false;                    ///< locked or fixed
  Vec3 arm_P, arm_C;                    ///< from the centres of mass (World: the origin) to the joint point
  Mat3 R_WF, R_FM;
  Vec3 p_FM;  ///< axes of F
  std::vector<PlainFreedom> freedoms;
  std::vector<double> q;  ///< measured, angles within half a turn; balls: quaternions, scalar first
  /// How far the joint is from what its kind allows: position (m and rad), rate, and acceleration.
  double gap = 0, slip = 0, miss = 0;
  /// Sizes of the terms whose sums positions, rates and accelerations at the joint are.
  double p_size = 0, v_size = 0, a_size = 0;
};

/// All joints of the spec.
std::vector<PlainJoint> plain_joints(const ModelSpec& spec, const Bodies& bodies, const Accelerations& accelerations);

/// Efforts of spring, damper, friction and stops on the freedoms of a joint at coordinates q (angles on their turns), from the
/// formulas of model-file.md. `size`: by how much they may differ where q and v differ by their own rounding unit.
std::vector<double> plain_passive(const JointSpec& joint, const PlainJoint& at, const std::vector<double>& q,
                                  std::vector<double>& size);

/// A tendon at one instant: length, rate, tension, and what it does to each of its points.
struct PlainTendon {
  double length = 0, rate = 0, tension = 0, size = 0;
  std::vector<int> body;         ///< per point
  std::vector<Vec3> arm, force;  ///< per point: from the centre of mass, on the body
};
PlainTendon plain_tendon(const ModelSpec& spec, const TendonSpec& tendon, const Bodies& bodies);

/// Index of a body of the spec; kWorld for "world".
int plain_body(const ModelSpec& spec, const std::string& name);
/// Index of a joint of the spec.
std::size_t plain_joint(const ModelSpec& spec, const std::string& name);

}  // namespace invar::testing
