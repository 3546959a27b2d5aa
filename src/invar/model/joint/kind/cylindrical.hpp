// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// Turns about the axis and slides along it.
inline Facts cylindrical() {
  return FactsOf("cylindrical").axes(1).slide(Axis::Z, 1, "displacement").turn(Axis::Z, 0, "angle").facts();
}

}  // namespace invar::kind
