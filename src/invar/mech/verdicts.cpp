// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/verdicts.hpp"

namespace invar {
namespace {

// eᵀ P e for the unit wrench e = (moment; force) of the metric |f|² + |m|²/l²; its components along the rows are inner products.
double share(const KktAssembly& assembly, const KktBlock& block, const MatX& P, double length, const Vec3& moment,
             const Vec3& force) {
  VecX e(block.rows);
  for (int k = 0; k < block.rows; ++k) {
    const Vec6& d = assembly.direction(block.first_row + k);
    e[k] = d.head<3>().dot(moment) / length + d.tail<3>().dot(force);
  }
  return e.dot(P * e);
}

}  // namespace

void joint_verdicts(const Model& model, const Scales& scales, const Bodies& bodies, const KktAssembly& assembly,
                    const Redundancy& redundancy, std::vector<JointVerdict>& out) {
  for (int b = 0; b < static_cast<int>(redundancy.group_of_block.size()); ++b) {
    const int group = redundancy.group_of_block[b], j = assembly.joint_of_block(b);
    if (group < 0 || j < 0) continue;
    JointVerdict& verdict = out[j];
    verdict.determined = false;
    const Joint& joint = model.joints()[j];
    const Mat3 R_WF = (body_state(bodies, joint.parent).q_WB * joint.X_PF.q).toRotationMatrix();
    const KktBlock& block = assembly.problem().structure.block(b);
    const double length = scales.length_at(joint.child);
    const MatX P = redundancy.projector(b, b);
    for (int k = 0; k < 3; ++k) {
      verdict.force[k] = share(assembly, block, P, length, Vec3::Zero(), R_WF.col(k));
      verdict.moment[k] = share(assembly, block, P, length, R_WF.col(k), Vec3::Zero());
    }
    for (const int other : redundancy.groups[group])
      if (const int i = assembly.joint_of_block(other); i >= 0 && i != j) verdict.together_with.push_back(i);
  }
}

}  // namespace invar
