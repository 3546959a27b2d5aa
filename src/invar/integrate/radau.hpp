// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "invar/integrate/error_control.hpp"
#include "invar/integrate/integrator.hpp"
#include "invar/integrate/shifted_jacobian.hpp"

namespace invar {

/// Radau IIA with three stages in the chart at the start of the step: order 5, stiffly accurate, L-stable, error-controlled. For
/// mechanisms with stiff springs, dampers, stops or friction, whose steps are then as long as the motion that remains allows.
/// Newton's method with one Jacobian, by differences, for all stages; it is kept over steps as long as it converges quickly.
/// The estimate is that of an embedded formula of order 3, so the result is better than the tolerance.
/// Dense output: the collocation polynomial, a cubic (error O(h⁴) inside a step).
class Radau final : public Integrator {
 public:
  /// `newton`: how much of the tolerance Newton's method may leave.
  explicit Radau(const ErrorControl& options = {}, double newton = 1e-3) : options_(options), newton_(newton) {}

  const char* name() const override { return "radau"; }
  int order() const override { return 5; }
  bool adaptive() const override { return true; }
  void reset(const System& system, const State& x, double h) override;
  void restart() override;
  Verdict step(System& system, double t, double h, State& x, double& h_done) override;
  void interpolate(const System& system, double theta, State& out) const override;
  /// Newton iterations and evaluations of the last step, refused tries included.
  StepReport report() const override { return report_; }

  double proposed() const { return proposed_; }
  /// Since the last reset: steps tried and refused; Jacobians.
  long refused() const { return refused_; }
  long jacobians() const { return jacobians_; }

 private:
  enum class Newton { Converged, Slow, Failed };
  struct Increment {
    double motion, all;  // scaled norms, without and with auxiliaries
  };

  Verdict slope(System& system, double t, const VecX& y, VecX& f);
  Verdict take_jacobian(System& system, double t);
  bool factor(double h);
  void guess(double h);
  Newton newton(System& system, double t, double h, Verdict& verdict);
  Verdict stage_slopes(System& system, double t, double h);
  Increment increment(double h);
  Verdict estimate(System& system, double t, double h, bool doubt, double& error);
  Verdict attempt(System& system, double t, double h, double& tried);
  void propose(double tried, double error, bool refused);

  ErrorControl options_;
  double newton_;
  Chart chart_;
  ChartJacobian J_;
  ShiftedJacobian<double> real_;
  ShiftedJacobian<std::complex<double>> pair_;
  VecX f0_;                        // slope at the start
  std::array<VecX, 3> z_, f_, w_;  // stages less y0, their slopes, transformed residuals
  std::array<VecX, 3> old_;        // the polynomial of the step before, less its end
  VecX y_, error_;
  bool have_old_ = false;
  bool have_jacobian_ = false, fresh_ = false;  // fresh: taken at this start
  long equations_ = 0;                          // of the last step
  double factored_ = 0;                         // s; the h of the factorizations, 0: none
  double theta_ = 0;                            // contraction of the last Newton iteration
  double h_ = 0, old_h_ = 0;                    // s
  double proposed_ = 0;                         // s
  double last_error_ = 1, last_h_ = 0;
  long refused_ = 0, jacobians_ = 0;
  StepReport report_;
  mutable VecX between_;
};

}  // namespace invar
