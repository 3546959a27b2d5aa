// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/verdicts.hpp"

namespace invar {
namespace {

// What P says of the forces (or, with an arm of 1/l, of the moments) along three axes: Eᵀ P E, E the rows' components of the unit
// wrenches of the metric |f|² + |m|²/l².
using Axes = Eigen::Matrix<double, Eigen::Dynamic, 3>;
Mat3 shares(const MatX& P, const Axes& E) { return E.transpose() * P * E; }

}  // namespace

void joint_verdicts(const Model& model, const Scales& scales, const Bodies& bodies, const KktAssembly& assembly,
                    const Redundancy& redundancy, std::vector<JointVerdict>& out) {
  for (int b = 0; b < static_cast<int>(redundancy.group_of_block.size()); ++b) {
    const int group = redundancy.group_of_block[b], j = assembly.joint_of_block(b);
    if (group < 0 || j < 0) continue;
    JointVerdict& verdict = out[j];
    verdict.determined = false;
    const Joint& joint = model.joints()[j];
    const Mat3 R_WF = (body_state(bodies, joint.parent).q_WB * joint.X_PF.q * joint.turn.conjugate()).toRotationMatrix();
    const KktBlock& block = assembly.problem().structure.block(b);
    Axes forces(block.rows, 3), moments(block.rows, 3);
    for (int k = 0; k < block.rows; ++k) {
      const Vec6& d = assembly.direction(block.first_row + k);
      moments.row(k) = d.head<3>().transpose() * R_WF / scales.length_at(joint.child);
      forces.row(k) = d.tail<3>().transpose() * R_WF;
    }
    const MatX P = redundancy.projector(b, b);
    verdict.force = shares(P, forces), verdict.moment = shares(P, moments);
    for (const int other : redundancy.groups[group])
      if (const int i = assembly.joint_of_block(other); i >= 0 && i != j) verdict.together_with.push_back(i);
  }
}

}  // namespace invar
