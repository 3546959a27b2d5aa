// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/model.hpp"

namespace invar {

/// The bodies, joints and couplings of a mechanism with 1 kg for every mass and, for every radius of gyration, the length of the
/// body's connected part. Joints allow the same motions, and how far they allow them is told from round-off whatever the masses.
Model with_equal_bodies(const Model& model);

}  // namespace invar
