// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <limits>

#include "invar/geom/rotation.hpp"

namespace invar {

/// Four numbers that somebody wrote for a unit quaternion, scalar first: made unit when their length is within 1e-6 of one, and
/// kept as written when it is one to round-off, so that files can be rewritten without changing a bit. Returns 1, or the length
/// that is too far off (the numbers then stay).
inline double make_unit(double* numbers) {
  const Quat q(numbers[0], numbers[1], numbers[2], numbers[3]);
  const double excess = q.squaredNorm() - 1;
  if (!(std::abs(excess) <= 2e-6)) return std::sqrt(1 + excess);
  if (std::abs(excess) <= 8 * std::numeric_limits<double>::epsilon()) return 1;
  const Quat unit = normalized(q);
  numbers[0] = unit.w(), numbers[1] = unit.x(), numbers[2] = unit.y(), numbers[3] = unit.z();
  return 1;
}

}  // namespace invar
