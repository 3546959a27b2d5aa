// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "invar/integrate/error_control.hpp"
#include "invar/integrate/integrator.hpp"

namespace invar {

using Dopri5Options = ErrorControl;

/// Dormand and Prince's pair of orders 5 and 4 in the chart at the start of the step, with a PI step control.
/// Order 5, seven stages of which the last is the first of the next step (FSAL), so six evaluations per step.
/// Dense output: Hairer's continuous extension, fourth order (error O(h⁵) inside a step), no evaluation.
/// The last slope is used again only if the next step starts at the very same time, state and segment, bit by bit; after
/// a projection in settle, an event or an edit it is computed anew, so that no step starts with the slope of another state.
class Dopri5 final : public Integrator {
 public:
  explicit Dopri5(const Dopri5Options& options = {}) : options_(options) {}

  const char* name() const override { return "dopri5"; }
  int order() const override { return 5; }
  bool adaptive() const override { return true; }
  void reset(const System& system, const State& x, double h) override;
  void restart() override;
  Verdict step(System& system, double t, double h, State& x, double& h_done) override;
  void interpolate(const System& system, double theta, State& out) const override;

  /// The step that the error control would take next, s; 0 after a reset.
  double proposed() const { return proposed_; }
  /// Steps tried and refused since the last reset.
  long refused() const { return refused_; }

 private:
  Verdict first_slope(System& system, double t, const State& x);
  Verdict stages(System& system, double t, double h);
  Verdict attempt(System& system, double t, double h, double& tried);
  void propose(double tried, double error, bool refused);

  Dopri5Options options_;
  Chart chart_;
  std::array<VecX, 7> k_;                                  // slopes of the stages; k_[6] is that of the end
  VecX y_;                                                 // a stage, then the end of the step
  VecX error_;                                             // estimated error of the step
  Instant end_{std::numeric_limits<double>::quiet_NaN()};  // when k_[6] was taken; NaN: nothing to use again
  long equations_ = 0;                                     // that k_[6] was taken with
  double h_ = 0;                                           // s; length of the last step
  double proposed_ = 0;                                    // s
  double last_error_ = 1;  // scaled error of the last step that was not cut short: memory of the PI control
  long refused_ = 0;
  mutable VecX between_;  // workspace of interpolate
};

}  // namespace invar
