// SPDX-License-Identifier: Apache-2.0
#include "invar/run/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace invar {

// Times are doubles: a stride must be far above their spacing at the ends of the run, or t + h is t. With 16 spacings a step is
// right to some percent, and the number of strides stays below 2^49, so that it can be counted.
std::optional<Objection> time_objection(const Scenario& s) {
  if (!(s.end_time > s.start_time) || !std::isfinite(s.end_time - s.start_time))
    return Objection{"end", "the run must end after it begins"};
  const double finest = 16 * std::numeric_limits<double>::epsilon() * std::max(std::abs(s.start_time), std::abs(s.end_time));
  if (s.method.step > 0 && s.method.step < finest)
    return Objection{"step", fmt::format("a step of {} s cannot be told from none at the times of this run", s.method.step)};
  if (s.sampling.interval > 0 && s.sampling.interval < finest)
    return Objection{"every",
                     fmt::format("samples every {} s cannot be told apart at the times of this run", s.sampling.interval)};
  return {};
}

}  // namespace invar
