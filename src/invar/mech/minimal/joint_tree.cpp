// SPDX-License-Identifier: Apache-2.0
//
// Structure and coordinates; loops are in joint_tree_loops.cpp, kinematics in tree_kinematics.cpp.
#include "invar/mech/minimal/joint_tree.hpp"

#include <algorithm>

#include "invar/mech/kinematics.hpp"
#include "invar/model/joint/table.hpp"

namespace invar {
namespace {

// Freedoms of joints that the file calls independent.
std::vector<int> independent_of(const Model& model) {
  std::vector<int> out;
  for (const Joint& joint : model.joints())
    for (int k = 0; joint.independent && k < joint.nv; ++k) out.push_back(joint.v0 + k);
  return out;
}

// Joints that must be in the tree for that; and sliders, because loops that close in a hinge have closed forms.
std::vector<bool> holding(const Model& model, const std::vector<int>& freedoms) {
  std::vector<bool> out;
  for (const Joint& joint : model.joints())
    out.push_back((joint.facts->is_slide() && !joint.cut) ||
                  std::any_of(freedoms.begin(), freedoms.end(), [&](int f) { return f >= joint.v0 && f < joint.v0 + joint.nv; }));
  return out;
}

std::vector<JointNode> nodes_of(const Model& model, const SpanningTree& tree) {
  std::vector<JointNode> out;
  int nq = 0, nv = 0;
  for (const TreeNode& t : tree.nodes) {
    JointNode n{t.body, t.inner, t.joint, t.reversed, &floating_facts(), nq, nv, 7, 6};
    if (t.joint >= 0) {
      const Joint& joint = model.joints()[static_cast<std::size_t>(t.joint)];
      n.facts = joint.facts.get(), n.nq = joint.nq, n.nv = joint.nv;
    }
    nq += n.nq, nv += n.nv;
    out.push_back(n);
  }
  return out;
}

}  // namespace

JointTree::JointTree(const Model& model) : JointTree(model, independent_of(model)) {}

JointTree::JointTree(const Model& model, const std::vector<int>& independent)
    : model_(model),
      tree_(spanning_tree(model, holding(model, independent))),
      nodes_(nodes_of(model, tree_)),
      freedom_of_joint_(model.joints().size(), -1),
      kinematics_(model, nodes_) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& n = nodes_[i];
    for (int k = 0; k < n.nv; ++k) {
      node_of_freedom_.push_back(static_cast<int>(i));
      turning_.push_back(n.facts->turns(k));
      const int of_model = n.joint < 0 ? -1 : model.joints()[static_cast<std::size_t>(n.joint)].v0 + k;
      wanted_.push_back(of_model >= 0 && std::find(independent.begin(), independent.end(), of_model) != independent.end());
      independent_.push_back(n.v0 + k);
    }
    if (n.joint >= 0) freedom_of_joint_[static_cast<std::size_t>(n.joint)] = n.v0;
    nq_ += n.nq, nv_ += n.nv;
  }
  for (const int j : tree_.closures) rows_ += model.joints()[static_cast<std::size_t>(j)].rows();
  rows_ += static_cast<int>(model.couplings().size());
}

std::string JointTree::freedom_name(int freedom) const {
  const Node& n = node_of(freedom);
  const std::string& name = n.joint < 0 ? model_.body_name(n.body) : model_.joints()[static_cast<std::size_t>(n.joint)].name;
  return n.nv == 1 ? name : name + "." + std::to_string(freedom - n.v0);
}

void JointTree::measure(const Bodies& bodies, const VecX& wound, VecX& q, VecX& v) const {
  q.resize(nq_);
  v.resize(nv_);
  VecX &all_q = measured_q_, &all_v = measured_v_;
  all_q.setZero(model_.nq());
  all_v.setZero(model_.nv());
  joint_coordinates(model_, bodies, all_q, all_v);
  unwind(model_, wound, all_q);
  for (const Node& n : nodes_) {
    if (n.joint < 0) {
      const BodyState& s = bodies[static_cast<std::size_t>(n.body)];
      q.segment<7>(n.q0) << s.p_WC, s.q_WB.w(), s.q_WB.x(), s.q_WB.y(), s.q_WB.z();
      v.segment<6>(n.v0) << s.v_WC, s.w_WB;
      continue;
    }
    const Joint& joint = model_.joints()[static_cast<std::size_t>(n.joint)];
    q.segment(n.q0, n.nq) = all_q.segment(joint.q0, n.nq);
    v.segment(n.v0, n.nv) = all_v.segment(joint.v0, n.nv);
  }
}

