// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "invar/mech/bodies.hpp"

namespace invar {

/// Thresholds of rank, here for every elimination in this room. All are pure numbers: rows are measured over twists (v, ℓ_i ω)
/// with the length of each body (see Scales) and divided by their own norm.
///
/// RankTolerance decides: over the joint graph, from vectors (fronts, rank_of), so that sines are known to round-off over the
/// sine of the rows before. `weak` is far above round-off so that no noise is ever taken for a pivot; what it sets aside wrongly
/// comes back as border.
struct RankTolerance {
  double weak = 1e-6;       ///< squared sine of the angle between a row and those before it, below which it is set aside
  double null = 1e-12;      ///< |Jᵀ n| below which a row set aside is redundant without further questions
  double singular = 1e-10;  ///< smallest singular value that counts as independent
};

/// Eliminations over a spanning tree see squares of sines, and rounding leaves 1e-16 of those times what it enlarges (up to 1e3
/// in drawn mechanisms): sines are known to about 1e-6 there. So a row counts above kDependentRow, and one that counted before
/// until it falls below kRowKeptBefore: closures of natural coordinates and of the conserving steppers. Laws compare both with
/// rank_of.
inline constexpr double kDependentRow = 1e-10, kRowKeptBefore = 1e-12;
/// The same squares in the inertia metric, where light bodies make rows look weak: for a tree elimination whose rank nobody told,
/// and for a closure row over what moving everything would give.
inline constexpr double kDependentInMasses = 1e-11;
/// Of the same, where one row alone is judged and nothing was subtracted: a closure row that moves less says nothing.
inline constexpr double kMovesNothing = 1e-14;

/// What is known already where a rank is decided off the constraints (at the stages of a step): rows that depend on others where
/// joints are closed stand out there by up to `noise`, a sine. What is below it does not count beyond the rank known before.
struct KnownRank {
  int rank = 0;
  double noise = 0;
};

/// Which rows of J count. Decided from geometry alone (every mass set to one), so masses cannot blur it.
struct RankDecision {
  int rank = 0;                ///< of the rows without compliance
  std::vector<int> redundant;  ///< rows that are combinations of the others: F = 0 there in a particular solution
  std::vector<int> border;     ///< rows that are independent but nearly not
  double sigma = 0;            ///< estimate of the smallest singular value of the rows kept; pure number
};

/// Rank of all constraint rows of joints and couplings at given bodies, connected parts one by one. Neither masses (zero ones
/// included) nor units nor other parts enter.
struct RankOfModel {
  int rows = 0;
  int rank = 0;
  int freedoms = 0;               ///< 6 bodies − rank
  double sigma = 1;               ///< smallest over the parts, of unit rows, estimated
  std::vector<int> nearly;        ///< joints and couplings' driven joints with rows that nearly depend on others
  std::vector<int> dependent;     ///< the same for rows that do; one entry per row
  std::vector<int> rank_of_part;  ///< per connected part, as numbered in Scales
};
/// `coupling_q`: see KktInput; the rank of a mechanism with nonlinear couplings may depend on their turns.
RankOfModel rank_of(const Model& model, const Bodies& bodies, const VecX* coupling_q = nullptr);

}  // namespace invar
