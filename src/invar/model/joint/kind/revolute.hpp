// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// Turns about the axis.
inline Facts revolute() { return FactsOf("revolute").axes(1).turn(Axis::Z, 0, "angle").facts(); }

}  // namespace invar::kind
