// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/spanning_tree.hpp"

#include <algorithm>
#include <numeric>

#include "invar/base/disjoint_sets.hpp"

namespace invar {
namespace {

// Joints in the order in which they may enter the tree. Names settle ties: the order of a file must not matter.
std::vector<int> by_worth(const Model& model, const std::vector<bool>& prefer) {
  std::vector<int> order;
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j)
    if (model.joints()[j].rows() > 0) order.push_back(j);
  const auto worth = [&](int j) {
    const Joint& joint = model.joints()[j];
    return (joint.cut ? 0 : 100) + (!prefer.empty() && prefer[j] ? 1000 : 0) + 2 * joint.rows() + (joint.has_armature() ? 1 : 0);
  };
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return worth(a) != worth(b) ? worth(a) > worth(b) : model.joints()[a].name < model.joints()[b].name;
  });
  return order;
}

}  // namespace

bool is_massless(const Model& model, int body) {
  if (body == kWorld) return false;
  const Inertia& inertia = model.bodies()[body].inertia;
  return inertia.mass == 0 && inertia.I_C.isZero(0);
}

std::vector<bool> joints_of_massless_bodies(const Model& model) {
  std::vector<bool> out;
  for (const Joint& joint : model.joints()) out.push_back(is_massless(model, joint.parent) || is_massless(model, joint.child));
  return out;
}

// Each root must be the one that is chosen when all bodies from its part on are left: the heaviest, of equal ones the first.
bool still_spans(const SpanningTree& tree, const Model& model) {
  const auto mass = [&](int b) { return model.bodies()[b].inertia.mass; };
  for (std::size_t r = 0; r < tree.nodes.size(); ++r) {
    if (tree.nodes[r].joint >= 0) continue;
    const int root = tree.nodes[r].body;
    for (std::size_t i = r; i < tree.nodes.size(); ++i) {
      const int b = tree.nodes[i].body;
      if (mass(b) > mass(root) || (mass(b) == mass(root) && b < root)) return false;
    }
  }
  return true;
}

SpanningTree spanning_tree(const Model& model, const std::vector<bool>& prefer) {
  const int n = static_cast<int>(model.bodies().size());
  const auto index = [n](int body) { return body == kWorld ? n : body; };

  // Choose the tree's joints, the most valuable first.
  SpanningTree tree;
  DisjointSets components(n + 1);
  std::vector<std::vector<int>> at(n + 1);  // tree joints at each body
  for (const int j : by_worth(model, prefer)) {
    const Joint& joint = model.joints()[j];
    if (components.join(index(joint.parent), index(joint.child))) {
      at[index(joint.parent)].push_back(j);
      at[index(joint.child)].push_back(j);
    } else {
      tree.closures.push_back(j);
    }
  }
  std::sort(tree.closures.begin(), tree.closures.end(),
            [&](int a, int b) { return model.joints()[a].name < model.joints()[b].name; });
  for (auto& joints : at) std::sort(joints.begin(), joints.end(), std::greater<>());  // the stack below reverses

  // Walk it from the ground, then from the heaviest body of every floating component: a light root would see its own mass
  // as a small difference of what hangs on it.
  tree.node_of_body.assign(n, -1);
  std::vector<TreeNode> stack;
  const auto expand = [&](int body, int node) {
    for (const int j : at[index(body)]) {
      const Joint& joint = model.joints()[j];
      const bool reversed = joint.child == body;
      const int outer = reversed ? joint.parent : joint.child;
      if (outer == kWorld || tree.node_of_body[outer] >= 0) continue;
      stack.push_back({outer, node, j, reversed});
    }
  };
  const auto walk = [&] {
    while (!stack.empty()) {
      const TreeNode node = stack.back();
      stack.pop_back();
      if (tree.node_of_body[node.body] >= 0) continue;
      const int id = static_cast<int>(tree.nodes.size());
      tree.node_of_body[node.body] = id;
      tree.nodes.push_back(node);
      expand(node.body, id);
    }
  };
  expand(kWorld, -1);
  walk();
  while (static_cast<int>(tree.nodes.size()) < n) {
    int root = -1;
    for (int b = 0; b < n; ++b)
      if (tree.node_of_body[b] < 0 && (root < 0 || model.bodies()[b].inertia.mass > model.bodies()[root].inertia.mass)) root = b;
    stack.push_back({root, -1, -1, false});
    walk();
  }
  return tree;
}

std::vector<int> inner_nodes(const SpanningTree& tree) {
  std::vector<int> inner;
  for (const TreeNode& node : tree.nodes) inner.push_back(node.inner);
  return inner;
}

}  // namespace invar
