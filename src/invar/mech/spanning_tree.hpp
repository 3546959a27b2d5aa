// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/model.hpp"

namespace invar {

/// A body in the spanning tree, hanging on its inner body by a joint.
struct TreeNode {
  int body;       ///< index in the model
  int inner;      ///< node it hangs on; -1: the ground, or nothing (floating root)
  int joint;      ///< the joint between them; -1: floating root
  bool reversed;  ///< the joint's child is the inner body
};

/// The part of the body-joint graph without loops. Joints outside it that hold something are closures; free joints hold
/// nothing and are never part of it.
struct SpanningTree {
  std::vector<TreeNode> nodes;    ///< inner bodies first
  std::vector<int> node_of_body;  ///< per body
  std::vector<int> closures;      ///< joints, by name
};

/// Keeps the joints with the most rows in the tree (closures are dear), so a ball is cut before a hinge; joints marked `cut`
/// go first, and names settle ties. So the tree does not depend on the order of a file: which rows of a redundant loop are kept
/// decides what happens to the small errors of a step's stages. A floating part hangs on its heaviest body. Children follow
/// their inner body in depth-first order. `prefer` (per joint, or empty) names joints that must not be cut if others can be.
SpanningTree spanning_tree(const Model& model, const std::vector<bool>& prefer = {});

/// Whether spanning_tree would give this tree again after masses have changed: floating parts still hang on their heaviest
/// bodies, in the same order. No heap.
bool still_spans(const SpanningTree& tree, const Model& model);

/// Whether a body has neither mass nor inertia; the ground has.
bool is_massless(const Model& model, int body);

/// Per joint: whether it holds a body without mass and inertia. In the tree such a body should not be a leaf: it would move
/// nothing.
std::vector<bool> joints_of_massless_bodies(const Model& model);

/// Per node: the node that it hangs on.
std::vector<int> inner_nodes(const SpanningTree& tree);

}  // namespace invar
