// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "invar/base/error.hpp"
#include "invar/integrate/dopri5.hpp"
#include "invar/integrate/integrator.hpp"

namespace invar {

/// What a scenario may say about its integrator. Fixed-step methods have no options.
struct IntegratorOptions {
  Dopri5Options dopri5;
};

/// The words of scenario files.
const std::vector<std::string>& integrator_names();

/// An integrator by name; an unknown name is refused with the nearest known one, and so are tolerances and steps that are
/// not positive. Call its reset before the first step.
Result<std::unique_ptr<Integrator>> make_integrator(std::string_view name, const IntegratorOptions& options = {});

}  // namespace invar
