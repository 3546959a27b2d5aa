// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/graph_solver.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/gaps.hpp"

namespace invar {
namespace {

constexpr double kRough = 1e-15;      // residual of an elimination from which a step of refinement pays
constexpr double kCorrected = 1e-10;  // residual of a correction from which no step of refinement pays
constexpr double kProjected = 1e-14;  // of the reactions: what their projection may leave over

}  // namespace

GraphSolver::GraphSolver(const Model& model, const Scales& scales, const Piece& piece)
    : model_(model),
      scales_(scales),
      assembly_(model, scales, piece),
      fronts_(assembly_.problem().structure),
      factored_poses_(piece.bodies.size()),
      factored_turns_(VecX::Zero(piece.couplings.empty() ? 0 : static_cast<int>(model.couplings().size()))),
      x_(VecX::Zero(6 * assembly_.problem().structure.bodies())),
      F_(VecX::Zero(assembly_.problem().structure.rows())) {}

// Masses and rows follow from poses and driving coordinates alone.
bool GraphSolver::factored_at(const Bodies& bodies, const VecX* turns) const {
  if (!factored_ || (turns != nullptr) != with_turns_ || (turns && *turns != factored_turns_)) return false;
  const std::vector<int>& own = assembly_.piece().bodies;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const BodyState& b = bodies[static_cast<std::size_t>(own[i])];
    if (b.p_WC != factored_poses_[i].p || b.q_WB.coeffs() != factored_poses_[i].q.coeffs()) return false;
  }
  return true;
}

// A step begins where the last one was settled: its first solve finds the factors of the last one.
Verdict GraphSolver::factor(const Bodies& bodies, const KktInput& input) {
  const std::vector<int>& own = assembly_.piece().bodies;
  const VecX* turns = assembly_.piece().couplings.empty() ? nullptr : input.coupling_q;
  if (factored_at(bodies, turns)) return {};
  const Verdict verdict = fronts_.factor(assembly_.problem());
  factored_ = verdict.ok();
  for (std::size_t i = 0; i < own.size(); ++i) {
    const BodyState& b = bodies[static_cast<std::size_t>(own[i])];
    factored_poses_[i] = {b.q_WB, b.p_WC};
  }
  with_turns_ = turns != nullptr;
  if (turns) factored_turns_ = *turns;
  return verdict;
}

void GraphSolver::refresh() {
  forget();
  x_.setZero();
  F_.setZero();
}

// Blocks of the problem back to joints of the model.
Verdict GraphSolver::named(Verdict verdict) const {
  if (verdict.joint >= 0) verdict.joint = assembly_.joint_of_block(verdict.joint);
  if (verdict.body >= 0) verdict.body = assembly_.body(verdict.body);
  return verdict;
}

KnownRank GraphSolver::known(const Bodies& bodies, const KktInput& input) const {
  if (input.settled || !decided_) return {};
  return {decision().rank, noise_of_gaps(model_, scales_, assembly_.piece(), bodies, input.coupling_q)};
}

Verdict GraphSolver::decide(const Bodies& bodies, const KktInput& input) {
  assembly_.fill(bodies, input);
  factored_ = false;
  Verdict verdict = fronts_.decide(assembly_.problem(), known(bodies, input));
  decided_ = verdict.ok();
  if (verdict.ok()) verdict = factor(bodies, input);  // later pivots are compared with those of this state
  return named(verdict);
}

int GraphSolver::joint_left_out() const {
  const std::vector<int>& rows = decision().redundant;
  return rows.empty() ? -1 : assembly_.joint_of_block(assembly_.problem().structure.block_of_row(rows.back()));
}

// Rows that depend on others were left out of the solution; the motion must satisfy them all the same.
Verdict GraphSolver::check_rows_left_out(const Bodies& bodies, const KktInput& input) {
  if (fronts_.decision().redundant.empty()) return {};
  rest_ = -assembly_.gamma();
  double asked = 0;
  for (int r = 0; r < rest_.size(); ++r) asked = std::max(asked, std::abs(rest_[r]) / fronts_.row_length(r));
  const double scale = asked + x_.lpNorm<Eigen::Infinity>() + assembly_.force().lpNorm<Eigen::Infinity>();
  add_jacobian_times(assembly_.problem().structure, assembly_.problem().jacobian, x_, rest_);
  Contradiction contradiction(model_, scales_, assembly_.piece(), bodies, input.coupling_q, scale);
  for (const int row : fronts_.decision().redundant)
    if (contradiction.proven_by(std::abs(rest_[row]) / fronts_.row_length(row)))
      return {Status::Contradictory, -1, assembly_.problem().structure.block_of_row(row), rest_[row]};
  return {};
}

