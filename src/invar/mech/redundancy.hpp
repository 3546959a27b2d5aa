// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Eigen/SparseCholesky>
#include <memory>
#include <vector>

#include "invar/mech/fronts.hpp"

namespace invar {

/// What self-stresses mean for the reactions of a mechanism at one configuration. A self-stress is a set of reactions in
/// equilibrium with nothing, Jᵀ n = 0; P is the orthogonal projector onto all of them, in the metric of the KktProblem
/// (|f|² + |m|²/ℓ² at the joint points). P does not depend on the order of rows, on units or on masses.
class Redundancy {
 public:
  /// What of a right side y of the rows no motion can satisfy: P y, its size per block, and its size as a whole.
  struct Misfit {
    VecX rows;
    VecX blocks;
    double size = 0;
  };

  Verdict verdict;                       ///< of the decision; the rest is empty when rows were not counted
  int rank = 0;                          ///< of the rows without compliance
  int self_stresses = 0;                 ///< s
  int mobility = 0;                      ///< 6 bodies − rank
  double sigma = 0;                      ///< smallest singular value of the rows kept, estimated
  std::vector<int> border;               ///< rows that are nearly dependent
  VecX share;                            ///< P_kk per row: 0 determined, 1 nothing determines it
  std::vector<std::vector<int>> groups;  ///< blocks that trade self-stress among each other, only with their group
  std::vector<int> group_of_block;       ///< -1: determined

  /// Self-stress is geometry: a motion without inertia leaves it as it is.
  bool counted() const { return verdict.ok() || verdict.status == Status::NoInertia; }

  /// Reactions are a matter of convention along this row.
  bool indeterminate(int row) const { return share[row] > 1e-10; }

  /// Reactions of least norm that cause the same motion: F − P F.
  VecX least_norm(const VecX& F) const { return F - project(F); }
  /// P y.
  VecX project(const VecX& y) const;
  /// P between the rows of blocks i and j; the eigenvectors of P_jj are the principal directions of a joint.
  MatX projector(int i, int j) const;
  /// Consistent iff size <= 1e-9 (|y| + natural scale), the scale being ℓ, ℓ|ω| or ℓ|ω|² + |g| for positions, rates,
  /// accelerations. To go on in spite of it solve for y − rows.
  Misfit misfit(const VecX& y) const;
  /// Orthonormal basis of the self-stresses, rows x s; made on demand when they are many.
  MatX basis() const;

 private:
  friend Redundancy analyse(const KktProblem& problem, FrontSolver& solver, const KnownRank& known);
  void orthogonalize();
  void measure_shares();
  void find_groups();
  VecX sparse_solve(const VecX& y) const;

  KktStructure structure_{0};
  Eigen::SparseMatrix<double> n_;  // rows x s, unit columns
  bool dense_ = true;
  MatX q_;                                                                         // rows x s when dense
  std::shared_ptr<const Eigen::SimplicialLLT<Eigen::SparseMatrix<double>>> gram_;  // of NᵀN when sparse
};

/// Decides the rank at this configuration (the solver keeps the decision) and analyses its self-stresses.
Redundancy analyse(const KktProblem& problem, FrontSolver& solver, const KnownRank& known = {});

}  // namespace invar
