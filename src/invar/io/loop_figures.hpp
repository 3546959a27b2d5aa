// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "invar/base/error.hpp"

namespace invar {

class TomlTable;

/// What makes the loop of a [[control]] table beside what it follows and what is known of the load: law, gains, integral action,
/// observer, times, noise and actuators, as "gains.rate = 20", sorted. A bound on the remainder is of one such loop.
using LoopFigures = std::vector<std::string>;

/// Asks for no key: what a law cannot have is still refused.
LoopFigures loop_figures(const TomlTable& control);
/// Of a controller in a scenario file; empty name: the only one.
Result<LoopFigures> loop_figures_of(const std::string& scenario, const std::string& controller);

/// What differs, as "gains.rate is 20 there and 10 here"; empty where nothing does.
std::string other_loop(const LoopFigures& there, const LoopFigures& here);

}  // namespace invar
