// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/base/random.hpp"
#include "support/random_mechanism.hpp"

namespace invar::testing {

inline constexpr double kG = 9.81;

/// A parallelogram of unequal masses away from its flat position; A and B of the equation in one freedom (passage_test.cpp).
struct Flat {
  ModelSpec spec;
  double A = 0, B = 0, theta = 0;  // kg m², kg m, rad
};

/// Cranks of length a at distance d, masses and centres drawn; base: 0 on the ground, 1 on a body that swings in the plane of the
/// loop, 2 across it.
Flat flat_loop(Random& random, int base);

}  // namespace invar::testing
