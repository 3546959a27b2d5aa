// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// Nothing is held.
inline Facts free() { return FactsOf("free").slide(Axis::X, 0).slide(Axis::Y, 1).slide(Axis::Z, 2).ball(3).facts(); }

}  // namespace invar::kind
