// SPDX-License-Identifier: Apache-2.0
#include "invar/io/json_number.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace invar {

nlohmann::ordered_json number_or_null(double x) {
  return std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json(nullptr);
}

}  // namespace invar
