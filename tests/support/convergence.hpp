// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/integrate/make.hpp"
#include "invar/mech/formulation.hpp"
#include "support/moving_mechanisms.hpp"

namespace invar::testing {

/// Where a motion came to, and what it kept on the way.
struct End {
  Verdict verdict;
  Bodies bodies;
  double kept = 0;      ///< J; largest change of the energy that the method names its own
  double physical = 0;  ///< J; of the energy with velocities on the constraints
  double size = 0;      ///< J; largest energy of one kind
  long steps = 0, iterations = 0, divided = 0;
};
End end_of(const Moving& m, Formulation& formulation, Integrator& integrator, double T, double h);

/// The same motion in the unreduced formulation with dopri5 at 1e-13: another set of equations and another method, whose own
/// error is some 1e-12. Where bodies are so light and fast that rounding is more than that, it ends early.
End reference(const Moving& m, double T);
/// The bodies of a reference that must come to its end.
Bodies exact_end(const Moving& m, double T);

/// By how much an end is off, largest over the bodies, metres and radians side by side.
struct EndError {
  double position = 0, configuration = 0;  ///< of centres of mass; of these and attitudes
  double velocity = 0;                     ///< of the nearest velocities that the joints allow
  double off = 0;                          ///< by which velocities leave the constraints
};
EndError error_of(const Model& model, const Bodies& end, const Bodies& exact);

/// A stepper of the natural formulation over T in equal steps.
struct Stepped : End, EndError {};
Stepped stepped(const Moving& m, const Bodies& exact, const std::string& method, const StepperOptions& options, double T,
                int steps);

}  // namespace invar::testing
