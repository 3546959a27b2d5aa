// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/joint_rows.hpp"

#include "invar/mech/kinematics.hpp"

namespace invar {

// With F riding on the parent (rate w_P): V_rel = S v in F's axes, so in World
//   d/dt (R S v) = R S v' + R Ṡ v + w_P × (R S v)   on both parts; the moving arm adds w_P × v_rel once more.
void joint_at(const Model& model, int j, const Bodies& bodies, bool rates, JointAt& out) {
  const Joint& joint = model.joints()[j];
  const BodyState& parent = body_state(bodies, joint.parent);
  const BodyState& child = bodies[joint.child];
  const Mat3 R = (parent.q_WB * joint.X_PF.q).toRotationMatrix();

  // Measured coordinates, and what the joint's facts say there.
  Twist V_FM;
  const Pose X_FM = rates ? joint_pose(model, j, bodies, V_FM) : joint_pose(model, j, bodies);
  Vec6 bias = Vec6::Zero();
  const Facts& facts = *joint.facts;
  facts.measure(X_FM, out.q);
  const Vec3 slide = R * facts.pose(out.q).p;
  facts.motion(out.q, out.S), facts.dual(out.q, out.dual), facts.rows(out.q, out.C);
  if (rates) {
    Vec6 twist;
    twist << V_FM.angular, V_FM.linear;
    for (int k = 0; k < joint.nv; ++k) out.v[k] = out.dual.col(k).dot(twist);
    bias = facts.bias(out.q, out.v);
  }

  // Into World axes, column by column: products of matrices of run-time size might reach for the heap.
  const auto turn = [&R](auto&& column) {
    const Vec3 angular_part = R * column.template head<3>(), linear_part = R * column.template tail<3>();
    column << angular_part, linear_part;
  };
  for (int k = 0; k < out.S.cols(); ++k) turn(out.S.col(k)), turn(out.dual.col(k));
  for (int k = 0; k < out.C.rows(); ++k) turn(out.C.row(k).transpose());
  turn(bias);
  out.bias = bias;
  if (rates) {
    Vec6 moving = Vec6::Zero();
    for (int k = 0; k < joint.nv; ++k) moving += out.S.col(k) * out.v[k];
    out.bias.head<3>() += parent.w_WB.cross(Vec3(moving.head<3>()));
    out.bias.tail<3>() += 2.0 * parent.w_WB.cross(Vec3(moving.tail<3>()));
  }

  out.arm_child = child.q_WB * (joint.X_CM.p - model.bodies()[joint.child].inertia.p_BC);
  out.arm_parent = Vec3::Zero();
  if (joint.parent != kWorld) out.arm_parent = parent.q_WB * (joint.X_PF.p - model.bodies()[joint.parent].inertia.p_BC) + slide;
}

Wrench effort_wrench(const JointAt& at, const Eigen::Ref<const VecX>& efforts) {
  Wrench w;
  for (int k = 0; k < at.dual.cols(); ++k) {
    w.moment += efforts[k] * at.dual.col(k).head<3>();
    w.force += efforts[k] * at.dual.col(k).tail<3>();
  }
  return w;
}

}  // namespace invar
