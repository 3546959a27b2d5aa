// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace invar {

/// Numbers that everything about singular configurations of loops shares; pure ones: angles, or parts of the length of a group.

/// Freedoms of a group of loops up to which its rows are decomposed densely: larger groups are neither watched nor passed.
inline constexpr std::size_t kLargestGroup = 160;
/// Freedoms of a connected part up to which singular configurations of its loops are passed: the equations there are dense.
inline constexpr std::size_t kLargestPart = 480;

/// Half-width of the band around a singular configuration in which weak rows are replaced, and the least that is tried where
/// nodes astride it cannot be closed; of the freedom that moves most (see spread).
inline constexpr double kBandHalf = 0.03;
inline constexpr double kLeastBandHalf = 0.006;

/// What loops may miss in the middle of a band, in parts of their length: polynomials through wide bands are off by the root of
/// it.
inline constexpr double kClosedBetween = 1e-7;

/// Half-width for branches that starts are led along: no steps are taken in it, and wider nodes tell more.
inline constexpr double kMeetingHalf = 0.05;

/// How much faster than bodies turn the sine of the weakest row may change. Both ends of an arm turn: 2 where all masses are
/// alike. The sine is that between rows in the metric of M⁻¹, and masses in a ratio of r make it sqrt(r) times as fast: 30 for 1
/// to 225.
inline constexpr double kSteepSine = 2, kSteepestSine = 30;

/// σ below which the way ahead is looked at.
inline constexpr double kWatchedSigma = 0.35;

/// What counts as zero among singular values, in parts of the largest: where loops are closed to round-off; where a configuration
/// was located on a branch that is known to 1e-9 or better, or loops are closed as well as settled states are.
inline constexpr double kNullSigma = 1e-9;
inline constexpr double kLocatedSigma = 1e-6;

/// σ below which loops that leave no motion are held as they stand: their rows do it to round-off over σ² at best. And how far
/// steps may move what loops hold, rad, before that is said: rounding over the σ that is held, at worst.
inline constexpr double kHeldSigma = 1e-3, kHeldMoved = 1e-6;

}  // namespace invar
