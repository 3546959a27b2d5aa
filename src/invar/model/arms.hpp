// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "invar/geom/vector.hpp"

namespace invar {

/// Below this part of what it is a difference of, or of what surrounds it, a distance is round-off and no size.
inline constexpr double kNoArm = 1e-9;

/// Square of the distance between a joint point and the centre of mass of its body, both in the body's frame (m²); zero where
/// round-off of their coordinates is all there is. Sizes of mechanisms are root mean squares of it.
inline double arm_squared(const Vec3& p_BJ, const Vec3& p_BC) {
  const double square = (p_BJ - p_BC).squaredNorm();
  return square > kNoArm * kNoArm * std::max(p_BJ.squaredNorm(), p_BC.squaredNorm()) ? square : 0.0;
}

}  // namespace invar
