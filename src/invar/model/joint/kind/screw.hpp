// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// Turns about the axis and advances by pitch times the angle (m/rad), which is counted over all turns.
inline Facts screw(double pitch) { return FactsOf("screw").axes(1).slide(Axis::Z, 0, pitch).turn(Axis::Z, 0, "angle").facts(); }

}  // namespace invar::kind
