// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "invar/integrate/chart.hpp"
#include "invar/integrate/integrator.hpp"

namespace invar {

/// The classical Runge-Kutta method in the chart at the start of the step: order 4, four evaluations per step.
/// Dense output: the cubic that takes values and slopes at both ends. The slope at the end is that of the fourth stage,
/// right to O(h³), so the cubic costs no evaluation and its error is O(h⁴): third order.
class Rk4 final : public Integrator {
 public:
  const char* name() const override { return "rk4"; }
  int order() const override { return 4; }
  void reset(const System& system, const State& x, double h) override;
  Verdict step(System& system, double t, double h, State& x, double& h_done) override;
  void interpolate(const System& system, double theta, State& out) const override;

 private:
  Chart chart_;
  std::array<VecX, 4> k_;  // slopes of the stages
  VecX y_;                 // a stage, then the end of the step
  double h_ = 0;           // s; length of the last step
  mutable VecX between_;   // workspace of interpolate
};

}  // namespace invar
