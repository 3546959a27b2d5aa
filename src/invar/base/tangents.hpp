// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/base/alignment.hpp"

namespace invar {

/// tanh of n numbers at once, to a few ulp of 1: 1 - 2/(exp(2x) + 1). Eigen's exponential is a vector function, which is cheapest
/// in multiples of eight numbers.
inline void hyperbolic_tangents(double* x, Eigen::Index n) {
  Eigen::Map<Eigen::ArrayXd> y(x, n);
  y = 1 - 2 / ((2 * y).exp() + 1);
}

}  // namespace invar
