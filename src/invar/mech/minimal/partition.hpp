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

/// The inertia of a state, kept body by body: after an edit, or a motion of some joints, an update computes those Γ_i anew whose
/// arguments have changed (own pose and inertia, freedoms on the way to the ground, their rows of E) and no other one.
///   set_inertia, attach, detach   the Γ of that body; where the body is a floating root and its centre of mass moves, all of its
///                                 part; where loops depend on lengths that the centre of mass changes, what the loops move
///   set_joint_frame               the bodies beyond the joint, and what its loops move
/// Law: parts and sum are to the bit those of partition_at.
class LivePartition {
 public:
  explicit LivePartition(const JointTree& tree) : tree_(tree) {}

  /// At coordinates of the tree; its independent freedoms must be chosen. Allocates.
  Verdict update(const VecX& q, const VecX& wound);

  const std::vector<MatX>& parts() const { return parts_; }
  const MatX& Gamma() const { return Gamma_; }
  /// Bodies whose Γ_i the last update computed.
  const std::vector<int>& touched() const { return touched_; }

 private:
  const JointTree& tree_;
  MatX E_, Gamma_;
  std::vector<MatX> parts_;                     // per body
  std::vector<std::vector<double>> arguments_;  // per body
  std::vector<int> touched_;
};

/// The Jacobian of a body on all freedoms of the tree: 6 x nv in body axes at the centre of mass.
MatX body_jacobian(const JointTree& tree, int body, const Bodies& bodies);

/// A Jacobian moved to the frame E of the same body, given at the centre of mass: J_E = Ad(X_EC) J_C, B (5), (8).
MatX at_frame(const MatX& J, const Pose& X_CE);

/// The spatial inertia of a body about its centre of mass, own axes.
Eigen::Matrix<double, 6, 6> spatial_inertia(const Body& body);

}  // namespace invar
