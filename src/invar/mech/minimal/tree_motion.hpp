// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/minimal/joint_tree.hpp"

// The motion of a tree with its derivatives, for the sources of this folder only.
namespace invar {

/// Columns of Ṡ in F at rates u.
Columns motion_rate(const Joint& joint, const double* q, const double* u);

/// A freedom of a node as a screw with its derivative along the motion of the bodies.
struct MovingFreedom {
  Vec3 w, v, P, w_dot, v_dot, P_dot;
  Vec6 at(const Vec3& c) const {
    Vec6 out;
    out << w, v + w.cross(c - P);
    return out;
  }
  Vec6 rate_at(const Vec3& c, const Vec3& c_dot) const {
    Vec6 out;
    out << w_dot, v_dot + w_dot.cross(c - P) + w.cross(c_dot - P_dot);
    return out;
  }
};

class TreeMotion {
 public:
  /// As bodies have it.
  TreeMotion(const JointTree& tree, const Bodies& bodies);
  /// At coordinates and rates of the tree. Body frames follow each other, so that no centre of mass has a say, in the last bit
  /// either, in the motion of another body: an edit of one inertia leaves all others as they are.
  TreeMotion(const JointTree& tree, const VecX& q, const VecX& v);

  const Bodies& bodies() const { return bodies_; }

  /// Every freedom on the way from a body to the ground.
  template <class F>
  void on_the_way(int body, F&& f) const {
    for (int i = body == kWorld ? -1 : tree_.node_of_body(body); i >= 0; i = tree_.nodes()[static_cast<std::size_t>(i)].inner) {
      const JointTree::Node& n = tree_.nodes()[static_cast<std::size_t>(i)];
      for (int k = n.v0; k < n.v0 + n.nv; ++k) f(k, freedoms_[static_cast<std::size_t>(k)]);
    }
  }

  /// Body axes at the centre of mass: Jacobian and its derivative.
  void jacobian(int body, MatX& J, MatX& J_dot) const;

  /// Relative twist of a joint in F at its point, and its derivative as seen from F.
  void relative(int j, MatX& G, MatX& G_dot) const;

 private:
  /// Pose and twist of a body frame: what is carried from body to body.
  struct Carrier {
    Pose X;
    Vec3 w = Vec3::Zero(), v = Vec3::Zero();  // of its origin, World
  };
  void place_floating(const JointTree::Node& n, const VecX& q, const VecX& v);
  void place_joint(const JointTree::Node& n, const VecX& q, const VecX& v);
  void add_floating(const JointTree::Node& n);
  void add_joint(const JointTree::Node& n);

  const JointTree& tree_;
  Bodies bodies_;
  std::vector<Carrier> frames_;  // per body
  std::vector<MovingFreedom> freedoms_;
};

}  // namespace invar
