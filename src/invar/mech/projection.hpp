// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/kinematics.hpp"
#include "invar/mech/kkt_solver.hpp"

namespace invar {

/// Moves Bodies onto the constraints of joints and couplings along the shortest way in the inertia metric: each correction x
/// solves M x + Jᵀ F = 0, J x = -(residual). No heap after construction.
class Projection {
 public:
  Projection(const Model& model, KktSolver& solver);

  /// Newton until the residual stops falling or is what rounding leaves; Ok when it is then below `tolerance` (rad, or parts of
  /// the length of the model: neither units nor size matter), or round-off.
  Verdict positions(Bodies& bodies, const VecX& wound, double tolerance, int max_iterations);
  /// One exact solve, unless J v is round-off already: afterwards J v = 0 to round-off.
  Verdict velocities(Bodies& bodies, const VecX& wound);

  /// Per joint, the relative acceleration along its rows that removes residuals like a critically tuned spring:
  /// -2 alpha (rate residual) - beta² (position residual), World, at M. Baumgarte's stabilisation.
  const std::vector<Twist>& baumgarte(const Bodies& bodies, double alpha, double beta);
  const VecX& baumgarte_couplings(const Bodies& bodies, const VecX& wound, double alpha, double beta);

 private:
  void measure(const Bodies& bodies, const VecX& wound);
  double wanted() const;
  ConstraintError gaps(const Bodies& bodies, const VecX& wound);
  void correct(Bodies& bodies, const VecX& wound, double error, bool whole);

  const Model& model_;
  KktSolver& solver_;
  std::vector<Twist> bias_;          // per joint
  VecX coupling_bias_, coupling_q_;  // per coupling
  VecX q_, v_;                       // joint coordinates and rates
  Accelerations correction_;         // per body
  Bodies trial_;                     // per body
  std::vector<Wrench> unused_;       // per joint
};

}  // namespace invar
