// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/formulation.hpp"
#include "invar/mech/graph_solver.hpp"

namespace invar {

/// Verdicts for the joints that carry self-stress, from an analysis at these bodies (GraphSolver::analyse, with its assembly).
/// `out` has one entry per joint of the model.
void joint_verdicts(const Model& model, const Scales& scales, const Bodies& bodies, const KktAssembly& assembly,
                    const Redundancy& redundancy, std::vector<JointVerdict>& out);

/// Where self-stresses cannot be told: nothing that a joint of the assembly (filled at these bodies) holds is claimed to be
/// determined.
void undetermined_verdicts(const Model& model, const Scales& scales, const Bodies& bodies, const KktAssembly& assembly,
                           std::vector<JointVerdict>& out);

}  // namespace invar
