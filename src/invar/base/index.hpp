// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace invar {

/// Indices of the library are ints, those of containers are not: a count or an index as a container takes it.
constexpr std::size_t size(int n) { return static_cast<std::size_t>(n); }

}  // namespace invar
