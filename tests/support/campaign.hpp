// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstdlib>

namespace invar::testing {

/// How many random cases a test draws: its own few dozen in `./dev test`, INVAR_CASES of them in `./dev campaign`.
inline int cases(int usual) {
  const char* wanted = std::getenv("INVAR_CASES");
  return wanted ? std::atoi(wanted) : usual;
}

/// Where its random streams begin: fixed in `./dev test`, moved by INVAR_SEED in `./dev campaign`.
inline std::uint64_t seed(std::uint64_t usual) {
  const char* moved = std::getenv("INVAR_SEED");
  return moved ? usual + 0x9E3779B97F4A7C15ull * std::strtoull(moved, nullptr, 10) : usual;
}

}  // namespace invar::testing
