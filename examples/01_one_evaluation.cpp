// SPDX-License-Identifier: Apache-2.0
// Accelerations of all bodies and reactions of all joints of a four-bar linkage, at rest in its start configuration.
#include <cstdio>

#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"

int main() {
  using namespace invar;
  const auto model = read_model("models/four_bar.toml");
  if (!model) return std::puts(model.error().text().c_str()), 2;
  const auto bodies = make_consistent(*model, place(*model, JointState::initial(*model)));
  if (!bodies) return std::puts(bodies.error().text().c_str()), 2;

  Augmented dynamics(*model);
  const Load load(*model);
  Accelerations accelerations(model->bodies().size());
  std::vector<Wrench> reactions(model->joints().size());
  if (!dynamics.solve(*bodies, load, accelerations, reactions).ok()) return 3;

  for (std::size_t j = 0; j < reactions.size(); ++j) {
    const Vec3& f = reactions[j].force;
    std::printf("joint %-8s pushes its parent with (%8.4f, %8.4f, %8.4f) N\n", model->joints()[j].name.c_str(), f.x(), f.y(),
                f.z());
  }

  // Newton for the whole linkage: what accelerates it is its weight and what the ground gives back.
  Vec3 missing = Vec3::Zero();
  for (std::size_t i = 0; i < accelerations.size(); ++i) {
    missing += model->bodies()[i].inertia.mass * (accelerations[i].a_WC - model->gravity());
  }
  for (std::size_t j = 0; j < reactions.size(); ++j) {
    if (model->joints()[j].parent == kWorld) missing += reactions[j].force;
  }
  std::printf("left over in Newton's equation: %.1e N\n", missing.norm());
  return missing.norm() < 1e-12 * 3 * 9.81 * 100 ? 0 : 1;
}
