// SPDX-License-Identifier: Apache-2.0
#include "invar/run/start.hpp"

namespace invar {

Result<Bodies> bodies_at(const Model& model, const Start& start) {
  Bodies guess = start.by_bodies ? start.bodies : place(model, start.joints);
  if (start.project) return make_consistent(model, std::move(guess), start.tolerance);
  if (auto fine = expect_consistent(model, guess, start.tolerance); !fine) {
    Error error = fine.error();
    error.what += "; say consistent = \"project\" to move the start onto the joints";
    return tl::unexpected(error);
  }
  return guess;
}

}  // namespace invar
