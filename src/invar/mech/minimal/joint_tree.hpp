// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/base/status.hpp"
#include "invar/mech/bodies.hpp"
#include "invar/mech/minimal/closure_choice.hpp"
#include "invar/mech/minimal/loop_block.hpp"
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
  JointTree(const JointTree&) = delete;
  JointTree& operator=(const JointTree&) = delete;

  using Node = JointNode;
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
  std::size_t node_of_freedom(int freedom) const {
    return static_cast<std::size_t>(node_of_freedom_[static_cast<std::size_t>(freedom)]);
  }
  /// A freedom of a joint of the model; -1 where the joint is outside the tree.
  int freedom_of_joint(int joint, int k) const {
    const int first = freedom_of_joint_[static_cast<std::size_t>(joint)];
    return first < 0 ? -1 : first + k;
  }
  /// The freedoms that move one body of a joint and not the other, ascending; and the nodes between two bodies, outwards.
  std::vector<LoopFreedom> loop_of_joint(int joint) const;
  std::vector<std::size_t> nodes_between(int a, int b) const;
  /// Whether a freedom is an angle, or the rate of one.
  bool turning(int freedom) const { return turning_[static_cast<std::size_t>(freedom)]; }
  /// m of motion per unit of a freedom: the model's length for angles, 1 otherwise.
  double size_of(int freedom) const { return turning(freedom) ? model_.length() : 1.0; }
  /// "joint", or "joint.k" where it has several freedoms; "body.k" for a floating root.
  std::string freedom_name(int freedom) const;

  /// Takes the numbers of a model that was edited in place: everything as after construction. False where the spanning tree is
  /// another one now. No heap.
  bool refresh();

  /// Coordinates and rates of the tree at bodies; angles on the turn nearest to `wound` (per freedom of the model).
  void measure(const Bodies& bodies, const VecX& wound, VecX& q, VecX& v) const;
  /// Bodies at coordinates and rates.
  void place(const VecX& q, const VecX& v, Bodies& out) const;
  /// q moved by the tangent u, and what belongs to a velocity there (see Formulation).
  void retract(const VecX& from, const VecX& u, VecX& to) const;
  void pull(const VecX& u, const VecX& v, VecX& u_dot) const;
  /// Moves some freedoms of q by as many increments.
  void move(const std::vector<int>& freedoms, const VecX& by, VecX& q) const;
  /// dv/dt of the tree's freedoms out of accelerations of bodies, which were completed or placed last.
  void rates(const Bodies& bodies, const Accelerations& accelerations, VecX& vdot) const {
    kinematics_.rates(bodies, accelerations, vdot);
  }

  /// Decides which freedoms depend, at coordinates that meet the rows: the largest pivots of Φ_q, metres and radians made
  /// comparable by the length of the loops; of pivots nearly as large, freedoms of few loops; freedoms that were named as
  /// independent are taken last. And in which order: groups of loops follow from each other where they can (closure_choice.hpp).
  /// `wound` tells turns of joints outside the tree (empty: within half a turn); `dependent` how many freedoms depend, where that
  /// is known from the rank of all equations (-1: decided here); `as_named` false: whatever was named. Allocates.
  Verdict choose(const VecX& q, const VecX& wound = {}, int dependent = -1, bool as_named = true);
  const std::vector<int>& independent() const { return independent_; }
  const std::vector<int>& dependent() const { return dependent_; }
  /// Whether all independent freedoms are those that were named, and whether any is.
  bool as_wanted() const;
  bool any_wanted() const;
  /// Smallest over largest pivot of Φ_d when it was factored last, in the worst of the groups of loops.
  double condition() const;
  int weakest_joint() const;
  /// How many freedoms follow together, at most: the rest one group after the other.
  int largest_group() const;
  /// A state of the motion, where choose or complete was last: branches are told from here on, and overconstrained loops keep
  /// rows that are good here (see LoopBlock). A joint of a group of loops that has turned over since; -1: none has.
  Verdict anchor(const VecX& q, const VecX& wound);
  int turned_over() const;
  /// How much two sets of rates differ in what depends, in the worst group of loops: in parts of its speeds, and not counting
  /// what is below `rest` (rad/s, or its lengths per second).
  double disagreement(const VecX& one, const VecX& other, double rest) const;
  /// The largest entry of E there, metres and radians made comparable: how much faster than an independent freedom one moves.
  double gain() const;

  /// Solves Φ = 0 for the dependent coordinates from where they are, and sets their rates; `bodies` are then those of q, v.
  /// `wound` tells turns of joints outside the tree.
  Verdict complete(VecX& q, VecX& v, const VecX& wound, Bodies& bodies) const;
  /// The rates and the velocities of bodies when one independent freedom moves at unit rate, where complete was last.
  void move_with(int independent, VecX& v, Bodies& bodies) const;
  /// The motions that v_i = 1 makes: freedoms x independent ones, at bodies. Allocates.
  Verdict motions(const Bodies& bodies, const VecX& wound, MatX& E) const;

  /// A freedom where the tree was placed or completed last.
  ScrewAxis screw(int freedom) const { return kinematics_.screw(node_of_freedom(freedom), freedom); }

 private:
  const Node& node_of(int freedom) const {
    return nodes_[static_cast<std::size_t>(node_of_freedom_[static_cast<std::size_t>(freedom)])];
  }
  void move_node(const Node& n, const VecX& from, const double* u, VecX& to) const;
  std::vector<LoopBlock::Row> all_rows() const;
  void look_at_rows(const Bodies& bodies, const VecX& wound, const VecX& q, std::vector<ClosureRow>& entries,
                    std::vector<std::vector<int>>& touches) const;
  void arrange(const std::vector<LoopBlock::Row>& rows, const std::vector<ClosureGroup>& groups);
  void find_sources();
  void spread() const;

  const Model& model_;
  SpanningTree tree_;
  std::vector<Node> nodes_;
  std::vector<int> node_of_freedom_;
  std::vector<bool> wanted_;   // per freedom: named as independent
  std::vector<bool> turning_;  // per freedom
  int nq_ = 0, nv_ = 0, rows_ = 0;
  std::vector<int> freedom_of_joint_;  // per joint of the model; -1: outside the tree
  std::vector<int> independent_, dependent_;
  std::vector<std::size_t> beyond_;  // nodes with freedoms that depend, and all beyond them

  mutable TreeKinematics kinematics_;
  mutable VecX measured_q_, measured_v_;  // of all joints of the model
  /// A freedom that drives a block: an independent one, or one that depends in an earlier block; and the columns of `motions`
  /// that it brings, per independent freedom that moves it.
  struct Source {
    int freedom, block, row;   // block -1: independent
    std::vector<int> columns;  // of the driven block
  };
  mutable std::vector<LoopBlock> blocks_;     // in the order in which they are closed
  std::vector<bool> rides_;                   // per block: on joints that other blocks move
  bool chained_ = false;                      // some block is driven by freedoms of another
  std::vector<std::vector<Source>> sources_;  // per block
  std::vector<std::vector<int>> reach_;       // per block: independent freedoms that move it, ascending
  mutable std::vector<MatX> motions_;         // per block: rows of E on those, where spread() was last
};

}  // namespace invar
