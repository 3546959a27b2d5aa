// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/unreduced.hpp"

#include <algorithm>

namespace invar {
namespace {

// Pivots of closure rows over their own diagonal: squared sines. Below kWeak digits are lost, so the fronts take over, which
// refine and treat weak rows as a border; between the two thresholds of the rank decision nothing needs to be asked.
constexpr double kWeak = 1e-6;
constexpr double kNoise = 1e-9;

}  // namespace

Unreduced::Unreduced(const Model& model) : model_(model) {
  const SpanningTree tree = spanning_tree(model);
  for (const TreeNode& node : tree.nodes)
    if (node.joint >= 0) tree_rows_ += model.joints()[node.joint].rows();
  mobility_.rows = static_cast<int>(model.couplings().size());
  for (const Joint& joint : model.joints()) mobility_.rows += joint.rows();
  mobility_.rank = tree_rows_;
  mobility_.freedoms = 6 * static_cast<int>(model.bodies().size()) - tree_rows_;
  // The fronts take about a microsecond per body (bench/graph_growth), more in nets.
  if (closure_cost(model, tree) <= 1000.0 * static_cast<double>(model.bodies().size()))
    tree_ = std::make_unique<TreeSolver>(model, tree);
  if (tree_)
    used_ = tree_.get();
  else
    used_ = &graph();
}

GraphSolver& Unreduced::graph() {
  if (!graph_) graph_ = std::make_unique<GraphSolver>(model_);
  return *graph_;
}

// The rank of all rows in the neutral metric; the tree's own rows are always independent.
Verdict Unreduced::decide(const Bodies& bodies, const KktInput& input) {
  if (!assembly_) {
    assembly_ = std::make_unique<KktAssembly>(model_);
    fronts_ = std::make_unique<FrontSolver>(assembly_->problem().structure);
  }
  assembly_->fill(bodies, input);
  const Verdict verdict = fronts_->decide(assembly_->problem());
  if (!verdict.ok()) return verdict;
  const RankDecision& decision = fronts_->decision();
  if (decided_ && decision.rank != mobility_.rank) {
    ++mobility_.changes;
    const int block = decision.redundant.empty() ? -1 : assembly_->problem().structure.block_of_row(decision.redundant.back());
    mobility_.joint = block < 0 ? -1 : assembly_->joint_of_block(block);
  }
  mobility_.rank = decision.rank;
  mobility_.freedoms = fronts_->mobility();
  mobility_.sigma = decision.sigma;
  decided_ = true;
  return {};
}

Verdict Unreduced::solve_graph(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                               std::vector<Wrench>& reactions) {
  used_ = &graph();
  const Verdict verdict = graph().solve(bodies, input, accelerations, reactions);
  const RankDecision& decision = graph().fronts().decision();
  if (verdict.ok() && decided_ && decision.rank != mobility_.rank) ++mobility_.changes;
  mobility_.rank = decision.rank;
  mobility_.freedoms = graph().fronts().mobility();
  mobility_.sigma = decision.sigma;
  if (!tree_ || tree_fails_) mobility_.near_singular = !decision.border.empty();
  decided_ = true;
  return verdict;
}

Verdict Unreduced::solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                         std::vector<Wrench>& reactions) {
  if (!tree_ || tree_fails_) return solve_graph(bodies, input, accelerations, reactions);
  used_ = tree_.get();

  // Few loops: one elimination. At the first state the number of independent closure rows is not known yet.
  const bool loops = tree_->closure_rows() > 0;
  const auto set_rank = [&] { tree_->set_closure_rank(mobility_.rank - tree_rows_ + tree_->rotor_rows()); };
  if (loops && !decided_) {
    if (const Verdict verdict = decide(bodies, input); !verdict.ok()) return verdict;
    set_rank();
  }
  Verdict verdict = tree_->solve(bodies, input, accelerations, reactions);
  if (verdict.status == Status::NoInertia) {
    tree_fails_ = true;
    return solve_graph(bodies, input, accelerations, reactions);
  }
  if (!loops) return verdict;

  // A pivot in doubt: count again; near a singularity let the fronts compute.
  const bool weak = tree_->weakest_kept() < kWeak || verdict.status == Status::Singular;
  mobility_.near_singular = weak;
  if (weak || (input.settled && tree_->strongest_left() > kNoise)) {
    const int before = mobility_.rank;
    if (const Verdict v = decide(bodies, input); !v.ok()) return v;
    set_rank();
    if (weak) {
      mobility_.joint = tree_->weakest_joint();
      return solve_graph(bodies, input, accelerations, reactions);
    }
    if (mobility_.rank != before) verdict = tree_->solve(bodies, input, accelerations, reactions);
  }
  return verdict;
}

Redundancy Unreduced::analyse(const Bodies& bodies) {
  if (!assembly_) {
    assembly_ = std::make_unique<KktAssembly>(model_);
    fronts_ = std::make_unique<FrontSolver>(assembly_->problem().structure);
  }
  assembly_->fill(bodies, KktInput{});
  return invar::analyse(assembly_->problem(), *fronts_);
}

Redundancy Unreduced::least_norm(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                                 std::vector<Wrench>& reactions, VecX& couplings) {
  Redundancy redundancy = analyse(bodies);
  if (redundancy.self_stresses == 0) return redundancy;
  assembly_->fill(bodies, input);
  const KktProblem& problem = assembly_->problem();
  VecX x = assembly_->motion(accelerations);
  VecX F = redundancy.least_norm(assembly_->multipliers(x, reactions, couplings));

  // One step of refinement on both residuals: of the elimination, and of self-stresses that are known to some 1e-12 only.
  VecX rf(x.size()), rg(F.size()), dx = VecX::Zero(x.size()), dF = VecX::Zero(F.size());
  kkt_residual(problem, assembly_->force(), assembly_->gamma(), x, F, rf, rg);
  if (fronts_->factor(problem).ok() && fronts_->solve(problem, rf, rg, dx, dF).ok()) x += dx, F = redundancy.least_norm(F + dF);
  assembly_->accelerations(x, accelerations);
  assembly_->reactions(F, reactions);
  for (int c = 0; c < couplings.size(); ++c) couplings[c] = assembly_->coupling_effort(F, c);
  return redundancy;
}

}  // namespace invar
