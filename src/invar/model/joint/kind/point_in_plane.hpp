// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// A point of the child stays in a plane of the parent across the axis, and turns freely.
inline Facts point_in_plane() { return FactsOf("point_in_plane").axes(1).slide(Axis::X, 0).slide(Axis::Y, 1).ball(2).facts(); }

}  // namespace invar::kind
