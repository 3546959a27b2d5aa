// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// Cardan joint: turns about the axis of F, then about axis2 of M.
inline Facts universal() {
  return FactsOf("universal").axes(2).turn(Axis::Z, 0, "angle about axis").turn(Axis::X, 1, "angle about axis2").facts();
}

}  // namespace invar::kind
