// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/term/obstacle.hpp"

namespace invar {

ObstacleTerm::ObstacleTerm(const Model& model, std::vector<int> bodies, Sharing sharing, std::vector<int> obstacles,
                           std::vector<std::string> names, int bumps, double reach)
    : bodies_(std::move(bodies)), obstacles_(std::move(obstacles)), names_(std::move(names)), bumps_(bumps), reach_(reach) {
  std::vector<std::string> of;
  for (const int b : bodies_) of.push_back(model.body_name(b));
  classes_ = classes_of(of, sharing, "all bodies");
}

std::string ObstacleTerm::label(int k) const {
  const int bump = k % bumps_, rest = k / bumps_;
  return "bump " + std::to_string(bump + 1) + " of obstacle '" + names_[static_cast<std::size_t>(rest / classes_.count())] +
         "' on '" + classes_.names[static_cast<std::size_t>(rest % classes_.count())] + "'";
}

}  // namespace invar
