// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "invar/base/status.hpp"
#include "invar/mech/minimal/tree_kinematics.hpp"

namespace invar {

class JointTree;

/// Loops and couplings that share freedoms which depend: they are closed together, and apart from all others. Newton's method
/// moves a small linkage only: the joints with freedoms that depend, everything between them rigid as it was placed. Where there
/// is a closed form (closed_form.hpp) it takes its place, and Newton's method confirms it.
///   q_d = Ξ(q_i):  Φ_d δ = -Φ,       v_d = E v_i:  Φ_d E = -Φ_i
/// No heap after construction.
class LoopBlock {
 public:
  struct Row {
    int item;   ///< joint outside the tree, or coupling
    int which;  ///< row of the joint; -1: the item is a coupling
  };
  /// Rows that count, and as many freedoms that depend (of the tree).
  LoopBlock(const JointTree& tree, std::vector<Row> rows, std::vector<int> dependent);

  /// Solves for the coordinates that depend, from where q has them and the tree stands; `bodies` are those of it.
  Verdict close(const JointTree& tree, const Bodies& bodies, const VecX& wound, VecX& q);
  /// Rows and factors at coordinates that bodies have.
  Verdict look(const JointTree& tree, const Bodies& bodies, const VecX& wound, const VecX& q);

  /// What follows belongs to the place that was closed or looked at last.
  /// Corrects the rates that depend, which `bodies` have at present.
  void rates(const JointTree& tree, const Bodies& bodies, VecX& v);
  /// What a row sees of a freedom.
  double entry(std::size_t row, int freedom, const ScrewAxis& s) const {
    return along(terms_[row][0], freedom, s) + along(terms_[row][1], freedom, s);
  }
  /// Rates of the freedoms that depend per unit rate of another freedom.
  const VecX& motion(const JointTree& tree, int freedom);
  /// Whether the loops ride on a joint with such a freedom (of another block): what was computed where the bodies stood before
  /// that joint was moved is then seen from the wrong place, and has to be looked at again.
  bool rides_on(const JointTree& tree, const std::vector<int>& freedoms) const;
  /// Freedoms on these loops that do not depend.
  const std::vector<int>& driving() const { return driving_; }
  const std::vector<int>& dependent() const { return dependent_; }
  /// Smallest over largest pivot of Φ_d, made comparable by the model's length, and the freedom of the smallest.
  double condition() const { return condition_; }
  int weakest_freedom() const { return weakest_; }
  /// Sign of det Φ_d. It cannot change along a motion that meets no singular configuration.
  int orientation() const { return orientation_; }

 private:
  /// The frame of a joint on one of its bodies, seen from the nearest element `before` it, inwards (-1: none).
  struct Side {
    int before;
    Pose from;
    bool rigid;  // nothing that moves lies between: `from` is a constant
  };
  /// A joint with freedoms that depend.
  struct Element {
    std::size_t node;
    Side inner;
    Pose outer;  // World
  };
  /// A joint outside the tree that rows speak of.
  struct Cut {
    int joint;
    Side parent, child;
    std::vector<int> sides;  // per freedom of the tree: 1 it moves the child only, -1 the parent only, 0 both or none
    Pose F, M;               // World
  };
  /// What a row adds up: `factor` times the rate of a freedom of the tree, or the twist of a cut joint along (w; v) at M.
  struct Term {
    int cut = -1, freedom = -1;  // one of them
    double factor = 0;
    Vec3 w = Vec3::Zero(), v = Vec3::Zero();
  };

  int cut_of(const JointTree& tree, int joint);
  int element_at(const JointTree& tree, int body) const;
  Side side_of(const JointTree& tree, int body, const Pose& X_BF) const;
  void arrange(const JointTree& tree, const Bodies& bodies);
  void evaluate(const JointTree& tree, const VecX& q, const VecX& wound);
  void place(const JointTree& tree, const VecX& q);
  void joint_rows(const JointTree& tree, std::size_t first, std::size_t last);
  void coupling_row(const JointTree& tree, std::size_t row, const VecX& q, const VecX& wound);
  double side_of_coupling(const JointTree& tree, Term& term, int joint, int freedom, const VecX& q, const VecX& wound) const;
  double along(const Term& term, int freedom, const ScrewAxis& s) const;
  bool factor(const JointTree& tree);
  bool by_ruler_and_compass(const JointTree& tree, const Bodies& bodies);
  Verdict verdict(const JointTree& tree, Status status, double value) const;

  std::vector<Row> rows_;
  std::vector<int> dependent_, driving_;
  std::vector<Element> elements_;
  std::vector<Cut> cuts_;
  std::vector<std::array<Term, 2>> terms_;  // per row; the second has factor 0 where there is one only
  std::vector<ScrewAxis> screws_;           // per dependent freedom
  bool pins_a_point_ = false;  // one joint outside the tree, two or three hinges and sliders: perhaps there is a closed form
  MatX lu_;
  std::vector<int> exchange_;
  VecX residual_, step_;
  double condition_ = 1;
  int weakest_ = -1, orientation_ = 0;
};

}  // namespace invar
