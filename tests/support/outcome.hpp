// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cmath>

#include "invar/run/run.hpp"

namespace invar::testing {

/// A metric of a run by its name; a failure where there is none.
inline double metric(const Outcome& outcome, const std::string& name) {
  for (const Metric& m : outcome.metrics)
    if (m.name == name) return m.value;
  ADD_FAILURE() << "no metric " << name;
  return std::nan("");
}

}  // namespace invar::testing
