// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>

// For the library and its program only.
namespace invar {

/// A number as JSON has it; null where it is not finite, for which JSON has no word.
nlohmann::ordered_json number_or_null(double x);

}  // namespace invar
