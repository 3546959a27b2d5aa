// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/control_law.hpp"
#include "invar/control/position_filter.hpp"
#include "invar/mech/constrained_inverse.hpp"
#include "invar/mech/own_forces.hpp"
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
  double filter = 0;           ///< 1/s; dampers see rates that a filter makes of positions; 0: measured rates
  bool over_steps = false;     ///< the stepper says over which step it asks: the balance of V over steps is a clause
};

/// C (44): τ = -J_tcpᵀ (K_x x̃ + D_x ẋ̃) + ∇V, and damping of the joints. ∇V is gravity, springs and tendons of the nominal model.
/// Storage: kinetic energy + ½ x̃ᵀ K_x x̃. For a point at rest it changes by -ẋᵀ D_x ẋ - (joint damping) + (power from outside).
/// Where it is asked over a step (Instant::span) all of this is true of differences between the nodes, to round-off.
/// With a filter (position_filter.hpp) no rate is measured: ω u stands for ẋ̃, and ½ ω uᵀ D_x u is part of the storage, which
/// then changes by -(ω u)ᵀ D_x (ω u); likewise in the joints.
class ImpedanceLaw final : public ControlLaw {
 public:
  ImpedanceLaw(const Model& model, ImpedanceSpec spec);

  std::string objection(Instant at, const Bodies& bodies) override;
  Verdict command(Instant at, const Bodies& bodies, Load& out) override;
  void settle(Instant at, const Bodies& bodies) override;
  void witness(const Witness& seen) override;
  std::vector<Mark> marks() const override;
  void remember(Recall& memory) override {
    filter_.remember(memory);
    memory(known_), memory(span_), memory(t_), memory(stored_), memory(at_play_), memory(node_);
  }

  /// λ of C (46) in the last command through joints: what joints of the tree carry of the wanted wrenches beside their efforts,
  /// per joint of the model, on the child at the joint point, World. It does no work on what the joint allows.
  const std::vector<Wrench>& carried() const { return carried_; }
  /// The wrenches on the bodies, about their centres of mass, that the last command stands for, damping of joints left out.
  const Port& wanted() const { return wanted_port_; }

 private:
  void law(Instant at, const Bodies& bodies);
  void efforts_of();
  bool is_finite() const;
  void look_at_step(double t, double h, const Bodies& bodies);
  double kinetic(const Bodies& bodies) const;
  double stored() const;
  double damped() const;
  double at_play(const Bodies& bodies) const;
  void look_at_disturbance(const Witness& seen, double V_dot, double force, double power);
  bool mobility_of_point(Mat3& out);
  void look_at_stiffness();

  const Model& model_;
  ImpedanceSpec spec_;
  ConstrainedInverse inverse_;
  OwnForces own_;
  PositionFilter filter_;
  Field moved_;  // by what disturbs
  SpanningTree tree_;

  // The last evaluation.
  PoseJet target_;
  Vec3 error_ = Vec3::Zero(), error_rate_ = Vec3::Zero(), force_ = Vec3::Zero(), arm_ = Vec3::Zero();
  VecX position_, change_, offset_;  // of the point and of all freedoms; what the filter sees and says
  Vec3 rate_ = Vec3::Zero();         // what dampers take for that of the point
  VecX joint_rate_;                  // and of the freedoms
  Port port_, wanted_port_, acts_;
  std::vector<Wrench> carried_;
  VecX efforts_;

  // The last node.
  bool known_ = false;
  double span_ = 0;  // of the step asked for last; 0: none since the last settle
  double t_ = 0, stored_ = 0, at_play_ = 0;
  Bodies node_, mean_;

  std::size_t V_, V_dot_, promised_, target_at_, stiffness_, balance_ = 0;
  std::vector<std::pair<int, std::size_t>> carried_readings_;  // joint; reading of its force, that of its moment follows
  int defined_, passive_clause_, falls_, disturbed_, still_, step_clause_ = -1;
};

}  // namespace invar
