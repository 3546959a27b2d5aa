// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "invar/model/model.hpp"

namespace invar::bench {

/// How MuJoCo sees a model: joints that carry a body, in the order of the file, and closures among the rest.
struct MjcfTree {
  std::vector<int> joint_of_body;  ///< per body: the first joint of the file that leads to it; -1: floats freely
  std::vector<int> closures;       ///< ball joints that close loops: `connect` constraints
};

/// Refuses, by name, what MuJoCo has no word for or this translation does not need (screws, couplings, stops, friction).
Result<MjcfTree> mjcf_tree(const Model& model);

/// The same mechanism in MuJoCo's language, drawn at joint coordinates zero; names are kept. No contacts, no geometry.
/// Connect constraints are as stiff as MuJoCo allows (impedance 0.9999); their anchors must be set after loading, see Mujoco.
std::string to_mjcf(const Model& model, const MjcfTree& tree);

}  // namespace invar::bench
