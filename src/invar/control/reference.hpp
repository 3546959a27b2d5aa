// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "invar/control/signal.hpp"

namespace invar {

/// References: what a controller is asked to follow, as functions of time with exact first and second derivatives. Times in s,
/// values in rad or m. Each kind is smooth between its events; at an event the piece is chosen by the side of the Instant.
/// Value and rate are continuous, so that something with inertia can follow (where ends say otherwise, see Spline and Quintic).

/// Value, rate and second rate at one instant.
struct Jet {
  double q = 0;
  double v = 0;  ///< 1/s
  double a = 0;  ///< 1/s²
};

/// Way-points, at rest in each: q_i + (q_{i+1} - q_i) (10 s³ - 15 s⁴ + 6 s⁵) with s from 0 to 1 between two of them, which of all
/// ways from rest to rest has the least integral of squared jerk; end values outside. Second rates are continuous. Events: all
/// times.
struct MinimumJerk {
  std::vector<double> times;  ///< strictly increasing
  std::vector<double> values;
};

/// 10 s³ - 15 s⁴ + 6 s⁵ with s = (t - from)/(to - from), and its derivatives by t: from 0 at `from` to 1 at `to`.
Jet minimum_jerk(double from, double to, double t);

/// The cubic spline through samples: value, rate and second rate are continuous between the first and the last, end values at
/// rest outside. Events: all times.
class Spline {
 public:
  /// What holds at the first and the last sample. Rest: the rate is zero there, so that it is continuous everywhere and only the
  /// second rate jumps. Natural: the second rate is zero there, and the rate falls to zero when the samples end.
  enum class Ends { Rest, Natural };

  /// At least two samples at times that increase; otherwise it has a flaw and must not be evaluated. Allocates.
  Spline(std::vector<double> times, std::vector<double> values, Ends ends = Ends::Rest);

  const std::vector<double>& times() const { return times_; }
  const std::vector<double>& values() const { return values_; }
  /// Second rates at the samples.
  const std::vector<double>& curvatures() const { return curvatures_; }

 private:
  std::vector<double> times_, values_, curvatures_;
};

/// Pieces of degree five between jets: value, rate and second rate are met at both ends of each piece; end values at rest
/// outside. Continuous as far as the jets on the two sides of a time agree. Events: all times.
class Quintic {
 public:
  /// Piece i goes from starts[i] at times[i] to ends[i] at times[i + 1]. Allocates.
  Quintic(std::vector<double> times, const std::vector<Jet>& starts, const std::vector<Jet>& ends);
  /// The same through one jet per time.
  Quintic(std::vector<double> times, const std::vector<Jet>& jets);

  const std::vector<double>& times() const { return times_; }
  /// Of piece i by powers of the share of its time that has passed.
  const std::vector<std::array<double, 6>>& pieces() const { return pieces_; }

 private:
  std::vector<double> times_;
  std::vector<std::array<double, 6>> pieces_;
};

using Reference = std::variant<Signal, MinimumJerk, Spline, Quintic>;

/// Value and derivatives at an instant. No heap. The reference must have no flaw.
Jet jet(const Reference& reference, Instant at);

/// The first event strictly after t, or infinity.
double next_event(const Reference& reference, double t);

/// Why nothing can follow this (numbers that make no function, a signal whose value or rate jumps), or an empty string.
std::string flaw(const Reference& reference);

}  // namespace invar
