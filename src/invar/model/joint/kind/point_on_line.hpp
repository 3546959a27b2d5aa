// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// A point of the child stays on a line of the parent, the axis: a pin in a slot.
inline Facts point_on_line() { return FactsOf("point_on_line").axes(1).slide(Axis::Z, 0).ball(1).facts(); }

}  // namespace invar::kind
