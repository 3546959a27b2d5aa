// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/geom/gauss.hpp"
#include "invar/mech/natural.hpp"
#include "invar/mech/system.hpp"

namespace invar {

/// How the equations of one step are made: see PetrovGalerkinOptions.
struct StageOptions {
  int stages = 1;      ///< m + 1
  int quadrature = 1;  ///< Gauss points for the elastic gradient
  bool discrete = false;
  bool stabilised = false;
};

/// The nonlinear equations of one Petrov-Galerkin step in natural coordinates, and Newton's method for them. No heap after
/// construction.
class Stages {
 public:
  Stages(const Natural& natural, const StageOptions& options);

  const Natural& natural() const { return natural_; }

  /// Forgets the step before: the next one starts from constant velocities.
  void forget() { known_ = false; }
  /// The next step does not begin where the last one ended (sub-steps of a composition): it is expected to be like it.
  void jump() { jumped_ = true; }
  /// Solves the step from x (plus what rounding left of it) over h; x is not changed.
  Verdict solve(System& system, double t, double h, const State& x, const VecX& carry_x, const VecX& carry_v);
  int iterations() const { return iterations_; }

  /// What the step solved last adds up to a part theta of it.
  void add_position(double theta, VecX& x) const;
  void add_velocity(double theta, VecX& v) const;
  double work(double theta) const { return integral(given_, theta); }
  double dissipated(double theta) const { return integral(lost_, theta); }
  /// Makes the step solved last the one that the next one is extrapolated from.
  void keep();

 private:
  using Each = std::vector<VecX>;  // one per stage
  double integral(const VecX& power, double theta) const;
  void predict(double h, const State& x);
  void place_stages(const State& x, const VecX& carry_x, const VecX& carry_v);
  void evaluate_forces(System& system, double t, const State& x, const VecX& carry_x);
  void residual();
  void residual_stabilised();
  void assemble(const State& x);
  void assemble_stabilised();
  void assemble_slopes(const State& x);
  double update();
  double speed(const VecX& v) const;
  Verdict failed(Status status) const;

  const Natural& natural_;
  const NaturalCoordinates& c_;
  StageOptions options_;
  int s_;
  GaussBasis basis_;
  GaussRule rule_;    // of the elastic gradient
  MatX a_, inverse_;  // Gauss's Runge-Kutta matrix and its inverse
  MatX share_;        // stage x quadrature point: weight of its gradient
  MatX reach_;        // quadrature point x stage: integral of the basis
  NaturalElimination newton_;
  NaturalElimination chooser_;

  // Unknowns and what follows from them, per stage.
  Each y_, w_, mu_, gamma_;  // x', v - v0, h λ, multiplier of the velocity rows
  Each x_, v_, z_, force_;   // positions, velocities, h v', forces
  VecX given_, lost_;        // W
  Each last_z_, last_y_, last_mu_, last_gamma_;
  VecX rc_, rr_;  // residuals and increments, stacked
  VecX point_, mass_v_, product_, row_product_, left_over_;
  Bodies bodies_;
  double h_ = 0, last_h_ = 0;
  bool known_ = false, jumped_ = false;
  int iterations_ = 0;
};

}  // namespace invar
