// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/verdicts.hpp"

namespace invar {
namespace {

// What P says of the forces (or, with an arm of 1/l, of the moments) along three axes: Eᵀ P E, E the rows' components of the unit
// wrenches of the metric |f|² + |m|²/l².
using Axes = Eigen::Matrix<double, Eigen::Dynamic, 3>;
Mat3 shares(const MatX& P, const Axes& E) { return E.transpose() * P * E; }

// Of one joint: P over the rows of its block.
void set_shares(const Model& model, const Scales& scales, const Bodies& bodies, const KktAssembly& assembly, int b, const MatX& P,
                JointVerdict& verdict) {
  verdict.determined = false;
  const Joint& joint = model.joints()[assembly.joint_of_block(b)];
  const Mat3 R_WF = (body_state(bodies, joint.parent).q_WB * joint.X_PF.q * joint.turn.conjugate()).toRotationMatrix();
  const KktBlock& block = assembly.problem().structure.block(b);
  Axes forces(block.rows, 3), moments(block.rows, 3);
  for (int k = 0; k < block.rows; ++k) {
    const Vec6& d = assembly.direction(block.first_row + k);
    moments.row(k) = d.head<3>().transpose() * R_WF / scales.length_at(joint.child);
    forces.row(k) = d.tail<3>().transpose() * R_WF;
  }
  verdict.force = shares(P, forces), verdict.moment = shares(P, moments);
}

}  // namespace

void joint_verdicts(const Model& model, const Scales& scales, const Bodies& bodies, const KktAssembly& assembly,
                    const Redundancy& redundancy, std::vector<JointVerdict>& out) {
  for (int b = 0; b < static_cast<int>(redundancy.group_of_block.size()); ++b) {
    const int group = redundancy.group_of_block[b], j = assembly.joint_of_block(b);
    if (group < 0 || j < 0) continue;
    JointVerdict& verdict = out[j];
    set_shares(model, scales, bodies, assembly, b, redundancy.projector(b, b), verdict);
    for (const int other : redundancy.groups[group])
      if (const int i = assembly.joint_of_block(other); i >= 0 && i != j) verdict.together_with.push_back(i);
  }
}

void undetermined_verdicts(const Model& model, const Scales& scales, const Bodies& bodies, const KktAssembly& assembly,
                           std::vector<JointVerdict>& out) {
  const KktProblem& problem = assembly.problem();
  for (int b = 0; b < problem.structure.blocks(); ++b) {
    const int j = assembly.joint_of_block(b), rows = problem.structure.block(b).rows;
    if (j < 0 || rows == 0 || problem.compliance[problem.structure.block(b).first_row] > 0) continue;
    out[j] = {};
    set_shares(model, scales, bodies, assembly, b, MatX::Identity(rows, rows), out[j]);
  }
}

}  // namespace invar
