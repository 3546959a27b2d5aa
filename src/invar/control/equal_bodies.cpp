// SPDX-License-Identifier: Apache-2.0
#include "invar/control/equal_bodies.hpp"

#include <algorithm>

#include "invar/base/check.hpp"
#include "invar/mech/scales.hpp"
#include "invar/model/joint/table.hpp"

namespace invar {

Model with_equal_bodies(const Model& model) {
  const Scales scales = scales_of(model);
  ModelSpec spec;
  spec.name = model.name();
  for (int b = 0; b < static_cast<int>(model.bodies().size()); ++b) {
    const double length = std::clamp(scales.length_at(b), 1e-100, 1e100);  // its square is a number
    BodySpec& body = spec.bodies.emplace_back();
    body.name = model.body_name(b);
    body.inertia = {1, model.bodies()[static_cast<std::size_t>(b)].inertia.p_BC, length * length * Mat3::Identity()};
  }
  // Frames of a model are turned already: axes are z, the second one of a universal joint is x.
  for (const Joint& from : model.joints()) {
    JointSpec& joint = spec.joints.emplace_back();
    joint.name = from.name, joint.kind = from.kind, joint.cut = from.cut;
    joint.pitch = takes_pitch(from.kind) ? from.pitch : 0;  // a locked screw is a fixed joint
    joint.parent = model.body_name(from.parent), joint.child = model.body_name(from.child);
    joint.at_parent = from.X_PF, joint.at_child = from.X_CM;
    if (from.facts->axes() == 2) joint.axis2 = Vec3::UnitX();
  }
  for (const Coupling& from : model.couplings()) {
    CouplingSpec& coupling = spec.couplings.emplace_back();
    coupling.name = from.name, coupling.coefficients = from.coefficients;
    coupling.joint = model.joints()[static_cast<std::size_t>(from.joint)].name, coupling.freedom = from.freedom;
    coupling.of = model.joints()[static_cast<std::size_t>(from.of)].name, coupling.of_freedom = from.of_freedom;
  }
  auto out = Model::build(spec);
  INVAR_CHECK(out.has_value(), "joints and couplings of a model make a model");
  return std::move(*out);
}

}  // namespace invar
