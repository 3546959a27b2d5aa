// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/mech/formulation.hpp"
#include "invar/mech/graph_solver.hpp"
#include "invar/mech/tree_solver.hpp"

namespace invar {

/// The solver of the unreduced equations of a piece of a model (a connected part, or several without loops): the tree elimination
/// as long as loops are few and pivots are sound, the fronts otherwise (many loops, configurations near a singularity, links
/// without inertia that neither a tree nor its loans hold). The number of independent rows is decided at the first state and
/// again where a settled state gives reason to (stages of a step lie off the constraints, where rows that depend on each other
/// only on them seem not to); an ordinary call compares. Only a decision takes memory. Law: the same accelerations whichever way
/// is taken, to round-off where no row is redundant, and on the constraints; off them every way leaves out rows of its own, so
/// that with redundant rows the way is chosen at settled states and kept through a step.
class PartSolver final : public KktSolver {
 public:
  PartSolver(const Model& model, const Scales& scales, const Piece& piece);

  /// Takes the numbers of a model that was edited in place: everything as after construction, and the rank is decided anew at the
  /// next state. False where the spanning tree is another one now. No heap.
  bool refresh();

  Verdict solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                std::vector<Wrench>& reactions) override;
  double coupling_effort(int coupling) const override { return used_->coupling_effort(coupling); }

  /// Decides the rank anew, couplings on the turns of the last solve; a failure shows again in the next one.
  void count_again(const Bodies& bodies);

  const Piece& piece() const { return piece_; }

  const Mobility& mobility() const { return mobility_; }
  /// Whether there are rows beside those of a spanning tree.
  bool closes_loops() const { return mobility_.rows > tree_rows_; }

  /// See Unreduced::least_norm; only joints and couplings of the piece are written.
  Verdict least_norm(const Bodies& bodies, const KktInput& input, Accelerations& accelerations, std::vector<Wrench>& reactions,
                     VecX& couplings, std::vector<JointVerdict>* verdicts);

  /// The joint graph: rank, self-stresses, reactions of least norm.
  GraphSolver& graph();

 private:
  Verdict decide(const Bodies& bodies, const KktInput& input);
  Verdict solve_graph(const Bodies& bodies, const KktInput& input, Accelerations& accelerations, std::vector<Wrench>& reactions);
  Verdict solve_again(const Bodies& bodies, const KktInput& input, Accelerations& accelerations, std::vector<Wrench>& reactions);
  const VecX* driving_at(const Bodies& bodies);
  void hear(const Bodies& bodies, const KktInput& input);
  void note_rank();
  bool too_lossy(double weakest, bool settled);
  void begin();

  const Model& model_;
  const Scales& scales_;
  Piece piece_;
  int tree_rows_ = 0;
  std::unique_ptr<TreeSolver> tree_;    // none where loops are many
  std::unique_ptr<GraphSolver> graph_;  // made with the tree's first failure where there are no loops
  KktSolver* used_ = nullptr;           // by the last call
  bool decided_ = false;
  double left_seen_ = 0;     // strongest row left out when the rank was decided last
  bool by_graph_ = false;    // since the last settled state
  bool tree_fails_ = false;  // a link without inertia hangs loose in the tree: always take the graph
  bool told_ = false;        // a solve told on which turns couplings are
  VecX driving_;             // per coupling of the model: its driving coordinate then
  VecX q_, v_;               // of one joint at a time
  Mobility mobility_;
};

}  // namespace invar
