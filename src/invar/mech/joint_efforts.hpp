// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/geom/rotation.hpp"
#include "invar/mech/joint_rows.hpp"

namespace invar {

/// What efforts need of a joint, and no more: a third of what joint_at does.
struct JointEfforts {
  Mat3 R = Mat3::Identity();       ///< from the axes of F to those of the World
  Columns dual;                    ///< wrench of unit effort on the child, axes of F: 6 x nv (moment; force)
  Vec3 arm_parent = Vec3::Zero();  ///< as in JointAt
  Vec3 arm_child = Vec3::Zero();
  double v[6] = {};  ///< measured rates

  /// The wrench on the child at the joint point, World, of nv efforts; the parent gets its opposite.
  Wrench wrench(const double* efforts) const {
    Vec6 sum = Vec6::Zero();
    for (int k = 0; k < dual.cols(); ++k) sum += efforts[k] * dual.col(k);
    return {R * sum.head<3>(), R * sum.tail<3>()};
  }
};

/// Fills `out` for joint j. No heap.
inline void joint_efforts(const Model& model, int j, const Bodies& bodies, JointEfforts& out) {
  const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
  const BodyState& parent = body_state(bodies, joint.parent);
  const BodyState& child = bodies[static_cast<std::size_t>(joint.child)];
  const auto com = [&](int b) { return model.bodies()[static_cast<std::size_t>(b)].inertia.p_BC; };
  const Quat q_WF = parent.q_WB * joint.X_PF.q;
  out.R = q_WF.toRotationMatrix();
  out.arm_child = child.q_WB * (joint.X_CM.p - com(joint.child));
  const Vec3 arm_F = parent.q_WB * (joint.parent == kWorld ? joint.X_PF.p : Vec3(joint.X_PF.p - com(joint.parent)));
  const Vec3 w = out.R.transpose() * (child.w_WB - parent.w_WB);
  Vec3 slide = Vec3::Zero();
  const Facts& facts = *joint.facts;
  if (facts.turning() == Turning::Ball && joint.nv == 3) {  // the same at every attitude: nothing is measured but the rate
    out.dual = facts.steady_dual();
    Eigen::Map<Vec3>(out.v) = w;
  } else {
    // As in kinematics.cpp: two points far from the World origin are subtracted first.
    const Vec3 between = child.p_WC - parent.p_WC;
    const Vec3 shift = child.v_WC - parent.v_WC + child.w_WB.cross(out.arm_child) - parent.w_WB.cross(between + out.arm_child);
    Vec6 twist;
    twist << w, out.R.transpose() * shift;
    const Pose X_FM{normalized(q_WF.conjugate() * child.q_WB * joint.X_CM.q),
                    out.R.transpose() * (between - arm_F + out.arm_child)};
    double q[7] = {};
    facts.measure(X_FM, q);
    slide = facts.pose(q).p;
    facts.dual(q, out.dual);
    for (int k = 0; k < joint.nv; ++k) out.v[k] = out.dual.col(k).dot(twist);
  }
  out.arm_parent = joint.parent == kWorld ? Vec3(Vec3::Zero()) : Vec3(arm_F + out.R * slide);
}

}  // namespace invar
