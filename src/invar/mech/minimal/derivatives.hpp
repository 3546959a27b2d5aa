// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/minimal/joint_tree.hpp"

namespace invar {

/// Exact derivatives of the dynamics in the n independent freedoms at one state, closed chains included, by dual numbers.
/// A derivative by a coordinate is that along the unit rate of its freedom: what depends on it follows, E, and the rates of the
/// independent freedoms stay. Where freedoms are components of an angular velocity (balls, floating bodies) the direction turns
/// the attitude from the left, about the axes of the first frame: the tangent that integrators use. Loads are held: wrenches as
/// they are in World, about the centres of mass, efforts as they are on the joints. At a kink (stops, slack tendons) the
/// derivative is that of the side on which the state lies.

/// What is missing for the accelerations a: r = Γ a + h - Q.
struct Balance {
  VecX q, v;         ///< of the tree, completed
  VecX missing;      ///< r
  MatX by_q, by_v;   ///< ∂r/∂q, ∂r/∂v at these accelerations
  MatX E;            ///< rates of the tree's freedoms per independent one
  MatX joint_rates;  ///< the same for all freedoms of the model
  MatX Gamma;        ///< ∂r/∂a
};
/// At a state of the tree, whose dependent coordinates are completed first; accelerations of the independent freedoms. Allocates.
Verdict balance_at(const JointTree& tree, const VecX& q, const VecX& v, const VecX& wound, const Load& load, const VecX& a,
                   Balance& out);

/// v̇ = Γ⁻¹ (Q - h) and its derivatives.
struct Derivatives {
  std::vector<std::string> coordinates;  ///< of the independent freedoms
  VecX vdot;
  MatX by_q, by_v;  ///< ∂v̇/∂q, ∂v̇/∂v
  MatX by_effort;   ///< ∂v̇ by efforts on all freedoms of the model, Γ⁻¹ joint_ratesᵀ
  MatX by_force;    ///< ∂v̇ by forces on the independent freedoms, Γ⁻¹
  Balance balance;  ///< with these accelerations: nothing is missing
};
/// Fails with NoInertia where Γ is not positive definite.
Verdict derivatives_at(const JointTree& tree, const VecX& q, const VecX& v, const VecX& wound, const Load& load,
                       Derivatives& out);

}  // namespace invar
