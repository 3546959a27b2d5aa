// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// Slides along the axis.
inline Facts prismatic() { return FactsOf("prismatic").axes(1).slide(Axis::Z, 0, "displacement").facts(); }

}  // namespace invar::kind
