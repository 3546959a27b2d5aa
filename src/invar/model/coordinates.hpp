// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "invar/base/error.hpp"
#include "invar/geom/vector.hpp"
#include "invar/model/spec.hpp"

// How joint coordinates are written, wherever a file or a message has some (docs/model-file.md, [initial]).
namespace invar {

/// Coordinates q of a joint from the numbers of a file: as many as the kind has; for spherical joints also a rotation vector.
/// Quaternions are made unit within 1e-6 and refused otherwise.
Result<VecX> written_coordinates(JointKind kind, const std::string& joint, const std::vector<double>& numbers, const Where& where,
                                 const std::string& field);

/// The same where nothing may be written: zero (identity) then.
Result<VecX> coordinates_from(JointKind kind, const std::string& joint, const std::vector<double>& numbers, const Where& where,
                              const std::string& field);

/// Where a joint starts that [initial] of a model or scenario names: its coordinates; none for a locked joint, about which the
/// numbers may only repeat `locked_at`.
Result<VecX> start_from(const JointSpec& joint, const std::vector<double>& numbers, const Where& where, const std::string& field);

}  // namespace invar
