// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/mech/formulation.hpp"
#include "invar/mech/graph_solver.hpp"
#include "invar/mech/redundancy.hpp"
#include "invar/mech/tree_solver.hpp"

namespace invar {

/// The solver of the unreduced equations for any mechanism: the tree elimination as long as loops are few and pivots are
/// sound, the fronts otherwise (many loops, massless links that a tree leaves hanging, configurations near a singularity).
/// The number of independent rows is decided at the first state and again where a settled state gives reason to (stages of a
/// step lie off the constraints, where rows that depend on each other only on them seem not to); an ordinary call compares. Law:
/// the same accelerations whichever way is taken.
class Unreduced final : public KktSolver {
 public:
  explicit Unreduced(const Model& model);

  Verdict solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                std::vector<Wrench>& reactions) override;
  double coupling_effort(int coupling) const override { return used_->coupling_effort(coupling); }

  const Mobility& mobility() const { return mobility_; }

  /// Self-stresses, shares and groups at these bodies; allocates, for evaluations and reports.
  Redundancy analyse(const Bodies& bodies);
  /// Replaces the reactions and coupling efforts of a solution by those that cause the same motion and have the least sum
  /// of |f|² + |m|²/l² (l = model.length()) at the joint points; accelerations are refined along. Allocates.
  Redundancy least_norm(const Bodies& bodies, const KktInput& input, Accelerations& accelerations, std::vector<Wrench>& reactions,
                        VecX& couplings);
  /// The problem that analyse() looked at last, to read rows back as joints.
  const KktAssembly& assembly() const { return *assembly_; }

 private:
  Verdict decide(const Bodies& bodies, const KktInput& input);
  Verdict solve_graph(const Bodies& bodies, const KktInput& input, Accelerations& accelerations, std::vector<Wrench>& reactions);
  GraphSolver& graph();

  const Model& model_;
  int tree_rows_ = 0;
  std::unique_ptr<TreeSolver> tree_;
  std::unique_ptr<GraphSolver> graph_;     // made when first needed
  std::unique_ptr<KktAssembly> assembly_;  // of the rank decision; made when first needed
  std::unique_ptr<FrontSolver> fronts_;
  KktSolver* used_ = nullptr;  // by the last call
  bool decided_ = false;
  bool tree_fails_ = false;  // a link without inertia hangs loose in the tree: always take the graph
  Mobility mobility_;
};

}  // namespace invar