void JointTree::place(const VecX& q, const VecX& v, Bodies& out) const {
  out.resize(model_.bodies().size());
  kinematics_.place(q, v, out);
}

// One node of q moved by its nv numbers.
void JointTree::move_node(const Node& n, const VecX& from, const double* u, VecX& to) const {
  const auto turn = [&](int at, const double* w) {
    const Quat q(from[at], from[at + 1], from[at + 2], from[at + 3]);
    const Quat r = turned(q, Vec3(w[0], w[1], w[2]));
    to.segment<4>(at) << r.w(), r.x(), r.y(), r.z();
  };
  const int ball = n.facts->ball(), plain = ball < 0 ? n.nq : ball;
  for (int k = 0; k < plain; ++k) to[n.q0 + k] = from[n.q0 + k] + u[k];
  if (ball >= 0) turn(n.q0 + ball, u + ball);
}

void JointTree::retract(const VecX& from, const VecX& u, VecX& to) const {
  to.resize(nq_);
  for (const Node& n : nodes_) move_node(n, from, u.data() + n.v0, to);
}

void JointTree::move(const std::vector<int>& freedoms, const VecX& by, VecX& q) const {
  for (std::size_t i = 0; i < freedoms.size();) {
    const Node& n = node_of(freedoms[i]);
    double u[6] = {};
    for (; i < freedoms.size() && freedoms[i] < n.v0 + n.nv; ++i) u[freedoms[i] - n.v0] = by[static_cast<Eigen::Index>(i)];
    move_node(n, q, u, q);
  }
}

// R = exp(u) R_0, rates in the first frame: u' = dexp⁻¹(u) w.
void JointTree::pull(const VecX& u, const VecX& v, VecX& u_dot) const {
  u_dot = v;
  for (const Node& n : nodes_) {
    const int at = n.facts->ball() < 0 ? -1 : n.v0 + n.facts->ball();
    if (at >= 0) u_dot.segment<3>(at).noalias() = dexp_inv_so3(u.segment<3>(at)) * v.segment<3>(at);
  }
}

std::vector<std::size_t> JointTree::nodes_between(int a, int b) const {
  std::vector<std::size_t> out;
  int i = a == kWorld ? -1 : node_of_body(a), k = b == kWorld ? -1 : node_of_body(b);
  // Inner nodes have smaller numbers: the outer one of the two goes inwards until both are the same.
  while (i != k) {
    int& outer = i > k ? i : k;
    out.push_back(static_cast<std::size_t>(outer));
    outer = nodes_[static_cast<std::size_t>(outer)].inner;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<LoopFreedom> JointTree::loop_of_joint(int joint) const {
  const Joint& j = model_.joints()[static_cast<std::size_t>(joint)];
  std::vector<LoopFreedom> out;
  int child = j.child == kWorld ? -1 : node_of_body(j.child), parent = j.parent == kWorld ? -1 : node_of_body(j.parent);
  while (child != parent) {
    const bool on_child = child > parent;
    int& outer = on_child ? child : parent;
    const Node& n = nodes_[static_cast<std::size_t>(outer)];
    for (int k = n.v0 + n.nv - 1; k >= n.v0; --k) out.push_back({k, on_child ? 1 : -1});
    outer = n.inner;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

bool JointTree::refresh() {
  if (!still_spans(tree_, model_)) return false;
  independent_.resize(static_cast<std::size_t>(nv_));
  for (int i = 0; i < nv_; ++i) independent_[static_cast<std::size_t>(i)] = i;
  dependent_.clear(), beyond_.clear(), blocks_.clear(), rides_.clear(), sources_.clear(), reach_.clear(), motions_.clear();
  kinematics_.refresh();
  return true;
}

}  // namespace invar
