// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/joint_rows.hpp"
#include "invar/mech/minimal/joint_tree.hpp"

namespace invar {

/// Closed loops as rows on the freedoms of a spanning tree: residuals φ(q) of joints outside the tree and of couplings, and their
/// Jacobian Φ = ∂φ/∂q, in groups that share no freedom. Rows of the tree's own joints never depend on each other, so
///   rank of all rows = rows of the tree + Σ rank Φ_g,
/// and a configuration is singular where some Φ_g loses rank. Pure numbers: rows are unit rows at their joints, angles are
/// measured over the length of the group (the largest distance between its joints), so neither units nor other parts matter.
/// Dense and small: for decisions that are rare, not for every step. Construction and close allocate.
class Loops {
 public:
  explicit Loops(const Model& model);
  /// Over the tree that keeps these freedoms of the model.
  Loops(const Model& model, const std::vector<int>& independent);

  struct Row {
    int joint = -1, coupling = -1;  ///< one of them, or none: held
    int which = 0;                  ///< row of the joint, or number of what is held
  };
  /// A freedom that goes along with another one of its group: q = at + ratio (q_leader - leader_at).
  struct Held {
    int freedom = 0, leader = 0;
    double ratio = 0, at = 0, leader_at = 0;
  };
  struct Group {
    std::vector<int> freedoms;  ///< of the tree
    std::vector<Row> rows;
    double length = 0;        ///< m
    VecX scale;               ///< per freedom: m of motion per unit, over `length`: 1 for angles, 1/length for displacements
    std::vector<int> bodies;  ///< that its freedoms move
    int carrier = kWorld;     ///< the body that all of them ride on

    /// Where a freedom of the tree is among those of the group; -1: nowhere.
    Eigen::Index place_of(int freedom) const;
    double scale_of(int freedom) const { return scale[place_of(freedom)]; }
    /// A joint outside the tree that closes it; -1: couplings only.
    int joint() const;
  };

  const Model& model() const { return model_; }
  const JointTree& tree() const { return tree_; }
  const std::vector<Group>& groups() const { return groups_; }
  int tree_rows() const { return tree_rows_; }

  /// Lengths of the groups as they stand at bodies; once, before anything else.
  void measure_lengths(const Bodies& bodies);

  /// Further rows: freedoms with one coordinate each that are held, in place of those that were held before. A path of one
  /// parameter is left of a motion with more freedoms.
  void hold(const std::vector<Held>& held);

  /// Puts the tree where q says; what follows belongs to this place. Turns of its joints are those of q, of joints outside the
  /// tree those nearest to `wound`.
  void place(const VecX& q, const VecX& wound);
  const Bodies& bodies() const { return bodies_; }
  /// Rows of a group (rows x its freedoms, scaled), residuals in parts of its length.
  void jacobian(std::size_t group, MatX& out) const;
  void residual(std::size_t group, VecX& out);

  /// q moved by a scaled tangent of the group's freedoms; the tangent from q to `to`; and its rate, where rates are v.
  void move(std::size_t group, const VecX& by, VecX& q) const;
  void difference(std::size_t group, const VecX& q, const VecX& to, VecX& out) const;
  void rate_of_difference(std::size_t group, const VecX& difference, const VecX& v, VecX& out) const;
  /// Rates of the group's freedoms out of those of the tree, scaled.
  void rates(std::size_t group, const VecX& v, VecX& out) const;

  /// How far the bodies of a group have moved between two states, as seen from the body that carries them: the largest turn, or
  /// displacement over its length. And how fast they do.
  double moved(std::size_t group, const Bodies& from, const Bodies& to) const;
  double speed(std::size_t group, const Bodies& bodies) const;

  /// Closes the group from q nearby by Newton's method over all its rows, taken to have this rank; false where that fails.
  bool close(std::size_t group, int rank, const VecX& wound, VecX& q);

 private:
  void find_groups();
  void find_bodies(Group& g) const;
  double coupling_row(const Group& g, const Coupling& coupling, double& slope) const;
  void entries(const Group& g, const Row& row, const JointAt& at, const Vec6& line, double factor, double* out) const;

  const Model& model_;
  JointTree tree_;
  std::vector<Group> groups_;
  std::vector<Held> held_;
  std::vector<std::vector<int>> sides_;  // per joint outside the tree: per freedom of the tree
  std::vector<int> closure_of_joint_;    // index into sides_; -1: in the tree
  int tree_rows_ = 0;
  VecX wound_, none_;  // per freedom of the model; of the tree
  Bodies bodies_;
  VecX placed_;                       // coordinates of the tree
  VecX q_, v_;                        // of all joints
  mutable std::vector<double> line_;  // per freedom of a group
  mutable VecX by_;                   // per freedom of the tree
};

}  // namespace invar
