// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <memory>
#include <optional>

#include "invar/mech/bodies.hpp"

namespace invar {

/// A time together with the side from which it is seen. At the edge of a pulse the step that ends there needs the value
/// from the left and the step that starts there the value from the right. `inside` is a time within the smooth segment
/// that is being integrated: it chooses the piece of a piecewise function, and `t` is where that piece is evaluated.
/// Steppers that account for energy exactly ask for one load over a whole step: `span` is its length, `t` its middle, and the
/// bodies that come with it are its mean motion (over_step.hpp).
struct Instant {
  double t;         ///< s
  double inside;    ///< s
  double span = 0;  ///< s; 0: an instant

  /// A time on its own is seen from the right.
  Instant(double time) : t(time), inside(time) {}  // NOLINT(google-explicit-constructor): a time is an instant
  Instant(double time, double within, double over = 0) : t(time), inside(within), span(over) {}
};

/// Whatever acts on the mechanism as a function of time and Bodies: disturbances, drag, actuation. Knows no coordinates.
class Environment {
 public:
  virtual ~Environment() = default;

  /// Adds its share to the load. Called at every stage of a step: no heap, no memory of earlier calls.
  virtual void add(Instant at, const Bodies& bodies, Load& load) const = 0;

  /// The same for an edited model, what it acts on found by name: null where that is not there (a body removed, a joint locked).
  /// Nothing where it knows no names: then it is kept as long as edits change values only.
  virtual std::optional<std::shared_ptr<const Environment>> bound_to(const Model& model) const {
    return (void)model, std::nullopt;
  }

  /// The first time strictly after t at which `add` is not smooth (an edge of a pulse); steps land there exactly.
  virtual double next_event(double t) const { return (void)t, std::numeric_limits<double>::infinity(); }
};

}  // namespace invar
