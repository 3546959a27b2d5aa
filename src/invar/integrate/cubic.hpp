// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/state.hpp"

namespace invar {

/// The state at a part theta of a step of h: positions on the cubic with the values and velocities of both ends, velocities its
/// derivative, auxiliaries on straight lines, turns expected from the rates at the start. For coordinates that can be added.
inline void cubic_between(const State& start, const State& end, double h, double theta, State& out) {
  const double t2 = theta * theta, t3 = t2 * theta;
  out = start;
  out.wound += theta * h * start.wound_rate;
  if (h == 0) return;
  out.q += (3 * t2 - 2 * t3) * (end.q - start.q) + h * ((theta - 2 * t2 + t3) * start.v + (t3 - t2) * end.v);
  out.v = (6 * (theta - t2) / h) * (end.q - start.q) + (1 - 4 * theta + 3 * t2) * start.v + (3 * t2 - 2 * theta) * end.v;
  out.aux += theta * (end.aux - start.aux);
}

}  // namespace invar
