// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/graph_solver.hpp"

namespace invar {

GraphSolver::GraphSolver(const Model& model)
    : assembly_(model), fronts_(assembly_.problem().structure), x_(VecX::Zero(6 * assembly_.problem().structure.bodies())),
      F_(VecX::Zero(assembly_.problem().structure.rows())) {}

// Blocks of the problem back to joints of the model.
Verdict GraphSolver::named(Verdict verdict) const {
  if (verdict.joint >= 0) verdict.joint = assembly_.joint_of_block(verdict.joint);
  return verdict;
}

Verdict GraphSolver::solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations, std::vector<Wrench>& reactions) {
  assembly_.fill(bodies, input);
  Verdict verdict = fronts_.factor(assembly_.problem());
  if (verdict.ok() && fronts_.rank_in_doubt()) {
    verdict = fronts_.decide(assembly_.problem());
    if (verdict.ok()) verdict = fronts_.factor(assembly_.problem());
  }
  if (verdict.ok()) verdict = fronts_.solve(assembly_.problem(), assembly_.force(), assembly_.gamma(), x_, F_);
  if (!verdict.ok()) return named(verdict);
  assembly_.accelerations(x_, accelerations);
  assembly_.reactions(F_, reactions);
  return {};
}

}  // namespace invar
