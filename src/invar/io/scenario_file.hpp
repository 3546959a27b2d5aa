// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/run/scenario.hpp"

namespace invar {

/// Version of scenario files that is read and written (`format = 1`).
inline constexpr int kScenarioFormat = 1;

/// Reads a scenario file (TOML, docs/scenario-file.md) and the model that it names, relative to itself. Errors carry
/// file:line:column; unknown keys are refused with the nearest known one; a method that makes no sense is refused here with
/// the reason, not at the first step. Warnings of the model go to `warnings`.
Result<Scenario> read_scenario_file(const std::string& path, std::vector<std::string>* warnings = nullptr);

/// The same from a text; `path` stands for the file in places and says where the model is looked for.
Result<Scenario> parse_scenario(const std::string& text, const std::string& path, std::vector<std::string>* warnings = nullptr);

}  // namespace invar
