// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// For the sources of this room only.
namespace invar {

/// Numbers as the page reads them (docs/page-data.md): little-endian doubles, byte-shuffled (all first bytes, then all second
/// ones, …), raw deflate, base64. Exact: every bit comes back.
std::string packed(std::span<const double> numbers);

/// { "n": how many, "b": packed }.
nlohmann::ordered_json packed_json(std::span<const double> numbers);

/// The numbers of such an array; empty where it is none.
std::vector<double> unpacked(const nlohmann::ordered_json& array);

/// RFC 4648, with padding.
std::string base64(std::string_view bytes);

}  // namespace invar
