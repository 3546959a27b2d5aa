// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/learned.hpp"

namespace invar {

/// √(Σ|d_w|²_A / Σ|d|²_A) over these runs (indices; none: NaN), in the metric A of the nominal model: d is what the nominal model
/// leaves over, d_w what is left over by the edited model and the load, as both are written. The error of the regression is that
/// of its coefficients; inertias that become those of rigid bodies, and friction that is cut at zero, leave more.
Result<double> error_as_written(const ModelSpec& nominal, const Model& model, const Learned& learned, const DataSet& data,
                                const std::vector<int>& runs, const TermContext& context);

}  // namespace invar
