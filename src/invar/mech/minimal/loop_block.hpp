// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "invar/base/status.hpp"
#include "invar/mech/minimal/tree_kinematics.hpp"

namespace invar {

class JointTree;

/// A freedom of a tree that moves one body of a joint outside it and not the other: side 1 its child, -1 its parent.
struct LoopFreedom {
  int freedom, side;
};

/// Loops and couplings that are closed together, after those whose freedoms they ride on and apart from all others. Newton's
/// method moves a small linkage only: the joints with freedoms that depend, everything between them rigid as it was placed. Where
/// there is a closed form (closed_form.hpp) it takes its place, and Newton's method confirms it.
///   q_d = Ξ(q_i):  Φ_d δ = -Φ,       v_d = E v_i:  Φ_d E = -Φ_i
/// Overconstrained loops have more rows than freedoms that depend; the rows agree. As many rows are kept as freedoms depend, and
/// solved with (LU). Kept rows may lose rank where all rows together do not (Bennett's linkage): where the kept ones are no
/// longer nearly as good as when they were taken, or seem to have turned over, all rows are solved in the least-squares sense
/// (QR), with the same answer to round-off. anchor() then keeps other rows. No heap after construction.
class LoopBlock {
 public:
  struct Row {
    int item;   ///< joint outside the tree, or coupling
    int which;  ///< row of the joint; -1: the item is a coupling
  };
  /// Rows that are kept, rows that follow from them, and as many freedoms that depend (of the tree) as rows are kept.
  LoopBlock(const JointTree& tree, const std::vector<Row>& kept, const std::vector<Row>& others, std::vector<int> dependent);

  /// Solves for the coordinates that depend, from where q has them and the tree stands; `bodies` are those of it.
  Verdict close(const JointTree& tree, const Bodies& bodies, const VecX& wound, VecX& q);
  /// Rows and factors at coordinates that bodies have.
  Verdict look(const JointTree& tree, const Bodies& bodies, const VecX& wound, const VecX& q);

  /// What follows belongs to the place that was closed or looked at last.
  /// A state of the motion: branches are told from here on, and the rows kept are good ones here. Fails where a row that should
  /// follow from those kept does not hold: the rank that was chosen is not that of the loops.
  Verdict anchor(const JointTree& tree, const VecX& wound, const VecX& q);
  /// Corrects the rates that depend, which `bodies` have at present.
  void rates(const JointTree& tree, const Bodies& bodies, VecX& v);
  /// Rates of the freedoms that depend per unit rate of another freedom.
  const VecX& motion(const JointTree& tree, int freedom);
  /// What a row sees of a freedom, in pure numbers, and how much it would be if nothing cancelled.
  double entry(std::size_t row, int freedom, const ScrewAxis& s) const;
  double entry_size(std::size_t row, int freedom, const ScrewAxis& s) const;
  /// Freedoms that a row can ever see; ascending.
  std::vector<int> seen_by(std::size_t row) const;

  /// Whether the loops ride on a joint with such a freedom (of another block): what was computed where the bodies stood before
  /// that joint was moved is then seen from the wrong place, and has to be looked at again.
  bool rides_on(const JointTree& tree, const std::vector<int>& freedoms) const;
  /// Freedoms on these loops that do not depend, or depend in other blocks.
  const std::vector<int>& driving() const { return driving_; }
  const std::vector<int>& dependent() const { return dependent_; }
  /// Nodes of the tree on the loops, outwards; all else is common to both ends of every loop.
  const std::vector<std::size_t>& nodes() const { return nodes_; }
  /// m; root mean square distance of joint points from centres of mass, over the joints of the loops. Angles are measured by it.
  double length() const { return length_; }
  double size_of(const JointTree& tree, int freedom) const;
  /// Smallest over largest pivot of Φ_d, made comparable by the length, and the freedom of the smallest.
  double condition() const { return condition_; }
  int weakest_freedom() const { return weakest_; }
  /// Whether det Φ_d has another sign than at the anchor: it cannot change along a motion that meets no singular configuration.
  /// With more rows than freedoms, that of Q₀ᵀ Φ_d, Q₀ an orthonormal basis of the range of Φ_d at the anchor.
  bool turned_over() const { return anchored_ != 0 && orientation_ != anchored_; }

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
    std::vector<LoopFreedom> loop;  // by freedom
    std::vector<int> sides;         // per freedom that depends; 0: it moves both bodies or none
    Pose F, M;                      // World
  };
  /// What a row adds up: `factor` times the rate of a freedom of the tree, or the twist of a cut joint along (w; v) at M.
  struct Term {
    int cut = -1, freedom = -1;  // one of them
    double factor = 0;
    Vec3 w = Vec3::Zero(), v = Vec3::Zero();
  };
  struct RowAt {
    Row row;
    int rank;                   // in the order given
    std::array<Term, 2> terms;  // the second has factor 0 where there is one only
  };

  std::size_t kept() const { return dependent_.size(); }
  bool tall() const { return rows_.size() > kept(); }
  void add_row(const JointTree& tree, const Row& row);
  int cut_of(const JointTree& tree, int joint);
  int element_at(const JointTree& tree, int body) const;
  Side side_of(const JointTree& tree, int body, const Pose& X_BF) const;
  void find_nodes(const JointTree& tree);
  void measure_length(const JointTree& tree);
  void find_pin(const JointTree& tree);

  void arrange(const JointTree& tree, const Bodies& bodies);
  void place(const JointTree& tree, const VecX& q);
  void evaluate(const JointTree& tree, const VecX& q, const VecX& wound, std::size_t first, std::size_t last);
  void joint_rows(const JointTree& tree, std::size_t first, std::size_t last);
  void coupling_row(const JointTree& tree, std::size_t row, const VecX& q, const VecX& wound);
  double side_of_coupling(const JointTree& tree, Term& term, int joint, int freedom, const VecX& q, const VecX& wound) const;
  double along(const Term& term, int freedom, const ScrewAxis& s) const;
  double size_along(const Term& term, int freedom, const ScrewAxis& s) const;
  bool by_ruler_and_compass(const JointTree& tree, const Bodies& bodies);
  double noise_of_positions() const;
  double residual() const;

  void fill(MatX& phi) const;
  bool factor(const JointTree& tree, const VecX& q, const VecX& wound);
  bool factor_kept();
  bool factor_all();
  bool decompose();
  void keep_strongest();
  void take_basis();
  void solve();
  void solve_all();
  Verdict verdict(const JointTree& tree, Status status, double value) const;

  std::vector<RowAt> rows_;  // kept ones first
  std::vector<int> dependent_, driving_;
  std::vector<Element> elements_;
  std::vector<Cut> cuts_;
  std::vector<std::size_t> nodes_;
  std::vector<ScrewAxis> screws_;  // per dependent freedom
  std::vector<double> units_;      // per dependent freedom: 1 / its size
  double length_ = 1;
  int pin_ = -1;  // cut joint of all rows kept, where there are two or three hinges and sliders: perhaps there is a closed form
  MatX lu_;
  std::vector<int> exchange_;
  VecX residual_, step_;  // per row; per row, solutions in front
  double condition_ = 1;
  int weakest_ = -1, orientation_ = 0;
  int anchored_ = 0;  // orientation at the anchor; 0: there was none
  double anchored_condition_ = 0;
  bool by_all_ = false;  // the factors are those of all rows

  // Only where there are more rows than freedoms: all rows, their decomposition (Householder vectors below R), the basis at the
  // anchor.
  MatX all_, qr_, anchor_;
  VecX tau_, solution_;
  std::vector<int> order_;  // of columns in qr_
};

}  // namespace invar
