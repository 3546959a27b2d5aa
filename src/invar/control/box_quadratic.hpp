// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "invar/geom/vector.hpp"

namespace invar {

/// The x within lower <= x <= upper that minimises ½ xᵀ H x - bᵀ x, H symmetric and positive definite. Bounds may be infinite.
/// An active set: some of the x lie at a bound, the others minimise freely; one at a time goes to its bound where the free
/// minimum lies beyond it, or leaves it where the gradient points inwards. Every change lowers the objective, so that no set
/// comes twice. Deterministic; no heap after construction.
/// Law: the gradient H x - b is zero for x inside, not negative at the lower bound, not positive at the upper one.
class BoxQuadratic {
 public:
  explicit BoxQuadratic(int n);

  /// False where the set was still changing after eight changes per unknown: x is within the box all the same.
  bool minimise(const MatX& H, const VecX& b, const VecX& lower, const VecX& upper, VecX& x);

  /// The minimum without bounds.
  void minimise(const MatX& H, const VecX& b, VecX& x);

 private:
  enum class At : char { Inside, Lower, Upper };
  void solve_inside(const MatX& H, const VecX& b, const VecX& x);
  int first_blocked(const VecX& lower, const VecX& upper, const VecX& x, double& part) const;
  int to_release(const MatX& H, const VecX& b, const VecX& lower, const VecX& upper, const VecX& x) const;

  std::vector<At> at_;
  std::vector<bool> barred_;          // left its bound and came back at once: round-off
  std::vector<Eigen::Index> inside_;  // indices
  MatX L_;                            // factor of H over the inside
  VecX z_;                            // its minimum
};

}  // namespace invar
