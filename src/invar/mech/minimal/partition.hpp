// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/minimal/joint_tree.hpp"

namespace invar {

/// Paper B's matrices at one state, all in the n independent freedoms, body by body. Twists are (angular; linear).
///   V_i = J_i v        body i at its centre of mass, in its own axes            B (4)-(7)
///   Γ_i = J_iᵀ M_i J_i   Γ = Σ Γ_i + rotors                                      B (9)-(10)
///   Γ v̇ + h = Q,   h = C v                                                      B (13)
///   C = Σ J_iᵀ (M_i J̇_i + B_i J_i) + rotors,  B_i skew with B_i V_i = V_i ×* M_i V_i, so that Γ̇ - 2C is skew
/// A derivative by a freedom is that along its unit rate, whatever depends on it following. Where freedoms are components of an
/// angular velocity (balls, floating bodies) v is a quasi-velocity; everything above holds as it stands.
struct Partition {
  std::vector<std::string> coordinates;  ///< of the independent freedoms
  Bodies bodies;                         ///< at the state
  VecX v;                                ///< independent rates
  MatX E;                                ///< rates of the tree's freedoms per independent one, B (26)
  MatX joint_rates;                      ///< the same for all freedoms of the model
  std::vector<MatX> J, J_dot;            ///< per body, 6 x n
  std::vector<MatX> Gamma_parts;         ///< per body
  MatX rotors;                           ///< what armatures add
  MatX Gamma, Gamma_dot, C;
  std::vector<MatX> dGamma;  ///< per independent freedom
  VecX h, Q, vdot;           ///< Q: gravity, springs, dampers, tendons, loads and efforts
};

/// Fills `out` at a state of the tree (coordinates that depend are completed first). Allocates; not for the step loop.
Verdict partition_at(const JointTree& tree, const VecX& q, const VecX& v, const VecX& wound, const Load& load, Partition& out);

/// The Jacobian of a body on all freedoms of the tree: 6 x nv in body axes at the centre of mass.
MatX body_jacobian(const JointTree& tree, int body, const Bodies& bodies);

/// A Jacobian moved to the frame E of the same body, given at the centre of mass: J_E = Ad(X_EC) J_C, B (5), (8).
MatX at_frame(const MatX& J, const Pose& X_CE);

/// The spatial inertia of a body about its centre of mass, own axes.
Eigen::Matrix<double, 6, 6> spatial_inertia(const Body& body);

}  // namespace invar
