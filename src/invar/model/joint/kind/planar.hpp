// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// Slides in the plane across the axis and turns about it.
inline Facts planar() { return FactsOf("planar").axes(1).slide(Axis::X, 0).slide(Axis::Y, 1).turn(Axis::Z, 2, "angle").facts(); }

}  // namespace invar::kind
