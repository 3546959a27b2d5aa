// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>

#include "invar/mech/system.hpp"

namespace invar {

/// What the last step took, and what the method itself keeps.
struct StepReport {
  int iterations = 0;  ///< of Newton's method, over all sub-steps; 0 where there is nothing to solve
  int substeps = 1;    ///< into how many parts the step was divided because Newton did not converge over the whole
  /// J; the energy that the method keeps, where it is not that of the Bodies (velocities that leave the constraints)
  double hamiltonian = std::numeric_limits<double>::quiet_NaN();
  int evaluations = 0;  ///< of the right-hand side, Jacobians by differences included; 0 where nobody counts
};

/// Flows need rate, retract, pull and settle of a System, so they take any formulation. Steppers need the structure of the
/// natural formulation: constant mass, quadratic constraints, forces at points.
enum class Family { Flow, Stepper };

/// A method that moves a State in time. Flows: attitudes are updated through the exponential map: with u the tangent at the start
/// of a step, u' = dexp^-1_u v, every method keeps its order and every quaternion its norm. An integrator never sums time: it is
/// told t and h, and says how much of h it used. Who counts steps knows the time.
class Integrator {
 public:
  virtual ~Integrator() = default;

  /// The word of scenario files ("rk4"), and the order of the error at a fixed time as h goes to zero.
  virtual const char* name() const = 0;
  virtual int order() const = 0;
  virtual Family family() const { return Family::Flow; }
  /// Whether it chooses its own step below the one that it is offered.
  virtual bool adaptive() const { return false; }

  /// Whether it keeps its order through singular configurations of loops.
  virtual bool passes_singular() const { return true; }

  /// Sizes workspaces for steps of about h from x and forgets earlier steps (start of a run; after an event or an edit). Steps
  /// are then asked of the same formulation. Methods that choose their steps, and flows, do not look at h.
  virtual void reset(const System& system, const State& x, double h) = 0;

  /// Forgets earlier steps and keeps the workspaces: the right side is another one from here on. No heap. Methods that learn
  /// nothing from one step for the next have nothing to forget.
  virtual void restart() {}

  /// One step from t of at most h > 0: on return x is settled at t + h_done. No heap. Fixed-step methods take h whole; an
  /// adaptive one that reaches the end returns h_done == h exactly. When the verdict is not Ok, x is as it was and h_done 0.
  virtual Verdict step(System& system, double t, double h, State& x, double& h_done) = 0;

  /// The state at t + theta h_done inside the last step (0 <= theta <= 1), in the method's dense output: not settled, turns
  /// counted from the start of the step. Holds until the next step or reset. No heap once `out` has its size.
  virtual void interpolate(const System& system, double theta, State& out) const = 0;

  /// About the last step.
  virtual StepReport report() const { return {}; }
};

}  // namespace invar
