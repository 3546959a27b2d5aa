// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/integrate/integrator.hpp"

namespace invar {

/// A method that controls its error, taken over cables that get taut or slack, stops that are touched or left and friction that
/// begins or ends to slide (Switches). Laws are held on their branches over a step, so the method meets smooth functions only;
/// where one leaves its branch inside the step, found on the dense output, the step is taken anew so that it ends just there, the
/// law goes over to its other branch, and the method starts again. The instant is that of the method's own results, not of its
/// dense output: positions are beyond the switch by round-off, whatever the tolerance.
/// Law: mechanisms without such laws are stepped by the method alone, bit by bit.
/// A law that would turn to and fro without progress is not held for a step: then the error control meets it as it is. No heap.
class Switching final : public Integrator {
 public:
  explicit Switching(std::unique_ptr<Integrator> method) : method_(std::move(method)) {}

  const char* name() const override { return method_->name(); }
  int order() const override { return method_->order(); }
  bool adaptive() const override { return method_->adaptive(); }
  void reset(const System& system, const State& x, double h) override;
  void restart() override;
  Verdict step(System& system, double t, double h, State& x, double& h_done) override;
  void interpolate(const System& system, double theta, State& out) const override { method_->interpolate(system, theta, out); }
  /// Of the steps tried for the last one, together.
  StepReport report() const override { return report_; }

  const Integrator& method() const { return *method_; }
  /// Branches left since the last reset; steps that were taken with the laws as they are.
  long switches() const { return switches_; }
  long unheld() const { return unheld_; }

 private:
  Verdict try_step(System& system, double t, double h, State& x, double& h_done);
  Verdict free_step(System& system, double t, double h, State& x, double& h_done);
  double least(const System& system, const State& x);
  double least_at(const System& system, double theta);
  bool leaves(const System& system, const State& x, double& before, double& after);
  bool dips(const System& system, double middle, double& vertex);
  double root(const System& system, double before, double after);
  Verdict end_at_switch(System& system, double t, double longest, double guess, double slope, State& x, double& h_done);

  std::unique_ptr<Integrator> method_;
  StepReport report_;
  State start_, between_;
  Bodies bodies_;
  VecX margins_;  // per law
  VecX first_, middle_, last_;
  Eigen::Index leaving_ = 0;  // the law whose end was located
  bool fresh_ = true;         // branches are to be chosen
  int hurried_ = 0;           // steps in a row that ended at a switch after a small part of what the method would have taken
  long switches_ = 0, unheld_ = 0;
};

}  // namespace invar
