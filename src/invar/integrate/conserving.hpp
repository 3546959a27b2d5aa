// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/integrate/stepper.hpp"

namespace invar {

/// The energy-exact step of lowest order over the spanning tree, O(N): order 2, in the plane or in space as the natural
/// formulation has it. Two methods in one:
///   conserving         velocities meet their constraints at every node, too (a symmetric shell around each step)
///   discrete_gradient  the bare scheme: positions do, velocities in the middle of the step only
/// Keeps, for any step that it can make: constraints of positions; energy up to work and losses, which it accounts for exactly;
/// linear and angular momentum up to impulses (conserving: angular momentum to about 1e-10 of it per 10 s, see docs).
/// Where Newton does not converge, the step is halved, up to ten times.
class Conserving final : public Stepper {
 public:
  explicit Conserving(bool stabilised);
  ~Conserving() override;

  const char* name() const override { return stabilised_ ? "conserving" : "discrete_gradient"; }
  int order() const override { return 2; }
  void reset(const System& system, const State& x, double h) override;
  void stage(int k) override { stage_ = k; }
  Verdict step(System& system, double t, double h, State& x, double& h_done) override;
  void interpolate(const System& system, double theta, State& out) const override;
  StepReport report() const override { return report_; }

  /// What steps a tree of one dimension; see the source.
  class Core;

 private:
  bool stabilised_;
  int stage_ = 0;
  std::unique_ptr<Core> core_;  // sized for the mechanism of the last reset
  Verdict placed_;              // at end_
  unsigned long serial_ = 0;    // of the formulation it was sized for
  double length_ = 0;           // s; and the length of step
  StepReport report_;
  State start_, end_;  // of the last step
  double h_ = 0;       // s; its length
};

}  // namespace invar
