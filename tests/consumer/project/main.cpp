// SPDX-License-Identifier: Apache-2.0
// Through the installed package: a pendulum made by hand, and one read from an installed file and evaluated. Exercises public
// headers, the static library and everything that it links.
#include <invar/io/hdf5.hpp>
#include <invar/io/model_file.hpp>
#include <invar/mech/assemble.hpp>
#include <invar/mech/augmented.hpp>

namespace {

bool made_by_hand() {
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
  return model && model->nv() == 1;
}

bool read_from_a_file() {
  const auto model = invar::read_model(SHIPPED "/models/pendulum.toml");
  if (!model) return false;
  const auto bodies = invar::make_consistent(*model, invar::place(*model, invar::JointState::initial(*model)));
  invar::Augmented dynamics(*model);
  const invar::Load load(*model);
  invar::Accelerations accelerations(model->bodies().size());
  std::vector<invar::Wrench> reactions(model->joints().size());
  return bodies && dynamics.solve(*bodies, load, accelerations, reactions).ok() && reactions[0].force.norm() > 0;
}

// Recordings as well: there is no log, and the library says so.
bool asks_for_a_log() { return !invar::LogReader::open("nowhere.log"); }

}  // namespace

bool crosses_the_border(const char* model, const char* scenario);

int main() {
  const bool fine = made_by_hand() && read_from_a_file() && asks_for_a_log();
  return fine && crosses_the_border(SHIPPED "/models/four_bar.toml", SHIPPED "/scenarios/four_bar.toml") ? 0 : 1;
}
