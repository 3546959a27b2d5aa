// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/integrate/chart.hpp"
#include "invar/integrate/integrator.hpp"

namespace invar {

/// Semi-implicit Euler: velocity first, then the configuration with the new velocity. Order 1, one evaluation per step.
/// Symplectic, with no drift of energy, where forces depend on the configuration alone and the mass is constant.
/// Dense output: straight lines in the tangent and in the velocity, error O(h²), which is the method's own.
class SemiImplicitEuler final : public Integrator {
 public:
  const char* name() const override { return "semi_implicit_euler"; }
  int order() const override { return 1; }
  void reset(const System& system, const State& x, double h) override;
  Verdict step(System& system, double t, double h, State& x, double& h_done) override;
  void interpolate(const System& system, double theta, State& out) const override;

 private:
  Chart chart_;
  VecX k_;                // slope at the start
  VecX y_;                // end of the step
  double h_ = 0;          // s; length of the last step
  mutable VecX between_;  // workspace of interpolate
};

}  // namespace invar
