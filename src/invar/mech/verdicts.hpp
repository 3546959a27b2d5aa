// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/formulation.hpp"
#include "invar/mech/graph_solver.hpp"

namespace invar {

/// Verdicts for all joints from an analysis at these bodies (GraphSolver::analyse, with its assembly).
std::vector<JointVerdict> joint_verdicts(const Model& model, const Bodies& bodies, const KktAssembly& assembly,
                                         const Redundancy& redundancy);

}  // namespace invar
