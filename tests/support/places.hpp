// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace invar::testing {

/// Where the tree and what was built of it lie. One source knows it, so that copies of the tree share a compiler cache.
std::string source_path(std::string_view inside = {});
std::string binary_path(std::string_view inside = {});

}  // namespace invar::testing
