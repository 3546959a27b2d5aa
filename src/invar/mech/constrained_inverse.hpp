// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/joint_rows.hpp"
#include "invar/mech/unreduced.hpp"

namespace invar {

/// A vector (linear; angular) per body, World: a velocity of the mechanism that its joints allow, or the derivative of one. With
/// it the forces that hold it there.
struct Field {
  Accelerations x;                ///< per body: centre of mass, angular
  std::vector<Wrench> reactions;  ///< per joint, on the parent at the joint point, World
  VecX couplings;                 ///< per coupling: effort on the driven freedom

  explicit Field(const Model& model)
      : x(model.bodies().size()),
        reactions(model.joints().size()),
        couplings(VecX::Zero(static_cast<Eigen::Index>(model.couplings().size()))) {}
};

/// I w in World axes: the angular momentum of a body about its centre of mass if it turned like w.
inline Vec3 spun(const Body& body, const BodyState& at, const Vec3& w) {
  return at.q_WB * (body.inertia.I_C * (at.q_WB.conjugate() * w));
}

/// The largest of the wrenches M x over the bodies, N (moments over the model's length), and the body. NaN is the largest.
struct LargestWrench {
  double size;
  int body;
};
LargestWrench largest_wrench(const Model& model, const Bodies& bodies, const Accelerations& x);

/// Products with the constrained inverse of A (22), A = M⁻¹ - M⁻¹Jᵀ S⁻¹ J M⁻¹, and their exact derivatives along a motion: every
/// product is one solve over the graph, O(N) for trees.
///   apply       w = A f:             M w + Jᵀλ = f,    J w = 0
///   derivative  ẇ = d/dt (A f):      M ẇ + Jᵀμ = ḟ - Ṁ w - J̇ᵀλ,    J ẇ = -J̇ w
/// Rows ride on the frame F of their joint; only the middle axis of a universal joint moves in it.
/// Laws: J A = 0; A is symmetric and positive semidefinite; apply of M w gives w back for every w with J w = 0.
/// No heap after `at` was called once.
class ConstrainedInverse {
 public:
  /// The model must outlive it. Rotors (armatures) have no place in M: see rotors().
  explicit ConstrainedInverse(const Model& model);

  /// A joint with an armature, or -1.
  int rotors() const;

  /// The motion of the mechanism: poses and velocities on the constraints. Turns: driving coordinates of couplings are taken
  /// within half a turn.
  Verdict at(const Bodies& bodies);

  /// w = A f for wrenches about the centres of mass and efforts on the freedoms; either may be null. With what holds it there, or
  /// the motion alone.
  Verdict apply(const Port* port, const VecX* efforts, Field& w);
  Verdict apply(const Port* port, const VecX* efforts, Accelerations& w);
  /// The derivative of w = A f, ḟ given (a derivative of wrenches about the centres of mass).
  Verdict derivative(const Field& w, const Port& f_dot, Accelerations& w_dot);
  /// x with M x + Jᵀμ = f and J x = -J̇ w.
  Verdict follow(const Accelerations& w, const Port& port, const VecX* efforts, Accelerations& x);

  /// Rates of all freedoms in a field, stacked as in the model, and their derivatives where x is the field's.
  void rates(const Accelerations& w, VecX& v) const;
  void accelerations(const Accelerations& w, const Accelerations& x, VecX& vdot) const;

  /// How far a field is from being allowed: the largest relative rate along the rows of any joint, m/s (angular ones times the
  /// model's length), and the joint. And what reactions do along it, Σ reaction · relative twist, W.
  double violation(const Accelerations& w, int& joint) const;
  double power_of_reactions(const std::vector<Wrench>& reactions, const Accelerations& w) const;

  /// Adds the wrenches of reactions, or of efforts, on both bodies of every joint, about the centres of mass.
  void add_reactions(const std::vector<Wrench>& reactions, Port& port) const;
  void add_efforts(const VecX& efforts, Port& port) const;
  /// Adds the derivative of what add_efforts adds, the efforts changing at `rates`: their wrenches ride on axes and arms.
  void add_effort_rates(const VecX& efforts, const VecX& rates, Port& port) const;

  /// Adds what acts on the bodies by itself, about the centres of mass: gravity, joints, tendons; `at_rest` without what rates of
  /// joints do. Angles are taken within half a turn. Returns the power that is lost, W.
  double add_own_forces(bool at_rest, Port& port);
  /// The same at the poses of the motion, but with the velocities of a field.
  double add_own_forces(const Accelerations& velocities, Port& port);
  /// Rates of all freedoms in the motion, stacked as in the model.
  const VecX& joint_rates() const { return v_; }

  /// Freedoms of the mechanism at the state solved last.
  int freedoms() const { return solver_.mobility().freedoms; }

  const Model& model() const { return model_; }
  const Bodies& bodies() const { return bodies_; }
  const JointAt& joint(int j) const { return joints_[static_cast<std::size_t>(j)]; }

 private:
  Twist between(int j, const Accelerations& x) const;
  Twist convection(int j, const Accelerations& w) const;
  void add(int j, const Wrench& on_parent, Port& port) const;
  void add_rate(int j, const Wrench& on_parent, const Vec3& turning, Port& port) const;
  void add_effort_rate(int j, int freedom, double effort, double effort_rate, Port& port) const;
  void add_coupling_rates(const VecX& efforts, Port& port) const;
  Verdict solve(KktInput input, Accelerations& x, std::vector<Wrench>& reactions);
  double add_own_forces(const Bodies& bodies, const VecX& v, Port& port);

  const Model& model_;
  Unreduced solver_;
  Bodies bodies_, rest_;  // the motion; without rates, or with those of a field
  std::vector<JointAt> joints_;
  std::vector<Vec3> arm_rate_;  // per joint: velocity of the joint point relative to the parent's centre of mass
  VecX coupling_q_, coupling_bias_;
  VecX q_, v_, still_, efforts_;  // of joints: coordinates, rates, no rates, what they do by themselves
  VecX other_;                    // rates of a field
  std::vector<Twist> bias_;
  std::vector<Wrench> unasked_;  // reactions
  Port port_;
  bool solved_ = false;  // at these bodies
};

}  // namespace invar
