// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/integrate/make.hpp"
#include "invar/integrate/radau.hpp"

namespace invar::testing {

/// A method that takes every step that it is offered: dopri5 and radau with their control switched off, since nothing exceeds
/// these tolerances. Newton's method in radau goes on to round-off all the same.
inline std::unique_ptr<Integrator> fixed_step(const char* name, double h) {
  IntegratorOptions options;
  options.dopri5.relative_tolerance = options.dopri5.position_tolerance = 1e9;
  options.dopri5.velocity_tolerance = options.dopri5.auxiliary_tolerance = 1e9;
  options.dopri5.h_first = h;
  if (std::string(name) == "radau") return std::make_unique<Radau>(options.dopri5, 1e-24);
  return std::move(*make_integrator(name, options));
}

}  // namespace invar::testing
