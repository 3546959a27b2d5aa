// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/run/run.hpp"

// For the sources of this room only.
namespace invar {

/// The scenario with every step in turn, nothing recorded. A run that was stopped ends it: what is missing is
/// NaN.
Result<ConvergenceResult> made(const ConvergenceSpec& series, const Scenario& scenario, const RunOptions& options);

}  // namespace invar
