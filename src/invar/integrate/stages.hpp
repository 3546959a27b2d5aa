// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "invar/geom/gauss.hpp"
#include "invar/integrate/part_sizes.hpp"
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

/// The nonlinear equations of one Petrov-Galerkin step in natural coordinates, and Newton's method for them: one factored matrix
/// serves for as long as increments shrink quickly, which may be many steps. No heap after construction.
class Stages {
 public:
  Stages(const Natural& natural, const StageOptions& options);

  const Natural& natural() const { return natural_; }

  /// Forgets the step before: the next one starts from constant velocities, and with a matrix of its own.
  void forget() { known_ = 0, factored_ = false; }
  /// The next step has another length: it starts from constant velocities.
  void restart() { known_ = 0; }
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
  void predict_from_one(double r);
  void predict_from_many();
  void place_stages(const State& x, const VecX& carry_x, const VecX& carry_v);
  void evaluate_forces(System& system, double t, const State& x, const VecX& carry_x);
  void residual();
  void residual_of_velocities(int i);
  void assemble(const State& x);
  void assemble_velocities(int i);
  void assemble_slopes(const State& x);
  double update(bool from_rest);
  void take_back(const State& x);
  void set_scales(const State& x);
  void take_part(double part);
  double size_of(const VecX& increment);
  bool approach(System& system, double t, const State& x, const VecX& carry_x, const VecX& carry_v);
  Verdict failed(Status status) const;
  void add_terms(const VecX& x, const VecX& mu, double factor, bool linear_part);
  bool below_terms(const VecX& left, Eigen::Index first) const;
  bool only_rounding();
  Verdict choose_rows(const State& x);

  /// How far Newton's method is: increments are measured by the speeds of their connected parts.
  struct Search {
    double last = 0, ratio = 0;  // the last increment, and its part of the one before where it could be measured
    double expected = 0;         // of the last increment, what is not rounding
    int count = 0;
    bool exact = false;    // nothing is left out of the matrix
    bool own = false;      // the matrix was made in this step
    bool stalled = false;  // the last increment is small and hardly smaller than the one before, with a matrix of this step
    bool fails = false;
  };
  enum class Advice { Done, GoOn, Renew, Fail };
  Advice judge(double size, Search& search);
  Verdict iterate(System& system, double t, const State& x, const VecX& carry_x, const VecX& carry_v);

  const Natural& natural_;
  const NaturalCoordinates& c_;
  StageOptions options_;
  int s_;
  int dynamics_;  // copy at which the unknowns v - v0 and the equations of motion start
  GaussBasis basis_;
  GaussRule rule_;    // of the elastic gradient
  MatX a_, inverse_;  // Gauss's Runge-Kutta matrix and its inverse
  MatX share_;        // stage x quadrature point: weight of its gradient
  MatX reach_;        // quadrature point x stage: integral of the basis
  NaturalElimination newton_;
  NaturalElimination chooser_;

  // Unknowns and what follows from them, per stage.
  Each y_, w_, mu_, gamma_;  // x', v - v0, h λ, multiplier of the velocity rows
  Each before_;              // x' of the iterate before
  struct Unknowns {
    Each y, w, mu, gamma;
  } kept_;                  // where a shortened increment starts
  VecX step_c_, step_r_;    // that increment
  Each x_, v_, z_, force_;  // positions, velocities, h v', forces
  VecX given_, lost_;       // W
  struct Past {
    Each z, mu, gamma;
  };
  static constexpr int kPast = 6, kFewest = 4;  // steps that are remembered; how many differences are taken from
  std::array<Past, kPast> past_;                // a ring
  int latest_ = 0, known_ = 0;                  // where the last one is, and how many in a row and of one length
  PartSizes sizes_;
  VecX rc_, rr_;  // residuals and increments, stacked
  VecX point_, mass_v_, product_, row_product_, left_over_, gap_;
  VecX terms_;  // sizes of what a residual adds up
  Bodies bodies_;
  double h_ = 0, last_h_ = 0;
  bool jumped_ = false;
  bool iterated_ = false;   // there is an iterate before
  bool factored_ = false;   // newton_ holds a matrix, of this step or of an earlier one
  double contraction_ = 0;  // of increments with that matrix, where it could be measured last
  int iterations_ = 0;
};

}  // namespace invar
