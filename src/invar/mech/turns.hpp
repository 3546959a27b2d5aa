// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/base/status.hpp"
#include "invar/mech/bodies.hpp"
#include "invar/mech/state.hpp"

namespace invar {

/// Begins the count of turns of a state at these bodies (see wound_at for `told`). Allocates.
void begin_turns(const Model& model, const Bodies& bodies, const VecX& told, State& x);

/// Counts turns at the end of a step: every winding angle lies on the turn nearest to where x.wound expects it, and x.wound and
/// x.wound_rate become what the bodies say. StepTooLarge where an angle is so far from its expectation that it may lie on another
/// turn. q, v: joint coordinates and rates of the bodies, turns counted; both need their full size for this not to allocate.
Verdict count_turns(const Model& model, const Bodies& bodies, VecX& q, VecX& v, State& x);

}  // namespace invar
