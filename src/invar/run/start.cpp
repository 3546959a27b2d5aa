// SPDX-License-Identifier: Apache-2.0
#include "invar/run/start.hpp"

#include <fmt/format.h>

#include <cmath>

#include "invar/mech/kinematics.hpp"

namespace invar {

Result<Bodies> bodies_at(const Model& model, const Start& start) {
  Bodies guess = start.by_bodies ? start.bodies : place(model, start.joints);
  const VecX turns = start.turns(model);
  if (start.project) return make_consistent(model, std::move(guess), start.tolerance, turns);
  if (auto fine = expect_consistent(model, guess, start.tolerance, turns); !fine) {
    Error error = fine.error();
    error.what += "; say consistent = \"project\" to move the start onto the joints";
    return tl::unexpected(error);
  }
  return guess;
}

Result<State> state_at(Formulation& formulation, const Start& start) {
  auto bodies = bodies_at(formulation.model(), start);
  if (!bodies) return tl::unexpected(bodies.error());
  State x;
  formulation.set(*bodies, x, start.turns(formulation.model()));
  return x;
}

std::vector<std::string> displaced(const Formulation& formulation, const Start& start, const State& x) {
  std::vector<std::string> out;
  if (start.by_bodies || start.named.empty()) return out;
  const Model& model = formulation.model();
  Bodies bodies;
  formulation.bodies(x, bodies);
  VecX q, v;
  joint_coordinates(model, bodies, q, v);
  unwind(model, x.wound, q);
  const auto compare = [&](const Joint& joint, const char* what, double named, double is) {
    if (std::abs(is - named) > 1e-6 * (1 + std::abs(named)))
      out.push_back(
          fmt::format("joint '{}' starts with {} = {:.6g}, not {:.6g} as named: loops or couplings do not allow it with the "
                      "other joints as they are",
                      joint.name, what, is, named));
  };
  for (std::size_t j = 0; j < model.joints().size(); ++j) {
    const Joint& joint = model.joints()[j];
    if (!start.named[j]) continue;
    // Attitudes are not numbers to compare one by one.
    for (int k = 0; k < joint.nq && joint.nq == joint.nv; ++k) compare(joint, "q", start.joints.q[joint.q0 + k], q[joint.q0 + k]);
    for (int k = 0; k < joint.nv; ++k) compare(joint, "v", start.joints.v[joint.v0 + k], v[joint.v0 + k]);
  }
  return out;
}

}  // namespace invar
