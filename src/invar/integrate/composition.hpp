// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "invar/integrate/integrator.hpp"

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
/// The inner method has to take steps of negative length. One instance per sub-step, so that each finds its own history.
/// Dense output: that of the sub-steps that cover the first and the second half; its error is that of a sub-step.
class Composed final : public Integrator {
 public:
  using Factory = std::function<std::unique_ptr<Integrator>()>;
  /// `kind` is not None.
  Composed(Composition kind, const Factory& inner);

  const char* name() const override { return stages_.front().inner->name(); }
  int order() const override { return order_; }
  Family family() const override { return stages_.front().inner->family(); }
  void reset(const State& x) override;
  Verdict step(System& system, double t, double h, State& x, double& h_done) override;
  void interpolate(const System& system, double theta, State& out) const override;
  /// Iterations of all sub-steps; 1 sub-step where none was divided further; the last sub-step's Hamiltonian.
  StepReport report() const override { return report_; }

 private:
  struct Stage {
    std::unique_ptr<Integrator> inner;
    double from, to;  // shares of the step
  };
  std::vector<Stage> stages_;
  int order_;
  State start_;  // as it was, for a step that fails
  StepReport report_;
};

}  // namespace invar
