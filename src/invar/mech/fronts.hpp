// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Eigen/SparseCore>
#include <memory>
#include <vector>

#include "invar/base/status.hpp"
#include "invar/mech/front_factor.hpp"
#include "invar/mech/idle_sort.hpp"
#include "invar/mech/kkt_problem.hpp"
#include "invar/mech/massless.hpp"
#include "invar/mech/rank.hpp"
#include "invar/mech/row_sort.hpp"

namespace invar {

/// Solves KKT problems over any body-joint graph by L D Lᵀ of S = J M⁻¹ Jᵀ + c in fronts over the joint graph. Directions without
/// inertia get some on loan and give it back in the same front. Order of calls: decide (factor does it when nobody did), then for
/// every instant factor and any number of solves. After decide, factor and solve make no heap calls.
/// In a Verdict, `joint` is the index of a block and `body` that of a body of the KktProblem.
class FrontSolver {
 public:
  explicit FrontSolver(const KktStructure& structure);

  /// Decides rank, redundant rows, border rows and where idle directions find their pivots at this configuration. Ends with
  /// NoInertia when the mass is not positive definite on ker J: idle_motion() then moves without inertia, most of all
  /// verdict.body; with NotFinite where rows or masses are not finite, and then nothing is kept of it. Off the constraints
  /// `known` tells redundant rows from independent ones.
  Verdict decide(const KktProblem& problem, const KnownRank& known = {});
  const RankDecision& decision() const { return decision_; }
  /// After NoInertia: a motion x of all bodies (6 each, scaled twists, the largest of unit size) with J x = 0 and M x = 0, and
  /// the scaled twist (v, ℓ ω) of verdict.body in it.
  const VecX& idle_motion() const { return idle_motion_; }
  const Vec6& idle_direction() const { return idle_direction_; }
  /// Self-stresses N, rows x s: Jᵀ N = 0 and c N = 0, one column per redundant row.
  const Eigen::SparseMatrix<double>& self_stresses() const { return self_stresses_; }
  /// Norm of a row over the scaled twists when the rank was decided: dividing by it makes unit rows.
  double row_length(int row) const { return row_length_[row]; }
  /// Freedoms left at this configuration: 6 bodies - rank.
  int mobility() const { return 6 * structure_.bodies() - decision_.rank; }
  /// Directions on loan, and multiply-adds of one factorization as decided.
  int idle_directions() const { return loans_.directions(); }
  double operations() const { return core().operations(); }

  /// The next factor decides anew, as the first one did.
  void forget() { forgotten_ = true; }

  /// Factorizes with the rows decided last.
  Verdict factor(const KktProblem& problem);
  /// Whether the last factor saw a kept row or an idle direction weaken, or a row left out gain strength, beyond the thresholds:
  /// call decide.
  bool weakened() const { return weakened_; }
  bool strengthened() const { return strengthened_; }
  bool rank_in_doubt() const { return weakened_ || strengthened_; }
  /// Whether rows depend on others and those kept have lost strength since they were chosen: others may serve better.
  bool worn() const { return worn_; }
  /// Whose row or idle direction that was: a block, or a body; the other is -1.
  int doubtful_block() const { return doubtful_block_; }
  int doubtful_body() const { return doubtful_body_; }
  /// Squared sine between the weakest kept row and those before it at the last factor, in the inertia metric; with rows in the
  /// border no more than the square of decision().sigma.
  double weakest() const { return weakest_; }

  /// x and F with at least one step of refinement on both residuals, at most four; with none where the relative residual is not
  /// above `enough`. Rows decided redundant carry F = 0. An answer
  /// whose relative residual is above 1e-6 is refused (NotConverged); near a configuration in which an idle direction would be
  /// held by nothing, above 1e-8 of the sine by which it is held now (but not below 1e-14): the error of x is about their
  /// quotient.
  Verdict solve(const KktProblem& problem, const VecX& f, const VecX& gamma, VecX& x, VecX& F, double enough = 0);
  /// Relative KKT residual of the last solve, over the rows that count, and refinement steps taken.
  double residual() const { return residual_; }
  int refinements() const { return refinements_; }

 private:
  /// A row that is independent but nearly not: y = (n, z) orthogonal in S to all kept rows and idle directions and to each other.
  struct Border {
    int row = -1;
    VecX y;                 // rows and idle directions
    VecX g;                 // 6 bodies: Jᵀ n
    VecX v;                 // 6 bodies: W g − Z κ z, the motion that a unit pull along y causes
    double first_size = 0;  // of y before it was made a unit, at the first factor after decide
  };

  FrontFactor& core() { return idle_ ? *idle_ : *rows_; }
  const FrontFactor& core() const { return idle_ ? *idle_ : *rows_; }
  int block_of_unknown(int at) const;
  int body_of_unknown(int at) const;
  int unknowns() const { return structure_.rows() + static_cast<int>(places_.size()); }

  Verdict expect_finite(const KktProblem& problem) const;
  Verdict take_masses(const KktProblem& problem);
  Verdict place_directions(const KktProblem& problem);
  Verdict judge_weak(const KktProblem& problem, std::vector<IdlePlace>& places);
  void rebuild(const IdleStructure& with);
  Verdict no_inertia(const VecX& motion);
  void take_core(const KktProblem& problem, bool neutral);
  void publish(const KktProblem& problem, const RowSort& sort);
  void watch_ratios();
  void build_border(const KktProblem& problem);
  void apply(const KktProblem& problem, const VecX& y, VecX& g, VecX& v, VecX& out) const;
  void add_idle_motion(const VecX& y, double sign, VecX& x) const;
  void add_idle_forces(const VecX& u, double sign, VecX& y) const;
  void solve_once(const KktProblem& problem, const VecX& f, const VecX& gamma, VecX& x, VecX& F);
  double measure(const KktProblem& problem, const VecX& f, const VecX& gamma, const VecX& x, const VecX& F);

  KktStructure structure_;
  RankDecision decision_;
  RankTolerance tolerance_;
  Eigen::SparseMatrix<double> self_stresses_;
  VecX idle_motion_;
  Vec6 idle_direction_ = Vec6::Zero();

  Loans loans_;
  std::vector<Mat6> W_;                // bodies: inverse mass, with loans
  std::unique_ptr<FrontFactor> rows_;  // of rows alone: decides rank; solves where nothing is idle
  std::unique_ptr<FrontFactor> idle_;  // with idle directions
  std::vector<IdlePlace> places_;      // unknowns behind the rows
  std::vector<int> idle_blocks_;       // first place of each idle block
  std::vector<char> counts_;           // rows: not decided redundant
  VecX row_length_;                    // rows: norms when last decided
  std::vector<double> reference_;      // unknowns: pivot ratios at the first factor after decide
  bool fresh_ = true, forgotten_ = false;
  bool weakened_ = false, strengthened_ = false, worn_ = false;
  int doubtful_block_ = -1, doubtful_body_ = -1;
  double weakest_ = 1;
  double weakest_idle_ = 1;  // sine of the weakest idle direction when last decided
  double idle_now_ = 1;      // and at the last factor

  std::vector<Border> border_;
  VecX rf_, rg_, dx_, dF_;  // residuals and corrections of the problem
  VecX u_, b_, y_;          // 6 bodies, unknowns, unknowns: work
  double residual_ = 0;
  int refinements_ = 0;
};

}  // namespace invar
