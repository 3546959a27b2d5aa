// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace invar::cli {

/// The note of a learned file that lost its bound when it was learned anew; calibrating takes it away.
inline constexpr const char* kStaleBound = "the bound that the file had was of what was learned before: calibrate again";

inline void erase_stale_bound(std::vector<std::string>& notes) { std::erase(notes, kStaleBound); }

}  // namespace invar::cli
