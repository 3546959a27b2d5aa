// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "invar/run/scenario.hpp"

namespace invar {

/// What a page draws, as JSON (docs/page-data.md): bodies with their shapes, joints, frames, tendons, obstacles of controllers,
/// limits of actuators. Of a scenario with edits the models of all stretches, one after the other: bodies and joints by name.
/// Meshes are looked for from the folder of the model file; one that cannot be read is not drawn, and a sentence about it goes to
/// `warnings`.
std::string scene_json(const Scenario& scenario, std::vector<std::string>* warnings = nullptr);

}  // namespace invar
