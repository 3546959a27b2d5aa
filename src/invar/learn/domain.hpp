// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/data_set.hpp"
#include "invar/learn/terms.hpp"

namespace invar {

/// What generic terms divide velocities by: the size v₀ of velocities in these runs (indices; empty: all), root mean square per
/// component of the points of bodies of this length, relative to the flow, and ω₀ = v₀/length, so that a turn counts as much as
/// the motion that it gives to the ends of a body. 1 where nothing moves.
FeatureScales scales_of(const DataSet& data, double length, const std::vector<int>& runs = {});

/// Where these runs were: second moments of what bodies see, per class, over the largest leverage in them. Directions that were
/// never seen count as seen with a thousandth of the mean amplitude.
FeatureDomain domain_of(const FeatureTerm& term, const DataSet& data, const std::vector<int>& runs = {});

}  // namespace invar
