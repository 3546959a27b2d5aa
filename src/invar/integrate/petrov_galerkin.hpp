// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "invar/integrate/stages.hpp"
#include "invar/integrate/stepper.hpp"

namespace invar {

/// What a scenario may say about petrov_galerkin.
struct PetrovGalerkinOptions {
  int degree = 0;           ///< m of paper C, 0 .. 3: order 2m + 2
  int quadrature = 0;       ///< Gauss points for the gradient of elastic energies, 1 .. 8; 0: m + 3
  bool discrete = false;    ///< m = 0: the discrete gradient instead, which keeps energy and momenta exactly
  bool stabilised = false;  ///< velocities meet their constraints at every node, too
};

/// Petrov-Galerkin in time, C (13)-(19): x, v polynomials of degree m + 1 over a step, continuous at the nodes, tested with
/// polynomials of degree m. The terms with G are integrated by m + 1 Gauss points, the gradient of elastic energies by
/// `quadrature` points. Needs Formulation `natural`.
/// Keeps: g(x) = 0 at the nodes; ½ vᵀMv + V(x) up to the quadrature of V (exactly without springs and tendons, and with
/// `discrete`); momenta for quadrature = m + 1 and `discrete`; work and dissipation in the balance of every step.
/// Plain, v leaves G(x) v = 0 at the nodes by O(h^2m+2) and more; `stabilised` keeps it, with twice the unknowns.
class PetrovGalerkin final : public Stepper {
 public:
  explicit PetrovGalerkin(const PetrovGalerkinOptions& options, const char* name = "petrov_galerkin");

  const char* name() const override { return name_; }
  int order() const override { return 2 * options_.degree + 2; }
  bool passes_singular() const override { return options_.degree == 0; }
  void reset(const System& system, const State& x, double h) override;
  void stage(int k) override;
  Verdict step(System& system, double t, double h, State& x, double& h_done) override;
  void interpolate(const System& system, double theta, State& out) const override;
  StepReport report() const override { return report_; }

 private:
  void bind(const Natural& natural);
  Verdict advance(System& system, double t, double h, int depth, State& x);
  Verdict whole(System& system, double t, double h, State& x);
  Verdict finish(double h, State& x);

  PetrovGalerkinOptions options_;
  const char* name_;
  std::unique_ptr<Stages> stages_;  // sized for the mechanism of the last reset
  StepReport report_;
  unsigned long serial_ = 0;  // of the formulation that stages_ is for
  int stage_ = 0;
  State start_, end_;  // of the last step
  struct Part {
    State x;
    VecX carry_x, carry_v;
  };
  std::vector<Part> parts_;  // where the parts of a divided step begin, by depth
  VecX change_;              // of x or v
  VecX carry_x_, carry_v_;   // what rounding left of x and v at end_
  Bodies bodies_;
  VecX q_, v_;         // joint coordinates and rates
  double h_ = 0;       // s; length of the last step
  bool fresh_ = true;  // nothing is known of earlier steps
};

/// The implicit midpoint rule C (20): petrov_galerkin of degree 0 with one Gauss point.
std::unique_ptr<Stepper> make_midpoint();

}  // namespace invar
