// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/unreduced.hpp"

namespace invar {

/// Verdicts for all joints from an analysis at these bodies (`solver.analyse(bodies)` just before).
std::vector<JointVerdict> joint_verdicts(const Model& model, const Bodies& bodies, const Unreduced& solver,
                                         const Redundancy& redundancy);

}  // namespace invar
