// SPDX-License-Identifier: Apache-2.0
//
// Parallelograms of unequal masses, which lie flat on their way: with equal cranks symmetry hides what goes wrong.
#pragma once
#include "invar/base/random.hpp"
#include "invar/run/run.hpp"
#include "support/states.hpp"

namespace invar::testing {

inline constexpr double kG = 9.81;

struct Flat {
  ModelSpec spec;
  double A = 0, B = 0, theta = 0;  // kg m², kg m, rad
};

/// Cranks of length a at distance d, masses and centres drawn; base: 0 on the ground, 1 on a body that swings in the plane of the
/// loop, 2 across it.
Flat flat_loop(Random& random, int base);

/// Two windows of IFToMM A02, rods of unequal masses and centres: flat, two directions lose their rows at once.
ModelSpec unequal_windows(Random& random);

Scenario scenario_of(const ModelSpec& spec, const char* formulation, const char* integrator, double step, double end);
void with_tolerance(Scenario& s, double tolerance);

/// When steps of h first carry a joint across `flat` (modulo half a turn); NaN: not within two seconds. Inside a step the angle
/// is the cubic of its ends, which is exact at the ends: there it matters.
double first_flat(const ModelSpec& spec, const std::string& joint, double flat, double h);

}  // namespace invar::testing
