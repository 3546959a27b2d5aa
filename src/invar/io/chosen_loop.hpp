// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/run/advise.hpp"

namespace invar {

/// What a scenario is tried with.
struct LoopChoices {
  std::string controller;  ///< its name; empty: the only one
  double after = 0;        ///< s; settling
  std::string learned;     ///< file of a learned model, where there is one
};

/// The text of a scenario file whose controller is made in that way, with these gains, weighs its commands and knows no bound.
/// Laws I to III only: the others have gains per freedom. `path` is that of the file.
Result<Scenario> scenario_with(const std::string& text, const std::string& path, const LoopChoices& choices, const LoopWay& way,
                               const LoopGains& gains);

/// The line of that control table for the learned model, as somebody would write it: the file as seen from the scenario, and
/// where the scenario places obstacles.
std::string learned_line(const std::string& text, const std::string& path, const LoopChoices& choices, const LoopWay& way);

/// The name of the controller that is meant; refused where there are several, or none of that name.
Result<std::string> controller_in(const Scenario& scenario, const std::string& wanted);

}  // namespace invar
