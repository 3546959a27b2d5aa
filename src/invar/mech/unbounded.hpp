// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/bodies.hpp"

namespace invar {

/// How much reactions miss in a singular configuration. What joints have to give, Jᵀ F = f − M a, must do no work on any motion
/// that the rows allow. In a singular configuration they allow more motions than on either side of it, and nothing makes the work
/// on those vanish: where it does not, no reactions do, and towards it they grow like work / σ (σ the singular value that
/// vanishes).
/// Returns |work| over the sum of its terms in absolute value, between 0 (reactions stay bounded) and 1: a pure number, at
/// `bodies` in the configuration with accelerations and a load, for one of its motions (velocities of `motion`). Allocates.
double work_that_is_missed(const Model& model, const Bodies& bodies, const VecX& wound, const Accelerations& accelerations,
                           const Load& load, const Bodies& motion);

}  // namespace invar
