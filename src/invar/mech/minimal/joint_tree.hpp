// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/base/status.hpp"
#include "invar/mech/bodies.hpp"
#include "invar/mech/joint_rows.hpp"
#include "invar/mech/spanning_tree.hpp"

namespace invar {

/// The joint coordinates of a spanning tree, and which of its freedoms are independent. The tree's joints place all bodies;
/// joints outside it and couplings are rows on the freedoms,
///   Φ(q) = 0,   Φ_q v = 0,
/// and as many freedoms as there are independent rows depend on the others: q_d = Ξ(q_i), v_d = E v_i, E = -Φ_d⁻¹ Φ_i, B (6)-(7).
/// q holds them all: what depends is kept as the place where its Newton iteration starts, so a branch is followed and never
/// chosen anew, and taking other freedoms as independent ones changes nothing in q. Coordinates of a node are those of its joint
/// (of Free, with M at the centre of mass, for a floating root).
class JointTree {
 public:
  /// Freedoms of the model that shall be independent: those of joints that say so, or these.
  explicit JointTree(const Model& model);
  JointTree(const Model& model, const std::vector<int>& independent);

  struct Node {
    int body, inner;  ///< body of the model; node it hangs on, -1: ground
    int joint;        ///< of the model; -1: floats
    bool reversed;    ///< the joint's child is the inner body
    JointKind kind;
    double pitch;
    int q0, v0, nq, nv;  ///< where its coordinates and freedoms lie
  };
  const Model& model() const { return model_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<int>& closures() const { return tree_.closures; }
  int node_of_body(int body) const { return tree_.node_of_body[static_cast<std::size_t>(body)]; }
  int nq() const { return nq_; }
  int nv() const { return nv_; }
  int rows() const { return rows_; }

  /// Of a freedom: its joint (-1: floats), itself among the freedoms of the model (-1), its coordinate where it has one of its
  /// own.
  int joint_of(int freedom) const { return node_of(freedom).joint; }
  int freedom_of_model(int freedom) const {
    const Node& n = node_of(freedom);
    return n.joint < 0 ? -1 : model_.joints()[static_cast<std::size_t>(n.joint)].v0 + freedom - n.v0;
  }
  int coordinate_of(int freedom) const { return node_of(freedom).q0 + freedom - node_of(freedom).v0; }
  /// "joint", or "joint.k" where it has several freedoms; "body.k" for a floating root.
  std::string freedom_name(int freedom) const;

  /// Coordinates and rates of the tree at bodies; angles on the turn nearest to `wound` (per freedom of the model).
  void measure(const Bodies& bodies, const VecX& wound, VecX& q, VecX& v) const;
  /// Bodies at coordinates and rates.
  void place(const VecX& q, const VecX& v, Bodies& out) const;
  /// q moved by the tangent u, and what belongs to a velocity there (see Formulation).
  void retract(const VecX& from, const VecX& u, VecX& to) const;
  void pull(const VecX& u, const VecX& v, VecX& u_dot) const;
  /// dv/dt of the tree's freedoms out of those of all joints of the model and the accelerations of bodies.
  void take(const VecX& vdot, const Accelerations& accelerations, VecX& out) const;

  /// Decides which freedoms depend, at coordinates that meet the rows: the largest pivots of Φ_q, metres and radians made
  /// comparable by the model's length; freedoms that were named as independent are taken last. Allocates.
  Verdict choose(const VecX& q);
  const std::vector<int>& independent() const { return independent_; }
  const std::vector<int>& dependent() const { return dependent_; }
  /// Whether all independent freedoms are those that were named.
  bool as_wanted() const;
  /// Smallest over largest pivot of Φ_d when it was factored last.
  double condition() const { return condition_; }
  /// The largest entry of E there, metres and radians made comparable: how much faster than an independent freedom one moves.
  double gain() const;
  int weakest_joint() const { return weakest_joint_; }

  /// Solves Φ = 0 for the dependent coordinates from where they are, and sets their rates; `bodies` are then those of q, v.
  /// `wound` tells turns of joints outside the tree.
  Verdict complete(VecX& q, VecX& v, const VecX& wound, Bodies& bodies) const;
  /// The motions that v_i = 1 makes: freedoms x independent ones, at bodies. Factors Φ_d there.
  Verdict motions(const Bodies& bodies, const VecX& wound, MatX& E) const;

  /// A freedom as the twist that it gives to its body and all beyond: World, at `point`.
  struct Screw {
    Vec3 w, v, point;
  };
  Screw screw(int freedom, const Bodies& bodies) const;
  /// Rows on all freedoms at bodies: Φ_q (rows x nv), in the metric that makes rows comparable.
  void jacobian(const Bodies& bodies, const VecX& wound, MatX& out) const;

 private:
  const Node& node_of(int freedom) const {
    return nodes_[static_cast<std::size_t>(node_of_freedom_[static_cast<std::size_t>(freedom)])];
  }
  void place_node(std::size_t i, const VecX& q, const VecX& v, Bodies& out) const;
  void residual(const Bodies& bodies, const VecX& wound, VecX& out) const;
  bool factor() const;

  const Model& model_;
  SpanningTree tree_;
  std::vector<Node> nodes_;
  std::vector<int> node_of_freedom_;
  std::vector<bool> wanted_;   // per freedom: named as independent
  std::vector<double> scale_;  // per freedom: m of motion at the model's length
  int nq_ = 0, nv_ = 0, rows_ = 0;
  std::vector<int> independent_, dependent_, kept_rows_;
  std::vector<int> joint_of_row_;

  // Workspace, and what the last factorization said.
  mutable MatX phi_;                   // rows x nv
  mutable MatX lu_;                    // Φ_d
  mutable std::vector<int> exchange_;  // of its rows
  mutable VecX residual_, step_, tangent_, model_q_, model_v_;
  mutable double condition_ = 1;
  mutable int weakest_joint_ = -1;
};

}  // namespace invar
