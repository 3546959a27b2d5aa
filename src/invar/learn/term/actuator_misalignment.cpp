// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/term/actuator_misalignment.hpp"

namespace invar {

Result<ActuatorMisalignment> ActuatorMisalignment::build(const Model& model, const std::vector<Actuator>& actuators,
                                                         const std::vector<int>& inputs) {
  ActuatorMisalignment out;
  for (std::size_t k = 0; k < actuators.size(); ++k) {
    ActuatorSpec spec = actuators[k].spec();
    if (spec.kind != ActuatorSpec::Kind::Force && spec.kind != ActuatorSpec::Kind::Thruster)
      return fail(ErrorKind::Option, "actuator '" + actuators[k].name() +
                                         "' has no direction that could be misaligned: name forces and thrusters only");
    const Vec3 direction = spec.direction.normalized(), across = any_perpendicular(direction);
    for (const Vec3& axis : {across, Vec3(direction.cross(across))}) {
      spec.direction = axis.cross(direction);
      auto turned = Actuator::build(model, spec);
      if (!turned) return tl::unexpected(turned.error());
      out.turned_.push_back(std::move(*turned));
      out.inputs_.push_back(inputs[k]);
    }
  }
  return out;
}

}  // namespace invar
