// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/front_factor.hpp"

namespace invar {

/// Reactions of least norm without a basis of self-stresses: F_min = J y is the orthogonal projection of F on the range of J,
/// which is all that moves anything. One Cholesky of Jᵀ J + ε over the graph of bodies, no decision about rank; mobility meets ε
/// alone. Multipliers of rows with compliance are inertia forces and stay as they are. No heap after construction.
class LeastNorm {
 public:
  explicit LeastNorm(const KktStructure& structure);

  /// Replaces F. Afterwards |Jᵀ (F − F_min)| is at round-off, or no further pass made it smaller. Where there is no factor F
  /// stays as it is and the residual is infinite.
  void project(const KktProblem& problem, VecX& F);
  /// Passes taken, and what |Jᵀ (F − F_min)| was at the end, relative to |J| |F|.
  int passes() const { return passes_; }
  double residual() const { return residual_; }
  double operations() const { return factor_.operations(); }

 private:
  KktStructure structure_;
  KktStructure dual_;  // a block per body with six rows, a body per block of the problem
  FrontFactor factor_;
  std::vector<int> touch_;  // touches of the dual: those of the problem
  std::vector<Mat6> transposed_, unit_;
  VecX epsilon_;           // 6 bodies
  VecX rest_;              // rows: F − J y
  VecX y_, step_, right_;  // 6 bodies
  int passes_ = 0;
  double residual_ = 0;
};

}  // namespace invar
