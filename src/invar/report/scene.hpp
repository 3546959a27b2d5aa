// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "invar/run/scenario.hpp"

namespace invar {

/// What a page draws, as JSON (docs/page-data.md): bodies with their shapes, joints, frames, tendons, obstacles of controllers,
/// limits of actuators. Of a scenario with edits the models of all stretches, one after the other: bodies and joints by name.
std::string scene_json(const Scenario& scenario);

}  // namespace invar
