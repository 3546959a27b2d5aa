// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "invar/mech/environment.hpp"

namespace invar {

/// Time functions of commands and disturbances. Times in s; values in the unit of whatever they scale.
/// Each kind is smooth between its events; at an event the piece is chosen by the side of the Instant (see there), so a
/// step that ends on an edge and a step that starts there see the two different values.

struct Constant {
  double value = 0;
};

/// `before` until t = at, `after` from then on. Event: at.
struct Jump {
  double at = 0;
  double before = 0;
  double after = 1;
};

/// `value` in [on, off), zero elsewhere. Events: on, off.
struct Pulse {
  double on = 0;
  double off = 1;
  double value = 1;
};

/// offset + amplitude sin(2 pi frequency t + phase). No events.
struct Sinusoid {
  double amplitude = 1;
  double frequency = 1;  ///< Hz
  double phase = 0;      ///< rad
  double offset = 0;
};

/// `from` until `start`, a straight line to `to` at `stop`, `to` from then on. Events: start, stop.
struct Ramp {
  double start = 0;
  double stop = 1;
  double from = 0;
  double to = 1;
};

/// sum_k coefficients[k] (t - origin)^k. No events.
struct Polynomial {
  std::vector<double> coefficients;
  double origin = 0;
};

/// Straight lines between (times[i], values[i]), the end values outside. Events: all times.
struct Table {
  std::vector<double> times;  ///< strictly increasing
  std::vector<double> values;
};

/// A normal random number of mean zero for every stretch of `hold`, counted from t = 0: a function of time like the others, the
/// same for the same seed. Events: multiples of `hold`.
struct Noise {
  double deviation = 1;
  double hold = 0.01;  ///< s
  std::uint64_t seed = 0;
};

using Signal = std::variant<Constant, Jump, Pulse, Sinusoid, Ramp, Polynomial, Table, Noise>;

/// The value at an instant. No heap.
double value(const Signal& signal, Instant at);

/// Its first two derivatives by time, 1/s and 1/s², exact; at an event those of the side from which it is seen.
double rate(const Signal& signal, Instant at);
double second_rate(const Signal& signal, Instant at);

/// Whether value and rate are continuous, so that something with inertia can follow: constant, sine, polynomial.
bool can_be_followed(const Signal& signal);

/// The first event strictly after t, or infinity.
double next_event(const Signal& signal, double t);

/// Whether every one of some numbers is finite, and what is said where one is not.
bool all_finite(const std::vector<double>& numbers);
inline constexpr const char* kNotFinite = "a number is not finite";

/// Why the numbers of a signal make no function (an empty pulse, times that do not increase, NaN), or an empty string.
std::string flaw(const Signal& signal);

}  // namespace invar
