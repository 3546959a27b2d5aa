// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/part_solver.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/gaps.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/verdicts.hpp"

namespace invar {
namespace {

// Pivots of closure rows over their own diagonal: squared sines. One elimination loses u / pivot, several times over (up to 30
// seen), so below kLossy, where 1e-12 would no longer be kept, the fronts take over, which refine. Below kWeakRow they treat weak
// rows as a border, and the mechanism counts as nearly singular; rows left out are told from zero above kNoise.
constexpr double kLossy = 1e-3;
constexpr double kLossyInside = 1e-4;  // within a step, where rows are redundant
constexpr double kWeakRow = 1e-6;
constexpr double kNoise = 1e-9;
constexpr double kGrown = 100;

}  // namespace

PartSolver::PartSolver(const Model& model, const Scales& scales, const Piece& piece)
    : model_(model),
      scales_(scales),
      piece_(piece),
      driving_(VecX::Zero(piece.couplings.empty() ? 0 : static_cast<int>(model.couplings().size()))),
      q_(VecX::Zero(piece.couplings.empty() ? 0 : model.nq())),
      v_(VecX::Zero(piece.couplings.empty() ? 0 : model.nv())) {
  const SpanningTree tree = restricted(spanning_tree(model), piece);
  for (const TreeNode& node : tree.nodes)
    if (node.joint >= 0) tree_rows_ += model.joints()[node.joint].rows();
  // The fronts take about a microsecond per body (bench/graph_growth), more in nets.
  if (closure_cost(model, tree, piece) <= 1000.0 * static_cast<double>(piece.bodies.size()))
    tree_ = std::make_unique<TreeSolver>(model, scales, piece, tree);
  begin();
}

// As nothing has been solved yet.
void PartSolver::begin() {
  mobility_ = {};
  mobility_.rows = static_cast<int>(piece_.couplings.size());
  for (const int j : piece_.joints) mobility_.rows += model_.joints()[j].rows();
  mobility_.rank = tree_rows_;
  mobility_.freedoms = 6 * static_cast<int>(piece_.bodies.size()) - tree_rows_;
  decided_ = tree_fails_ = by_graph_ = told_ = false;
  left_seen_ = 0;
  if (tree_ && tree_->closure_rows() == 0)
    used_ = tree_.get();
  else
    used_ = &graph();
}

bool PartSolver::refresh() {
  if (tree_ && !tree_->refresh()) return false;
  if (graph_) graph_->refresh();
  begin();
  return true;
}

GraphSolver& PartSolver::graph() {
  if (!graph_) graph_ = std::make_unique<GraphSolver>(model_, scales_, piece_);
  return *graph_;
}

// What the joint graph decided last, and whether that is a change.
void PartSolver::note_rank() {
  const RankDecision& decision = graph_->decision();
  if (decided_ && decision.rank != mobility_.rank) {
    ++mobility_.changes;
    mobility_.joint = graph_->joint_left_out();
  }
  mobility_.rank = decision.rank;
  mobility_.freedoms = graph_->freedoms();
  mobility_.sigma = decision.sigma;
  decided_ = true;
  if (tree_) tree_->set_closure_rank(mobility_.rank - tree_rows_ + tree_->rotor_rows());
}

Verdict PartSolver::decide(const Bodies& bodies, const KktInput& input) {
  const Verdict verdict = graph().decide(bodies, input);
  if (verdict.ok()) note_rank();
  return verdict;
}

// On the turns of the last solve that told them.
const VecX* PartSolver::driving_at(const Bodies& bodies) {
  if (!told_) return nullptr;
  for (const int c : piece_.couplings) {
    const Coupling& coupling = model_.couplings()[c];
    coordinates_of_joint(model_, coupling.of, bodies, q_, v_);
    const double measured = q_[model_.joints()[coupling.of].q0 + coupling.of_freedom];
    driving_[c] = model_.joints()[coupling.of].winds(coupling.of_freedom) ? nearest_turn(measured, driving_[c]) : measured;
  }
  return &driving_;
}

// Keeps the driving coordinates. The slope of a nonlinear coupling, and with it the rank, is another one on another turn: a rank
// that was decided before anybody told the turns is decided again.
void PartSolver::hear(const Bodies& bodies, const KktInput& input) {
  if (piece_.couplings.empty() || !input.coupling_q) return;
  for (const int c : piece_.couplings) {
    driving_[c] = (*input.coupling_q)[c];
    const Coupling& coupling = model_.couplings()[c];
    if (told_ || !decided_ || coupling.coefficients.size() <= 2) continue;
    coordinates_of_joint(model_, coupling.of, bodies, q_, v_);
    const double measured = q_[model_.joints()[coupling.of].q0 + coupling.of_freedom];
    if (std::abs(driving_[c] - measured) > 1) decided_ = false;
  }
  told_ = true;
}

void PartSolver::count_again(const Bodies& bodies) {
  if (closes_loops() && decided_) decide(bodies, KktInput{.dynamics = false, .coupling_q = driving_at(bodies)});
}

Verdict PartSolver::solve_graph(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                                std::vector<Wrench>& reactions) {
  used_ = &graph();
  if (!decided_) graph().forget();
  const Verdict verdict = graph().solve(bodies, input, accelerations, reactions);
  if (verdict.ok()) note_rank();
  mobility_.sine = std::sqrt(std::max(0.0, graph().weakest()));
  if (!tree_ || tree_fails_) mobility_.near_singular = !graph().decision().border.empty();
  return verdict;
}

// Whether the fronts should take over.
bool PartSolver::too_lossy(double weakest, bool settled) {
  if (mobility_.rank == mobility_.rows) return weakest < kLossy;
  if (settled) by_graph_ = weakest < kLossy;
  return by_graph_ || weakest < kLossyInside;
}

Verdict PartSolver::solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                          std::vector<Wrench>& reactions) {
  hear(bodies, input);
  if (!tree_ || tree_fails_) return solve_graph(bodies, input, accelerations, reactions);
  if (input.again && !input.dynamics) return solve_again(bodies, input, accelerations, reactions);
  used_ = tree_.get();

  // Few loops: one elimination. At the first state the number of independent closure rows is not known yet.
  const bool loops = tree_->closure_rows() > 0;
  if (loops && !decided_)
    if (const Verdict verdict = decide(bodies, input); !verdict.ok()) return verdict;
  Verdict verdict = tree_->solve(bodies, input, accelerations, reactions);
  if (verdict.status == Status::NoInertia) {
    tree_fails_ = true;
    return solve_graph(bodies, input, accelerations, reactions);
  }
  if (!loops) return verdict;

  // Towards a singularity the fronts compute, and watch the rank themselves.
  const double weakest = verdict.status == Status::Singular ? 0 : tree_->weakest_kept();
  mobility_.near_singular = weakest < kWeakRow;
  mobility_.joint = tree_->weakest_joint();
  if (too_lossy(weakest, input.settled)) {
    verdict = solve_graph(bodies, input, accelerations, reactions);
    mobility_.sine = std::sqrt(std::max(0.0, weakest));
    return verdict;
  }
  mobility_.sine = std::sqrt(weakest);
  // A row that was left out stands out of the noise: count again, once for each time that it has grown, or where it contradicts.
  const double left = tree_->strongest_left();
  if (left < kNoise) left_seen_ = 0;
  const bool grown = input.settled && left > kGrown * left_seen_;
  const bool contradicts = left > kNoise && verdict.status == Status::Contradictory;
  if ((left > kNoise && grown) ||
      (contradicts && std::sqrt(left) > noise_of_gaps(model_, scales_, piece_, bodies, input.coupling_q))) {
    const int before = mobility_.rank;
    if (const Verdict v = decide(bodies, input); !v.ok()) return v;
    left_seen_ = left;
    if (mobility_.rank != before) return solve_graph(bodies, input, accelerations, reactions);
  }
  return verdict;
}

// By whichever solver the last answer came from.
Verdict PartSolver::solve_again(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                                std::vector<Wrench>& reactions) {
  const Verdict verdict = used_->solve(bodies, input, accelerations, reactions);
  if (verdict.ok() && used_ != tree_.get()) note_rank();
  return verdict;
}

Verdict PartSolver::least_norm(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                               std::vector<Wrench>& reactions, VecX& couplings, std::vector<JointVerdict>* verdicts) {
  const auto not_told = [&](const Verdict& why) {
    if (verdicts) undetermined_verdicts(model_, scales_, bodies, graph().assembly(), *verdicts);
    return why;
  };
  const Verdict verdict = graph().least_norm(bodies, input, accelerations, reactions, couplings);
  if (!verdict.ok()) return not_told(verdict);
  if (!verdicts) return {};
  const Redundancy redundancy = graph().analyse(bodies, input.coupling_q);
  if (!redundancy.counted()) return not_told(redundancy.verdict);
  joint_verdicts(model_, scales_, bodies, graph().assembly(), redundancy, *verdicts);
  return {};
}

}  // namespace invar
