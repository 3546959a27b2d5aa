// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "invar/mech/formulation.hpp"
#include "invar/mech/kkt_solver.hpp"

namespace invar {

struct Scales;
class PartSolver;

/// The solver of the unreduced equations for any mechanism. Every connected part with loops is a mechanism of its own, with its
/// own scales, order, rank and solver (PartSolver): what is not connected does not influence each other, to the bit. Parts
/// without loops are eliminated one after the other anyway and share a solver. Only decisions of rank take memory.
class Unreduced final : public KktSolver {
 public:
  explicit Unreduced(const Model& model);
  ~Unreduced() override;

  /// Takes the numbers of a model that was edited in place: everything as after construction, and the rank is decided anew at the
  /// next state. False where a spanning tree is another one now. No heap.
  bool refresh();

  Verdict solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                std::vector<Wrench>& reactions) override;
  double coupling_effort(int coupling) const override;

  /// Of all parts together: rows, rank and changes are added up, the weakest row is that of the weakest part.
  const Mobility& mobility() const { return mobility_; }
  /// Whether rows may depend on each other at all.
  bool closes_loops() const;

  /// Replaces the reactions and coupling efforts of a solution by those that cause the same motion and have the least sum of
  /// |f|² + |m|²/l² at the joint points, l the length of the connected part; accelerations are refined along. `verdicts` (one per
  /// joint, or null) are filled for joints that carry self-stress. Parts without redundant rows stay as they are, and so do those
  /// whose self-stresses cannot be told: the first of them is returned. Allocates.
  Verdict least_norm(const Bodies& bodies, const KktInput& input, Accelerations& accelerations, std::vector<Wrench>& reactions,
                     VecX& couplings, std::vector<JointVerdict>* verdicts);

  /// The solvers of the pieces, to look at each by itself; bodies and joints are those of the model.
  int pieces() const { return static_cast<int>(parts_.size()); }
  PartSolver& piece(int k);
  const PartSolver& piece(int k) const;

 private:
  void sum_up();

  const Model& model_;
  std::unique_ptr<Scales> scales_;
  std::vector<std::unique_ptr<PartSolver>> parts_;
  std::vector<int> part_of_coupling_;
  Mobility mobility_;
};

}  // namespace invar
