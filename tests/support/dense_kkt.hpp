// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/bodies.hpp"

namespace invar::testing {

/// The judge: A (19) assembled densely and solved by general factorizations. It shares the joint faces (rows, dual, measure)
/// with the product and nothing else: no elimination, no recursion, no bias formula.
///
/// SI units. ν stacks the velocities of all centres of mass, then all angular rates, World components (A (16)). Rows: those
/// of the joints in the order of the model, components of F at the joint point, then one per coupling. Sign of docs/papers.md A2:
///   M ν' + Jᵀ F = force,  J ν' = gamma,  F > 0 acting on the parent (driven freedom of a coupling: -F).
struct DenseKkt {
  MatX M;                      // 6N x 6N     inertia of bodies and rotors
  MatX J;                      // R x 6N
  VecX gamma;                  // R           -J' ν, analytic
  VecX force;                  // 6N          gravity, gyroscopic, Port, efforts (commanded and passive), rotors
  VecX nu;                     // 6N
  VecX row_length;             // R           length of a row in the metric |f|² + |m|²/l²
  std::vector<int> first_row;  // joints + couplings + 1
};

/// Per joint, the length of the connected part that it belongs to: root mean square distance of the joint points of the part from
/// centres of mass, joints without rows left out. Bodies are joined by joints and couplings, not by the ground.
std::vector<double> part_lengths(const Model& model);

/// `efforts` are those on every freedom, passive ones included; see total_efforts.
DenseKkt assemble(const Model& model, const Bodies& bodies, const Port& port, const VecX& efforts);
MatX constraint_jacobian(const Model& model, const Bodies& bodies);
VecX stacked_velocity(const Bodies& bodies);

/// Commanded efforts of a load plus those of springs, dampers, friction and stops at this state.
VecX total_efforts(const Model& model, const Bodies& bodies, const Load& load);

/// Bodies moved for a time along their twists: p + t v, exp(t w) q. Velocities stay.
Bodies moved(const Bodies& bodies, double t);

/// -J' ν once more, by extrapolated central differences of J along the motion: relative error about 1e-10.
VecX gamma_by_differences(const Model& model, const Bodies& bodies);

/// Cᵀ F of every joint, World: what these multipliers do to the parents at the joint points.
std::vector<Wrench> wrenches(const Model& model, const DenseKkt& kkt, const Bodies& bodies, const VecX& multipliers);

struct Judgement {
  Accelerations accelerations;
  std::vector<Wrench> reactions;  ///< per joint, constraint part, on the parent at the joint point, World; least norm
  VecX multipliers;               ///< F, SI, one per row
  VecX couplings;                 ///< effort of every coupling on its driven freedom
  int rank = 0;                   ///< of J
  MatX self_stress;               ///< orthonormal basis of ker Jᵀ in units of the metric, R x (R - rank)
  double smallest_kept = 0;       ///< singular values of J, scaled: smallest above the threshold (QR pivot if all are),
  double largest_dropped = 0;     ///< and largest below it
  double condition = 0;           ///< of the scaled KKT matrix on its range
  double residual = 0;            ///< of both block rows after refinement, relative
};

/// Solves the system. Multipliers minimise Σ |f|² + |m|²/l², l the length of each connected part.
Judgement judge(const Model& model, const DenseKkt& kkt, const Bodies& bodies);
Judgement judge(const Model& model, const Bodies& bodies, const Load& load);

}  // namespace invar::testing
