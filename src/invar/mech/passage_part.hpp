// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/mech/branch.hpp"
#include "invar/mech/kkt_assembly.hpp"

namespace invar {

/// The equations of one connected part of a model while some of its loops pass singular configurations: strong rows of those
/// loops, independent rows of its others, and the complement of the branches' tangents in place of the rows that vanish,
///   J_A a = γ_A,   Ĝ(x)ᵀ v' = -ẋ (dĜ/dx)ᵀ v,    v the rates of the spanning tree.
/// A loop that stands (Branch::stands) has all its freedoms held in place of its rows, at positions, too.
/// Dense in the freedoms of the part; what is not connected with it does not enter. Allocates at construction and in choose.
class PassagePart {
 public:
  /// What is solved for: positions are settled on the rows J_A (and what stands) alone, velocities with Ĝ as well.
  enum class Level { Acceleration, Velocity, Position };

  PassagePart(const Model& model, const Loops& loops, const Scales& scales, const Piece& piece);
  ~PassagePart();

  const Piece& piece() const { return assembly_.piece(); }

  /// The branches of its loops that pass, and the rows that are kept, of these and of its other loops. Branches must stay where
  /// they are until the next call.
  void choose(const std::vector<const Branch*>& branches, const std::vector<Loops::Row>& kept);

  /// Writes what belongs to the part. Reactions (if asked for, of accelerations only) are those of least norm over all rows at
  /// these bodies; they may grow without bound. NoInertia names the body that moves most without any; NotConverged: an answer
  /// that misses its equations by more than 1e-8 of their terms.
  Verdict solve(const Bodies& bodies, const KktInput& input, Level level, Accelerations& accelerations,
                std::vector<Wrench>& reactions);
  /// What the reactions of the last solve miss of Jᵀ F = f - M a, in parts of its terms.
  double unbalanced() const { return unbalanced_; }
  double coupling_effort(int coupling) const { return assembly_.coupling_effort(F_, coupling); }

 private:
  struct Reduction;  // memory of one solve
  void walk(const Bodies& bodies, const KktInput& input);
  void constrain(Level level, Reduction& to);
  void add_border(const Branch& branch, Level level, Eigen::Index first, Reduction& to);
  Verdict reduce(Reduction& r);
  Verdict without_inertia(const Reduction& r) const;
  void react(std::vector<Wrench>& reactions);

  const Model& model_;
  const Loops& loops_;
  KktAssembly assembly_;
  double length_;                                          // m; of the part
  std::vector<int> first_row_of_joint_, row_of_coupling_;  // of the assembly; -1: not in the part
  std::vector<std::size_t> nodes_;                         // of the tree, in the part
  std::vector<int> place_of_body_;                         // per body of the model: in the part
  std::vector<int> column_;                                // per freedom of the tree
  std::vector<const Branch*> branches_;
  std::vector<int> kept_;  // rows of the assembly

  // One solve.
  std::vector<JointAt> at_;  // per joint
  MatX T_;                   // 6 bodies x freedoms of the part: scaled twists
  VecX tau_, x_, F_;         // 6 bodies; 6 bodies; rows
  double unbalanced_ = 0;
  VecX q_, v_;  // of the tree; only what belongs to the part
  MatX G_, dG_;
  VecX border_u_, border_du_, border_v_;
  std::unique_ptr<Reduction> full_, positions_;  // with Ĝ and without
};

}  // namespace invar