// Factor and solve with the rows decided last.
Verdict GraphSolver::solve_as_decided(const Bodies& bodies, const KktInput& input, bool& doubt) {
  Verdict verdict = factor(bodies, input);
  doubt =
      verdict.status == Status::Singular || fronts_.weakened() || (input.settled && (fronts_.strengthened() || fronts_.worn()));
  if (!verdict.ok() || doubt) return verdict;
  verdict = fronts_.solve(assembly_.problem(), assembly_.force(), assembly_.gamma(), x_, F_, input.correction ? kCorrected : 0);
  doubt = verdict.status == Status::NotConverged;
  return verdict;
}

Verdict GraphSolver::solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                           std::vector<Wrench>& reactions) {
  assembly_.fill(bodies, input);
  bool doubt = false;
  const auto solve_anew = [&] {
    factored_ = false;
    Verdict anew = fronts_.decide(assembly_.problem(), known(bodies, input));
    decided_ = anew.ok();
    if (anew.ok()) anew = solve_as_decided(bodies, input, doubt);
    return anew.ok() && doubt ? Verdict{Status::Singular, fronts_.doubtful_body(), fronts_.doubtful_block(), 0} : anew;
  };
  Verdict verdict = solve_as_decided(bodies, input, doubt);
  if (doubt) verdict = solve_anew();
  if (verdict.ok() && input.dynamics) verdict = check_rows_left_out(bodies, input);
  // A row that was left out and has become independent since contradicts nobody.
  if (verdict.status == Status::Contradictory && fronts_.strengthened()) {
    verdict = solve_anew();
    if (verdict.ok()) verdict = check_rows_left_out(bodies, input);
  }
  if (!verdict.ok()) return named(verdict);
  decided_ = true;
  assembly_.accelerations(x_, accelerations);
  assembly_.reactions(F_, reactions);
  return {};
}

Redundancy GraphSolver::analyse(const Bodies& bodies, const VecX* coupling_q) {
  const KktInput input{.coupling_q = coupling_q};
  assembly_.fill(bodies, input);
  return analyse_filled(bodies, input);
}

// States between steps, where a recording looks, lie off the constraints like stages.
Redundancy GraphSolver::analyse_filled(const Bodies& bodies, const KktInput& input) {
  if (!analyst_) analyst_ = std::make_unique<FrontSolver>(assembly_.problem().structure);
  return invar::analyse(assembly_.problem(), *analyst_, known(bodies, KktInput{.coupling_q = input.coupling_q}));
}

// Self-stress out of F_. Where a row nearly depends on the others, passes over the bodies do not reach round-off, and what they
// take away would move something: there a basis of the self-stresses serves.
Verdict GraphSolver::project(const Bodies& bodies, const KktInput& input) {
  dF_ = F_;
  least_norm_->project(assembly_.problem(), F_);
  if (least_norm_->residual() <= kProjected) return {};
  const Redundancy redundancy = analyse_filled(bodies, input);
  if (!redundancy.counted()) return named(redundancy.verdict);
  F_ = redundancy.least_norm(dF_);
  return {};
}

Verdict GraphSolver::least_norm(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                                std::vector<Wrench>& reactions, VecX& couplings) {
  if (!least_norm_) {
    least_norm_ = std::make_unique<LeastNorm>(assembly_.problem().structure);
    rf_ = dx_ = VecX::Zero(x_.size());
    rg_ = dF_ = VecX::Zero(F_.size());
  }
  assembly_.fill(bodies, input);
  const KktProblem& problem = assembly_.problem();
  x_ = assembly_.motion(accelerations);
  F_ = assembly_.multipliers(x_, reactions, couplings);
  if (const Verdict verdict = project(bodies, input); !verdict.ok()) return verdict;

  // One step of refinement on both residuals, where the elimination left more than round-off.
  kkt_residual(problem, assembly_.force(), assembly_.gamma(), x_, F_, rf_, rg_);
  for (const int row : decision().redundant) rg_[row] = 0;
  const double scale = assembly_.force().lpNorm<Eigen::Infinity>() + F_.lpNorm<Eigen::Infinity>() + x_.lpNorm<Eigen::Infinity>();
  const bool rough = rf_.lpNorm<Eigen::Infinity>() > kRough * scale || rg_.lpNorm<Eigen::Infinity>() > kRough * scale;
  if (rough && factor(bodies, input).ok() && fronts_.solve(problem, rf_, rg_, dx_, dF_).ok()) {
    x_ += dx_, F_ += dF_;
    if (const Verdict verdict = project(bodies, input); !verdict.ok()) return verdict;
  }
  assembly_.accelerations(x_, accelerations);
  assembly_.reactions(F_, reactions);
  for (const int c : assembly_.piece().couplings) couplings[c] = assembly_.coupling_effort(F_, c);
  return {};
}

}  // namespace invar
