// SPDX-License-Identifier: Apache-2.0
#include "invar/integrate/error_control.hpp"

#include <algorithm>
#include <cmath>

namespace invar {
namespace {

// The last piece before the end of the offered h may be this much longer than proposed: err grows by 1.1^5 = 1.6, which a
// safety factor of 0.9 leaves room for (0.9^5 = 0.59), and no sliver remains.
constexpr double kStretch = 1.1;

}  // namespace

double scaled_norm(const ErrorControl& control, const Chart& chart, const VecX& part, const VecX& y0, const VecX& y1) {
  const double speed = std::max(chart.v(y0).norm(), chart.v(y1).norm());
  const double velocity_scale = control.velocity_tolerance + control.relative_tolerance * speed;
  const auto magnitude = chart.aux(y0).array().abs().max(chart.aux(y1).array().abs());
  return std::sqrt(
      chart.u(part).squaredNorm() / (control.position_tolerance * control.position_tolerance) +
      chart.v(part).squaredNorm() / (velocity_scale * velocity_scale) +
      (chart.aux(part).array() / (control.auxiliary_tolerance + control.relative_tolerance * magnitude)).square().sum());
}

// Hairer, Norsett, Wanner I, II.4: a hundredth of the scale on which y changes, corrected by the second derivative that an Euler
// step shows.
Verdict first_step(const ErrorControl& control, System& system, Chart& chart, double t, double h, int power, double at_rest,
                   const VecX& slope, VecX& y, VecX& work, double& proposed) {
  proposed = control.h_first;
  if (proposed > 0) return {};
  const VecX& y0 = chart.origin();
  const double d0 = scaled_norm(control, chart, y0, y0, y0);
  const double d1 = scaled_norm(control, chart, slope, y0, y0);
  const double h0 = std::min(h, d0 < 1e-5 || d1 < 1e-5 ? at_rest : 0.01 * d0 / d1);
  y = y0 + h0 * slope;
  if (const Verdict s = chart.slope(system, t + h0, y, work); !s.ok()) return s;
  work -= slope;
  const double d2 = scaled_norm(control, chart, work, y0, y0) / h0;
  const double steepest = std::max(d1, d2);
  const double h1 = steepest <= 1e-15 ? std::max(1e-6, 1e-3 * h0) : std::pow(0.01 / steepest, 1.0 / power);
  if (!std::isfinite(h1)) return {Status::NotFinite};
  proposed = std::clamp(std::min(100 * h0, h1), control.h_min, std::max(control.h_min, control.h_max));
  return {};
}

double length_to_try(const ErrorControl& control, double proposed, double h) {
  const double longest = std::min(proposed, control.h_max);
  return h <= std::min(kStretch * longest, control.h_max) ? h : longest;
}

double shortest_step(const ErrorControl& control, double t) {
  return std::max(control.h_min, 16 * std::numeric_limits<double>::epsilon() * std::abs(t));
}

}  // namespace invar
