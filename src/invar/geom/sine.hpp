// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace invar {

/// Sines and cosines of n angles at once, to an ulp or two. Angles beyond 10⁵ rad are handed to the standard library.
void sines(const double* x, std::size_t n, double* sine, double* cosine);

}  // namespace invar
