// SPDX-License-Identifier: Apache-2.0
#include "invar/run/start.hpp"

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

}  // namespace invar
