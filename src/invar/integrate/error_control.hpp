// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>

#include "invar/integrate/chart.hpp"

namespace invar {

/// What methods that choose their own steps may do. Tolerances bound the Euclidean norm of the estimated error of one step, part
/// by part of the state:
///   configuration  position_tolerance                                   (the tangent; m and rad side by side)
///   velocity       velocity_tolerance + relative_tolerance max |v|      (|v| at both ends of the step)
///   auxiliaries    auxiliary_tolerance + relative_tolerance max |aux_i| (each on its own)
/// Norms, and not components, so that the steps do not depend on how the axes of the World are turned.
struct ErrorControl {
  double relative_tolerance = 1e-8;
  double position_tolerance = 1e-8;                        ///< m, rad
  double velocity_tolerance = 1e-8;                        ///< m/s, rad/s
  double auxiliary_tolerance = 1e-8;                       ///< J for work and dissipation
  double h_min = 1e-10;                                    ///< s; a step that must be shorter ends in Status::StepTooSmall
  double h_max = std::numeric_limits<double>::infinity();  ///< s
  double h_first = 0;                                      ///< s; first try after a reset; 0: estimated from two slopes
};

/// Euclidean norm of `part` with every entry measured in its tolerance; y0 and y1 are both ends of the step.
double scaled_norm(const ErrorControl& control, const Chart& chart, const VecX& part, const VecX& y0, const VecX& y1);

/// A first guess of the step from (t, origin of the chart), h at most offered: h_first, or one that fits the slope there and the
/// slope that a short Euler step finds, for an estimated error that is O(h^power). At rest the Euler step is `at_rest` long, s,
/// and the guess a hundred times that at most. y and work are overwritten.
Verdict first_step(const ErrorControl& control, System& system, Chart& chart, double t, double h, int power, double at_rest,
                   const VecX& slope, VecX& y, VecX& work, double& proposed);

/// The length to try when h is left and `proposed` was found good: all that is left if it is little more than that.
double length_to_try(const ErrorControl& control, double proposed, double h);

/// The shortest step that a refusal may ask for at t, s: h_min, or what the digits of t still tell.
double shortest_step(const ErrorControl& control, double t);

/// Attempts of at most h until the state reached can be settled (projected, its turns counted): one that cannot asks for a step
/// that is shorter by `shrink`. attempt(offered, tried) leaves its end in y and its length in tried.
template <class Attempt>
Verdict attempt_until_settled(const ErrorControl& control, System& system, const Chart& chart, double h, double shrink,
                              const VecX& y, State& x, double& proposed, double& tried, Attempt&& attempt) {
  for (double offered = h;;) {
    if (const Verdict s = attempt(offered, tried); !s.ok()) return s;
    const Verdict s = chart.finish(system, tried, y, x);
    if (s.ok() || shrink * tried < control.h_min) return s;
    proposed = offered = shrink * tried;
  }
}

}  // namespace invar
