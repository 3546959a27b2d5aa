// SPDX-License-Identifier: Apache-2.0
// A pendulum built through the installed package: exercises public headers, the static library and what it links.
#include <invar/model/model.hpp>

int main() {
  invar::ModelSpec spec;
  spec.name = "pendulum";
  invar::BodySpec bob;
  bob.name = "bob";
  bob.inertia = invar::solid_sphere(1.0, 0.1);
  spec.bodies.push_back(bob);
  invar::JointSpec hinge;
  hinge.name = "hinge";
  hinge.kind = invar::JointKind::Revolute;
  hinge.child = "bob";
  spec.joints.push_back(hinge);
  const auto model = invar::Model::build(spec);
  return model && model->nv() == 1 ? 0 : 1;
}
