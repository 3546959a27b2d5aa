// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/actuator.hpp"
#include "invar/control/box_quadratic.hpp"
#include "invar/mech/constrained_inverse.hpp"

namespace invar {

/// Inputs of actuators for a commanded load. Only what forces do to the motion matters: with the constrained inverse A, the
/// columns b_i of the actuators and their limits,
///   u = argmin |τ - B u|²,   |f|² = fᵀ A f = aᵀ M a with a = A f,
/// the error of the accelerations measured as kinetic energies are, rotors included. Among inputs that do it equally well, those
/// with little Σ weight_i |b_i u_i|²: an input counts with what it does alone, so that units do not matter. Products with A are
/// one solve per actuator; no heap after the first call.
/// Laws: motors on all freedoms of a tree leave nothing; one actuator more never leaves more; the inputs are the same in every
/// World.
class Allocation {
 public:
  /// The model must outlive it.
  Allocation(const Model& model, std::vector<Actuator> actuators);

  /// Inputs for a load on the mechanism in this motion. Where the solver has no answer, inputs are as near to zero as limits
  /// allow, and nothing is allocated.
  Verdict solve(const Bodies& bodies, const Load& wanted);

  const std::vector<Actuator>& actuators() const { return actuators_; }
  const VecX& inputs() const { return inputs_; }
  /// |τ| and |τ - B u|, m/s² sqrt(kg).
  double commanded() const { return commanded_; }
  double remainder() const { return remainder_; }
  /// The remainder over |τ|; where joints hold nearly all of τ, over 1e-3 of what it would do to the bodies without joints, since
  /// solves leave 1e-13 of that.
  double relative_remainder() const { return remainder_ == 0 ? 0 : remainder_ / scale_; }
  /// How far the inputs that would be best without limits lie beyond them, where limits cost motion; zero otherwise.
  double excess(int actuator) const { return excess_[actuator]; }
  /// Whether joints leave the actuator any motion of its own here; its input stays at zero otherwise.
  bool acts(int actuator) const { return size_[actuator] > 0; }

 private:
  Verdict columns(const Bodies& bodies, const Load& wanted);
  Verdict respond(const Load& load, Eigen::Ref<VecX> out);
  double free_size(const Load& load);
  void improve(bool within, VecX& x);
  double limited(Eigen::Index i, double input) const;

  const Model& model_;
  ConstrainedInverse inverse_;
  std::vector<Actuator> actuators_;
  std::vector<Mat3> root_, light_;  // per body, body axes: I = root², and its inverse where there is one
  VecX rotor_;                      // per freedom: root of the armature
  BoxQuadratic box_;
  // Workspace. n actuators, m = 6 bodies + freedoms.
  Load unit_;
  Port port_;
  Field field_;
  VecX rates_;                 // per freedom
  MatX X_;                     // m x n: roots of M times A b_i, each of length one
  VecX wanted_, rest_;         // m: the same of τ and of τ - B u
  MatX H_;                     // n x n: XᵀX with ε
  VecX size_, lower_, upper_;  // n: lengths of the columns; limits times them
  VecX low_, high_;            // n: limits of a step
  VecX slope_, step_, x_;      // n: Xᵀ rest; a step; inputs times sizes
  VecX inputs_, excess_;       // n
  double commanded_ = 0, remainder_ = 0, scale_ = 0;
};

}  // namespace invar
