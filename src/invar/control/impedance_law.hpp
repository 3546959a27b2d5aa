// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/control_law.hpp"
#include "invar/mech/constrained_inverse.hpp"
#include "invar/mech/spanning_tree.hpp"

namespace invar {

/// A point of a body that shall yield like a spring and a damper to a point that moves.
struct ImpedanceSpec {
  std::string name = "tcp";
  int body = 0;
  Vec3 p_BE = Vec3::Zero();           ///< the point in its body
  PosePath path;                      ///< position only
  Mat3 stiffness = Mat3::Identity();  ///< K_x, N/m, World; symmetric, positive semidefinite
  Mat3 damping = Mat3::Identity();    ///< D_x, N s/m
  double joint_damping =
      0;  ///< on every joint freedom, N m s or N s/m: with D_x alone motions that leave the point at rest persist
  bool through_joints = true;  ///< efforts on the joints of the tree, C (49); false: a force at the point
};

/// C (44): τ = -J_tcpᵀ (K_x x̃ + D_x ẋ̃) + ∇V, and damping of the joints. ∇V is gravity, springs and tendons of the nominal model.
/// Storage: kinetic energy + ½ x̃ᵀ K_x x̃. For a point at rest it changes by -ẋᵀ D_x ẋ - (joint damping) + (power from outside).
class ImpedanceLaw final : public ControlLaw {
 public:
  ImpedanceLaw(const Model& model, ImpedanceSpec spec);

  std::string objection(Instant at, const Bodies& bodies) override;
  Verdict command(Instant at, const Bodies& bodies, Load& out) override;
  void witness(const Witness& seen) override;

 private:
  Verdict law(Instant at, const Bodies& bodies);
  void efforts_of(Port& port, VecX& efforts) const;

  const Model& model_;
  ImpedanceSpec spec_;
  ConstrainedInverse inverse_;
  Field moved_;  // by what disturbs
  SpanningTree tree_;
  PoseJet wanted_;
  Vec3 error_ = Vec3::Zero(), error_rate_ = Vec3::Zero(), force_ = Vec3::Zero(), arm_ = Vec3::Zero();
  Port port_, acts_;
  VecX efforts_;
  std::size_t V_, V_dot_, promised_;
  int defined_, passive_clause_, falls_, disturbed_, still_;
};

}  // namespace invar
