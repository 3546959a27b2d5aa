// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Eigen/SparseCore>
#include <memory>
#include <vector>

#include "invar/base/status.hpp"
#include "invar/mech/front_factor.hpp"
#include "invar/mech/kkt_problem.hpp"
#include "invar/mech/massless.hpp"
#include "invar/mech/row_sort.hpp"

namespace invar {

/// Which rows of J count. Decided from geometry alone (every mass set to one), so masses cannot blur it.
struct RankDecision {
  int rank = 0;                ///< of the rows without compliance
  std::vector<int> redundant;  ///< rows that are combinations of the others: F = 0 there in a particular solution
  std::vector<int> border;     ///< rows that are independent but nearly not
  double sigma = 0;            ///< estimate of the smallest singular value of the rows kept; pure number
};

/// Solves KKT problems over any body-joint graph by Cholesky of S = J M⁻¹ Jᵀ + c in fronts over the joint graph.
/// Massless bodies are condensed into hyper-joints first. Order of calls: decide (factor does it when nobody did), then for
/// every instant factor and any number of solves. After decide, factor and solve make no heap calls.
/// In a Verdict, `joint` is the index of a block and `body` that of a body of the KktProblem.
class FrontSolver {
 public:
  explicit FrontSolver(const KktStructure& structure);

  /// Decides rank, redundant rows, border rows and massless clusters at this configuration. Ends with NoInertia when the mass
  /// is not positive definite on ker J: verdict.body and idle_direction() then say what moves without inertia.
  Verdict decide(const KktProblem& problem);
  const RankDecision& decision() const { return decision_; }
  /// The scaled twist (v, ℓ ω) of verdict.body that nothing resists; valid after NoInertia.
  const Vec6& idle_direction() const { return idle_direction_; }
  /// Self-stresses N, rows x s: Jᵀ N = 0 and c N = 0, one column per redundant row.
  const Eigen::SparseMatrix<double>& self_stresses() const { return self_stresses_; }
  /// Freedoms left at this configuration: 6 bodies - rank.
  int mobility() const { return 6 * structure_.bodies() - decision_.rank; }

  /// The next factor decides anew, as the first one did.
  void forget() { forgotten_ = true; }

  /// Factorizes with the rows decided last.
  Verdict factor(const KktProblem& problem);
  /// Whether the last factor saw a kept row weaken, or a row left out gain strength, beyond the thresholds: call decide.
  bool weakened() const { return weakened_; }
  bool strengthened() const { return strengthened_; }
  bool rank_in_doubt() const { return weakened_ || strengthened_; }
  int doubtful_block() const { return doubtful_block_; }
  /// Squared sine between the weakest row that counts and those before it, at the last factor.
  double weakest() const { return weakest_; }

  /// x and F with at least one step of refinement on both residuals, at most four. Rows decided redundant carry F = 0.
  Verdict solve(const KktProblem& problem, const VecX& f, const VecX& gamma, VecX& x, VecX& F);
  /// Relative KKT residual of the last solve, over the rows that count, and refinement steps taken.
  double residual() const { return residual_; }
  int refinements() const { return refinements_; }

 private:
  /// What the core factorization works on: the problem itself, or its condensation.
  const KktStructure& core_structure() const { return condensation_ ? condensation_->structure() : structure_; }
  const std::vector<Mat6>& core_jacobian(const KktProblem& p) const {
    return condensation_ ? condensation_->jacobian() : p.jacobian;
  }
  const std::vector<Mat6>& core_inverse_mass() const { return condensation_ ? condensation_->inverse_mass() : W_; }
  const VecX& core_compliance(const KktProblem& p) const { return condensation_ ? condensation_->compliance() : p.compliance; }

  void prepare(const KktProblem& problem);
  Verdict take_masses(const KktProblem& problem);
  void publish(const KktProblem& problem, const RowSort& sort);
  void watch_ratios();
  void build_border(const KktProblem& problem);
  void solve_once(const KktProblem& problem, const VecX& f, const VecX& gamma, VecX& x, VecX& F);
  void solve_core(const KktProblem& problem, const VecX& f, const VecX& gamma, VecX& x, VecX& F);
  double measure(const KktProblem& problem, const VecX& f, const VecX& gamma, const VecX& x, const VecX& F);

  KktStructure structure_;
  RankDecision decision_;
  RankTolerance tolerance_;
  Eigen::SparseMatrix<double> self_stresses_;
  Vec6 idle_direction_ = Vec6::Zero();

  std::vector<int> idle_;                       // bodies: directions without inertia
  std::vector<char> rotor_;                     // rows: compliance > 0 when last decided
  std::vector<Mat6> W_, Z_;                     // bodies: inverse mass and idle directions
  std::unique_ptr<Condensation> condensation_;  // none without idle directions
  std::unique_ptr<FrontFactor> core_;
  std::vector<char> counts_;       // rows: not decided redundant
  std::vector<double> reference_;  // core rows: pivot ratios at the first factor after decide
  bool fresh_ = true, forgotten_ = false;
  bool weakened_ = false, strengthened_ = false;
  int doubtful_block_ = -1;
  double weakest_ = 1;

  std::vector<int> border_;          // core rows
  std::vector<VecX> border_n_;       // core rows: combinations orthogonal to the kept rows and to each other
  std::vector<VecX> border_g_;       // 6 core bodies: J^T n
  std::vector<double> border_size_;  // size of n before it was made a unit, at the first factor after decide
  VecX rf_, rg_, dx_, dF_;           // residuals and corrections of the problem
  VecX f_c_, gamma_c_, x_c_, F_c_;   // core
  VecX u_, b_;                       // 6 core bodies, core rows: work
  double residual_ = 0;
  int refinements_ = 0;
};

}  // namespace invar
