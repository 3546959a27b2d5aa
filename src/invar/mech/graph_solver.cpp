// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/graph_solver.hpp"

#include <cmath>

namespace invar {

GraphSolver::GraphSolver(const Model& model)
    : length_(model.length()),
      assembly_(model),
      fronts_(assembly_.problem().structure),
      x_(VecX::Zero(6 * assembly_.problem().structure.bodies())),
      F_(VecX::Zero(assembly_.problem().structure.rows())) {}

// Blocks of the problem back to joints of the model.
Verdict GraphSolver::named(Verdict verdict) const {
  if (verdict.joint >= 0) verdict.joint = assembly_.joint_of_block(verdict.joint);
  return verdict;
}

// Rows that depend on others were left out of the solution; the motion must satisfy them all the same.
Verdict GraphSolver::check_rows_left_out() {
  if (fronts_.decision().redundant.empty()) return {};
  rest_ = assembly_.gamma();
  const double scale =
      rest_.lpNorm<Eigen::Infinity>() + x_.lpNorm<Eigen::Infinity>() + assembly_.force().lpNorm<Eigen::Infinity>();
  rest_ = -rest_;
  add_jacobian_times(assembly_.problem().structure, assembly_.problem().jacobian, x_, rest_);
  for (const int row : fronts_.decision().redundant)
    if (std::abs(rest_[row]) > kContradiction * (scale + length_))
      return {Status::Contradictory, -1, assembly_.problem().structure.block_of_row(row), rest_[row]};
  return {};
}

Verdict GraphSolver::solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                           std::vector<Wrench>& reactions) {
  assembly_.fill(bodies, input);
  Verdict verdict = fronts_.factor(assembly_.problem());
  if (verdict.ok() && fronts_.rank_in_doubt()) {
    verdict = fronts_.decide(assembly_.problem());
    if (verdict.ok()) verdict = fronts_.factor(assembly_.problem());
  }
  if (verdict.ok()) verdict = fronts_.solve(assembly_.problem(), assembly_.force(), assembly_.gamma(), x_, F_);
  if (verdict.ok() && input.dynamics) verdict = check_rows_left_out();
  if (!verdict.ok()) return named(verdict);
  assembly_.accelerations(x_, accelerations);
  assembly_.reactions(F_, reactions);
  return {};
}

}  // namespace invar
