// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <numbers>
#include <vector>

#include "invar/control/recall.hpp"

namespace invar {

/// Rates out of positions alone: z' = rate (x - z), and ω u with u = x - z is taken for x'. It remembers x and u at the last
/// `settle`; in between x is taken to go straight to where it is now, so that
///   u(θ) = (1 - e^-ωθ)/(ωθ) (x - x_0) + e^-ωθ u_0.
/// Over a step u is the mean of both ends, z_1 - z_0 = h ω u: then ½ ω u·D u changes by h (ω u)·D (x' - ω u) exactly.
class PositionFilter {
 public:
  /// `winds`: which positions are angles that count modulo one turn.
  PositionFilter(double rate, std::vector<bool> winds);

  double rate() const { return rate_; }

  /// u at time t, where the position is x; nothing was seen yet: zero.
  void at(double t, const VecX& x, VecX& u) const;
  /// The mean of u over a step h that starts at time t and at x and changes x by `change`.
  void over(double t, double h, const VecX& x, const VecX& change, VecX& u) const;
  /// Goes on to x at time t, as one step of `over` or as an instant. The first time it stands still there.
  void settle(double t, const VecX& x, bool over);
  void remember(Recall& memory) { memory(known_), memory(t_), memory(x_), memory(u_); }

 private:
  double difference(Eigen::Index k, double to, double from) const;

  double rate_;
  std::vector<bool> winds_;
  bool known_ = false;
  double t_ = 0;
  VecX x_, u_;
};

}  // namespace invar
