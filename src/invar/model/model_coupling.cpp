// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "invar/model/joint/table.hpp"
#include "invar/model/model_check.hpp"

namespace invar {
namespace {

/// One end of a coupling: the index of a joint with a scalar coordinate for this freedom.
Result<int> end_of(const CouplingSpec& c, const std::string& joint, int freedom, const char* field, const char* freedom_field,
                   const std::vector<JointSpec>& joints, const Index& names) {
  const auto it = names.find(joint);
  if (it == names.end())
    return tl::unexpected(error_at(c.where, field, "coupling '{}' names joint '{}', which does not exist{}", c.name, joint,
                                   suggestion(joint, names)));
  const JointSpec& j = joints[static_cast<std::size_t>(it->second)];
  if (kind_facts(j.kind).ball() >= 0 || freedoms(j.kind) == 0)
    return tl::unexpected(
        error_at(c.where, field, "coupling '{}': {} joint '{}' has no scalar coordinate to couple", c.name, name(j.kind), joint));
  if (j.locked)
    return tl::unexpected(
        error_at(c.where, field, "coupling '{}': joint '{}' is locked; unlock it or remove the coupling", c.name, joint));
  if (freedom < 0 || freedom >= freedoms(j.kind))
    return tl::unexpected(error_at(c.where, freedom_field, "coupling '{}': {} joint '{}' has freedoms 0 to {}, not {}", c.name,
                                   name(j.kind), joint, freedoms(j.kind) - 1, freedom));
  return it->second;
}

}  // namespace

Result<Coupling> make_coupling(const CouplingSpec& c, const std::vector<JointSpec>& joints, const Index& names) {
  const auto driven = end_of(c, c.joint, c.freedom, "joint", "freedom", joints, names);
  if (!driven) return tl::unexpected(driven.error());
  const auto driving = end_of(c, c.of, c.of_freedom, "of", "of_freedom", joints, names);
  if (!driving) return tl::unexpected(driving.error());
  if (*driven == *driving)
    return tl::unexpected(error_at(c.where, "of", "coupling '{}' couples joint '{}' to itself", c.name, c.joint));
  if (c.coefficients.empty())
    return tl::unexpected(
        error_at(c.where, "polynomial", "coupling '{}' needs a ratio or at least one polynomial coefficient", c.name));
  for (const double x : c.coefficients)
    if (!std::isfinite(x))
      return tl::unexpected(error_at(c.where, "polynomial", "coupling '{}': a coefficient is not a finite number", c.name));
  return Coupling{c.name, *driven, c.freedom, *driving, c.of_freedom, c.coefficients};
}

Result<Frame> make_frame(const FrameSpec& f, const Index& bodies) {
  const auto body = body_named(f.body, bodies, fmt::format("frame '{}'", f.name), f.where, "body");
  if (!body) return tl::unexpected(body.error());
  if (!is_pose(f.at))
    return tl::unexpected(error_at(f.where, "at", "frame '{}': at is not a pose (finite position, unit quaternion)", f.name));
  return Frame{f.name, *body, {normalized(f.at.q), f.at.p}};
}

}  // namespace invar
