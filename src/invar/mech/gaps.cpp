// SPDX-License-Identifier: Apache-2.0
//
// A row turns with its bodies, and gaps turn and displace them by no more than themselves. What is left of a row once others are
// taken from it is that over their sine, which is a hundredth or more where rows were chosen well.
#include "invar/mech/gaps.hpp"

#include <algorithm>

#include "invar/mech/kinematics.hpp"

namespace invar {

double noise_of_gaps(const Model& model, const Scales& scales, const Piece& piece, const Bodies& bodies) {
  constexpr double kStandOut = 1e3;
  double largest = 0;
  for (const int j : piece.joints) {
    const Residual gap = joint_residual(model, j, bodies);
    const double length = scales.length_at(model.joints()[static_cast<std::size_t>(j)].child);
    if (gap.size() > 0) largest = std::max(largest, gap.cwiseAbs().maxCoeff() / std::min(1.0, length));
  }
  return kStandOut * largest;
}

}  // namespace invar
