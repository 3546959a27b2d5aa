// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "invar/model/model.hpp"

// The parts of Model::build, for the sources of this room only. Every check needs the spec alone, no configuration, and stops
// at the first thing it finds.
namespace invar {

/// What is wrong with a part of a spec, or nothing.
using Flaw = std::optional<Error>;

/// Index of an item by its name.
using Index = std::map<std::string, int, std::less<>>;

using Warnings = std::vector<std::string>;

template <class... Args>
Error error_at(const Where& where, const std::string& field, fmt::format_string<Args...> sentence, Args&&... args) {
  return {ErrorKind::Model, fmt::format(sentence, std::forward<Args>(args)...), where.of(field)};
}

/// "; did you mean 'x'?", or nothing when no name is near.
std::string suggestion(std::string_view word, const Index& names);

/// Index of the body that the item `who` names in one of its fields, kWorld included.
Result<int> body_named(const std::string& body, const Index& bodies, const std::string& who, const Where& where,
                       const char* field);

/// Whether position and quaternion are finite and the quaternion is within 1e-6 of unit length.
bool is_pose(const Pose& pose);

/// Why one of the shapes cannot be drawn, or an empty string.
std::string flaw(const std::vector<ShapeSpec>& shapes);

Flaw check_body(const BodySpec& body);

/// Names, bodies and inertias of what is attached.
Flaw check_payloads(const ModelSpec& spec, const Index& bodies);

/// A body with all that is attached to it, in the order of their names: the sum does not depend on the order of events.
Inertia whole_inertia(const ModelSpec& spec, std::size_t body);

/// Everything about a joint besides the names of its bodies: axes, numbers per freedom, signs, limits.
Flaw check_joint(const JointSpec& joint);

/// Frames F and M as computations need them: turned so that the axis is z, and M where a locked joint holds it.
struct JointFrames {
  Pose X_PF, X_CM;
  Quat turn;
};
Result<JointFrames> make_frames(const JointSpec& spec, Warnings* warnings);

/// The joint of a checked spec, without its place in the stacked vectors (q0, v0).
Result<Joint> make_joint(const JointSpec& spec, int parent, int child, Warnings* warnings);

Result<Coupling> make_coupling(const CouplingSpec& spec, const std::vector<JointSpec>& joints, const Index& names);

Result<Frame> make_frame(const FrameSpec& spec, const Index& bodies);

Result<Tendon> make_tendon(const TendonSpec& spec, const Index& bodies, const Index& names, const std::vector<Frame>& frames);

}  // namespace invar
