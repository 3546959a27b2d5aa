// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/augmented.hpp"
#include "invar/mech/natural_forces.hpp"
#include "invar/mech/natural_reduced.hpp"

namespace invar {

struct NaturalOptions {
  bool project =
      true;          ///< settle() moves every step's end back onto position and velocity constraints (flows; steppers need not)
  bool flat = true;  ///< a mechanism that cannot leave a plane takes the planar form
  bool verdicts = true;  ///< as in AugmentedOptions
};

/// Paper C and its extension to space: redundant coordinates with constant mass and constraints of degree two,
///   M a - Gᵀ λ = f,   G a = -G' v,    x per body (p_WC, d1, d2, d3), or (p_WC, d) in the plane: see NaturalCoordinates.
/// State: q = x and v = x', SI units. Rates come from these equations. An evaluation is that of the unreduced equations at the
/// same Bodies, accelerations and reactions together, so that they balance also where a stepper leaves velocities off the
/// constraints; reactions are of least norm where rows depend on each other. Where squares of sines, which these equations are
/// made of, do not tell as many rows as the joint graph counts, and in the bands of passages, rates are those of the unreduced
/// equations, too. A model with natural_objection (screws, couplings,
/// rotors) has only a state here, which methods with rows of their own may step. Law: on the constraints the accelerations of
/// these equations are those of Augmented.
class Natural final : public Formulation {
 public:
  explicit Natural(const Model& model, const NaturalOptions& options = {});

  using Formulation::set;
  void set(const Bodies& bodies, State& x, const VecX& turns) override;
  void bodies(const State& x, Bodies& out) const override { coordinates_.load(x.q, x.v, out); }
  Verdict rate(const State& x, const Load& load, Rate& rate) override;
  Verdict evaluate(const State& x, const Load& load, Evaluation& out) override;
  /// The accelerations of the bodies by the natural equations alone; models without natural_objection.
  Verdict accelerations(const State& x, const Load& load, Accelerations& out);
  void retract(const State& from, const VecX& u, State& to) const override { to.q = from.q + u; }
  void pull(const VecX&, const VecX& v, VecX& u_dot) const override { u_dot = v; }
  Verdict settle(State& x) override;
  double prepare_step(const State& x, double h, bool whole) override;
  long equations() const override { return unreduced_.equations(); }
  Through through(std::size_t group) const override { return unreduced_.through(group); }
  LedOver led_over() const override { return unreduced_.led_over(); }
  /// Other joint frames may end or begin a plane: they ask for a new formulation unless joints leave any plane by their kind.
  [[nodiscard]] bool adopt(const Change& change) override;
  const Mobility& mobility() const override { return unreduced_.mobility(); }

  /// For steppers: coordinates, forces, and blocks of the mass.
  const NaturalCoordinates& coordinates() const { return coordinates_; }
  const NaturalForces& forces() const { return forces_; }
  const MatX& mass(int body) const { return mass_[static_cast<std::size_t>(body)]; }

  /// ½ vᵀMv + V(x): the energy that the methods of paper C keep, whether or not v is a velocity that the joints allow.
  double hamiltonian(const State& x) const;

 private:
  Verdict accelerate(const State& x, const Load& load);
  Verdict accelerate_by_graph(const State& x, const Load& load);
  void choose(const VecX& x);
  BodyAcceleration acceleration(int body, const VecX& x, const BodyState& s) const;

  NaturalOptions options_;
  bool quadratic_;  // whether every row is of degree two
  NaturalCoordinates coordinates_;
  NaturalForces forces_;
  NaturalReduced equations_;
  Augmented unreduced_;     // reactions, verdicts, projection; the rank of all rows
  bool by_graph_ = false;   // these equations have another one
  std::vector<MatX> mass_;  // per body: its block
  Bodies bodies_;           // per body
  Bodies moving_;           // per body: unreduced accelerations as velocities
  Accelerations accelerations_;
  std::vector<Wrench> reactions_;
  VecX unused_;
  VecX q_, v_;                  // joint coordinates and rates
  VecX a_;                      // like x: forces, then accelerations
  NaturalForces::Power power_;  // of the load
  double dissipation_ = 0;      // W
};

/// [M -Gᵀ; G 0] at x: the matrix of accelerations and of projections.
void assemble_natural(const Natural& natural, const VecX& x, NaturalElimination& to);

}  // namespace invar
