// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "invar/mech/bodies.hpp"

namespace invar::bench {

/// One line of the speed table.
struct Case {
  std::string name;
  Model model;
  bool with_peer = true;  ///< whether MuJoCo can and should run it
  double bar_debian = 0;  ///< wanted ratio of our time over Debian's MuJoCo; 0: none stated
  double bar_native = 0;  ///< and over the native rebuild
};

/// Chains made of the links of models/ring*.toml (hinges about z, y, x, z, ... on the ground, or balls on a floating root) and
/// the closed mechanisms of `models` as they are.
Result<std::vector<Case>> cases(const std::string& models);

/// A configuration that satisfies all joints, moving; `moving` false: at rest. Trees are drawn freely, loops around their start.
Result<Bodies> random_state(const Model& model, std::uint64_t number, bool moving);

}  // namespace invar::bench
