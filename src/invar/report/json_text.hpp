// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

// For the sources of this room only.
namespace invar {

/// The JSON object of a text that anybody may have written: null where it is none, or nested deeper than any that the program
/// writes (whoever copies or prints JSON recurses).
nlohmann::ordered_json object_of(const std::string& text);

}  // namespace invar
