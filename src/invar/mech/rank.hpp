// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "invar/mech/bodies.hpp"

namespace invar {

/// Thresholds of every decision about rank, pure numbers: rows are measured over twists (v, ℓ_i ω) with the length of each body
/// (see Scales) and divided by their own norm. `weak` is far above round-off so that no noise is ever taken for a pivot;
/// what it sets aside wrongly comes back as border.
struct RankTolerance {
  double weak = 1e-6;       ///< squared sine of the angle between a row and those before it, below which it is set aside
  double null = 1e-12;      ///< |Jᵀ n| below which a row set aside is redundant without further questions
  double singular = 1e-10;  ///< smallest singular value that counts as independent
};

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
RankOfModel rank_of(const Model& model, const Bodies& bodies);

/// The same decision for a few rows given as a dense matrix over scaled unknowns (joint coordinates in metres, say). Rows are
/// divided by their norms; zero rows depend on nothing and count as dependent. Pivots: the strongest row first.
struct RankOfRows {
  int rank = 0;
  std::vector<int> order;  ///< rows, the `rank` independent ones first
  double sigma = 1;        ///< smallest singular value of the unit rows that count
};
RankOfRows rank_of(const MatX& rows, const RankTolerance& tolerance = {});

}  // namespace invar
