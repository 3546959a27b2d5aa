// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/graph_solver.hpp"

#include <cmath>

namespace invar {

GraphSolver::GraphSolver(const Model& model)
    : model_(model),
      length_(model.length()),
      assembly_(model),
      fronts_(assembly_.problem().structure),
      x_(VecX::Zero(6 * assembly_.problem().structure.bodies())),
      F_(VecX::Zero(assembly_.problem().structure.rows())) {}

void GraphSolver::refresh() {
  length_ = model_.length();
  fronts_.forget();
  x_.setZero();
  F_.setZero();
}

// Blocks of the problem back to joints of the model.
Verdict GraphSolver::named(Verdict verdict) const {
  if (verdict.joint >= 0) verdict.joint = assembly_.joint_of_block(verdict.joint);
  return verdict;
}

Verdict GraphSolver::decide(const Bodies& bodies, const KktInput& input) {
  assembly_.fill(bodies, input);
  Verdict verdict = fronts_.decide(assembly_.problem());
  if (verdict.ok()) verdict = fronts_.factor(assembly_.problem());  // later pivots are compared with those of this state
  return named(verdict);
}

int GraphSolver::joint_left_out() const {
  const std::vector<int>& rows = decision().redundant;
  return rows.empty() ? -1 : assembly_.joint_of_block(assembly_.problem().structure.block_of_row(rows.back()));
}

// Rows that depend on others were left out of the solution; the motion must satisfy them all the same.
Verdict GraphSolver::check_rows_left_out(const Bodies& bodies) {
  if (fronts_.decision().redundant.empty()) return {};
  rest_ = assembly_.gamma();
  const double scale =
      rest_.lpNorm<Eigen::Infinity>() + x_.lpNorm<Eigen::Infinity>() + assembly_.force().lpNorm<Eigen::Infinity>();
  rest_ = -rest_;
  add_jacobian_times(assembly_.problem().structure, assembly_.problem().jacobian, x_, rest_);
  for (const int row : fronts_.decision().redundant)
    if (std::abs(rest_[row]) > kContradiction * (scale + centripetal(bodies, length_)))
      return {Status::Contradictory, -1, assembly_.problem().structure.block_of_row(row), rest_[row]};
  return {};
}

// Factor and solve with the rows decided last.
Verdict GraphSolver::solve_as_decided(const KktInput& input, bool& doubt) {
  Verdict verdict = input.again ? Verdict{} : fronts_.factor(assembly_.problem());
  doubt = verdict.status == Status::Singular || fronts_.weakened() || (input.settled && fronts_.strengthened());
  if (!verdict.ok() || doubt) return verdict;
  verdict = fronts_.solve(assembly_.problem(), assembly_.force(), assembly_.gamma(), x_, F_);
  doubt = verdict.status == Status::NotConverged;
  return verdict;
}

Verdict GraphSolver::solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                           std::vector<Wrench>& reactions) {
  assembly_.fill(bodies, input);
  bool doubt = false;
  const auto solve_anew = [&] {
    Verdict anew = fronts_.decide(assembly_.problem());
    KktInput whole = input;
    whole.again = false;
    if (anew.ok()) anew = solve_as_decided(whole, doubt);
    return anew.ok() && doubt ? Verdict{Status::Singular, -1, fronts_.doubtful_block(), 0} : anew;
  };
  Verdict verdict = solve_as_decided(input, doubt);
  if (doubt) verdict = solve_anew();
  if (verdict.ok() && input.dynamics) verdict = check_rows_left_out(bodies);
  // A row that was left out and has become independent since contradicts nobody.
  if (verdict.status == Status::Contradictory && fronts_.strengthened()) {
    verdict = solve_anew();
    if (verdict.ok()) verdict = check_rows_left_out(bodies);
  }
  if (!verdict.ok()) return named(verdict);
  assembly_.accelerations(x_, accelerations);
  assembly_.reactions(F_, reactions);
  return {};
}

Redundancy GraphSolver::analyse(const Bodies& bodies) {
  assembly_.fill(bodies, KktInput{});
  return invar::analyse(assembly_.problem(), fronts_);
}

Redundancy GraphSolver::least_norm(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                                   std::vector<Wrench>& reactions, VecX& couplings) {
  Redundancy redundancy = analyse(bodies);
  if (redundancy.self_stresses == 0) return redundancy;
  assembly_.fill(bodies, input);
  const KktProblem& problem = assembly_.problem();
  VecX x = assembly_.motion(accelerations);
  VecX F = redundancy.least_norm(assembly_.multipliers(x, reactions, couplings));

  // One step of refinement on both residuals: of the elimination, and of self-stresses that are known to some 1e-12 only.
  VecX rf(x.size()), rg(F.size()), dx = VecX::Zero(x.size()), dF = VecX::Zero(F.size());
  kkt_residual(problem, assembly_.force(), assembly_.gamma(), x, F, rf, rg);
  if (fronts_.factor(problem).ok() && fronts_.solve(problem, rf, rg, dx, dF).ok()) x += dx, F = redundancy.least_norm(F + dF);
  assembly_.accelerations(x, accelerations);
  assembly_.reactions(F, reactions);
  for (int c = 0; c < couplings.size(); ++c) couplings[c] = assembly_.coupling_effort(F, c);
  return redundancy;
}

}  // namespace invar
