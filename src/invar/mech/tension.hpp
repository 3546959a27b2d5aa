// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/bodies.hpp"

namespace invar {

/// Adds what a tendon does to the bodies at a given tension, N, about their centres of mass. No heap.
void add_tension(const Model& model, const Tendon& tendon, const Bodies& bodies, double tension, Port& port);

}  // namespace invar
