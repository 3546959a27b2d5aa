// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "invar/integrate/stepper.hpp"

namespace invar {

/// How a symmetric method is composed with itself to raise its order by two: sub-steps forward, backward, forward.
enum class Composition {
  None,
  TripleJump,  ///< three; the first reaches past the end of the step by about a third of it, so loads are asked for there
  Suzuki,      ///< five; stays inside the step, and its error is smaller by two orders of magnitude
};

/// The words of scenario files, in the order above.
const std::vector<std::string>& composition_names();

/// The lengths of the sub-steps of a composition of a method of even order, as shares of the step: symmetric, their sum is one,
/// and the sum of their powers order + 1 is zero.
std::vector<double> sub_steps(Composition kind, int order);

/// A symmetric method composed with itself. Whatever one step of the inner method keeps exactly (energy, momenta, constraints),
/// the composition keeps; the order rises by two. A composition may be composed again.
/// Dense output: the cubic with the values and velocities of both ends.
class Composed final : public Stepper {
 public:
  /// `kind` is not None.
  Composed(Composition kind, std::unique_ptr<Stepper> inner);

  const char* name() const override { return inner_->name(); }
  int order() const override { return inner_->order() + 2; }
  bool passes_singular() const override { return inner_->passes_singular(); }
  void reset(const System& system, const State& x, double h) override;
  void stage(int k) override { stage_ = k; }
  Verdict step(System& system, double t, double h, State& x, double& h_done) override;
  void interpolate(const System& system, double theta, State& out) const override;
  /// Iterations of all sub-steps; 1 sub-step where none was divided further; the last sub-step's Hamiltonian.
  StepReport report() const override { return report_; }

 private:
  std::unique_ptr<Stepper> inner_;
  std::vector<double> ends_;  // of the sub-steps, as shares of the step
  int stage_ = 0;
  State start_, end_;  // of the last step
  double h_ = 0;       // s; its length
  StepReport report_;
};

}  // namespace invar
