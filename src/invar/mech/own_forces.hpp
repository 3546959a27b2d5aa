// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/over_step.hpp"

namespace invar {

/// What a mechanism does by itself, at an instant or over a step with a given mean motion (over_step.hpp), as wrenches on its
/// bodies about their centres of mass. Over a step elastic parts act by discrete gradients: their work on the mean motion is the
/// change of their energy to round-off, as in the steppers that account for energy exactly. Angles within half a turn at the
/// start of the step. No heap after construction.
class OwnForces {
 public:
  /// The model must outlive it.
  explicit OwnForces(const Model& model);

  /// The motion; h = 0: the motion at an instant.
  void at(const Bodies& mean, double h);

  /// Adds gravity, springs, stops and tendons without anything that rates do. Laws: over a step their work on the mean motion is
  /// the energy that they lose; at an instant they are minus the gradient of the energy. Springs that have no energy
  /// (SpringLaw::EulerPrinted) act as they do halfway.
  void add_at_rest(Port& port);
  /// The power that dampers, friction and stops of joints and tendons take over the step, W; h not zero.
  double lost();

  const JointOver& joint(int j) const { return joints_[static_cast<std::size_t>(j)]; }
  /// Coordinates of all joints at the instant, or at the start of the step.
  const VecX& coordinates() const { return q0_; }
  /// Rates of all freedoms; over a step its change over h for those that have a coordinate.
  const VecX& rates() const { return v_; }

 private:
  void add_springs();
  void add_ball_spring(const Joint& joint);
  std::size_t place(const Tendon& tendon);
  Quat ball(const Joint& joint, const VecX& q) const;

  const Model& model_;
  Bodies mean_, start_, end_;
  double h_ = 0;
  std::vector<JointOver> joints_;
  VecX q0_, q1_, v_, still_, efforts_;
  std::vector<Vec3> p0_, p1_, arm_, force_;  // per point of a tendon
};

}  // namespace invar
