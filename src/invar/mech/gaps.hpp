// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/bodies.hpp"
#include "invar/mech/scales.hpp"

namespace invar {

/// How far rows that depend on others where joints are closed may stand out of them at these bodies, as a sine, and how far they
/// may disagree, in parts of the accelerations: a thousand times the largest gap of a joint of the piece, rad or parts of its
/// length. Stages of a step lie off the constraints; at settled states it is round-off.
double noise_of_gaps(const Model& model, const Scales& scales, const Piece& piece, const Bodies& bodies);

}  // namespace invar
