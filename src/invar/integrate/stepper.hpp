// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/base/check.hpp"
#include "invar/integrate/integrator.hpp"
#include "invar/mech/natural.hpp"

namespace invar {

/// A method that needs the structure of the natural formulation. All are symmetric in time and take steps of negative length, so
/// that they can be composed.
class Stepper : public Integrator {
 public:
  Family family() const override { return Family::Stepper; }

  /// The next step is the k-th of a pattern that repeats itself: what it extrapolates comes from steps with the same k.
  virtual void stage(int k) = 0;
};

/// The state at theta (0 at `from`, 1 at `to`, h later) on the cubic that has their natural coordinates and velocities. Turns are
/// counted from the start.
void between(const State& from, const State& to, double h, double theta, State& out);

/// The formulation of a system that is stepped.
inline const Natural& natural_of(const System& system) {
  const auto* natural = dynamic_cast<const Natural*>(&system.formulation());
  INVAR_CHECK(natural != nullptr, "this method steps natural coordinates");
  return *natural;
}

}  // namespace invar
