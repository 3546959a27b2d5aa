// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "invar/mech/front_factor.hpp"

namespace invar {

/// A vector over rows with few entries.
struct SparseRow {
  std::vector<int> rows;
  std::vector<double> values;
};

/// Sorts the rows of J into kept, border and redundant in the neutral metric, by threshold elimination and a test on vectors.
struct RowSort {
  std::vector<int> redundant;
  std::vector<SparseRow> stresses;  ///< one per redundant row: Jᵀ n = 0
  std::vector<int> border;
  double sigma = 0;  ///< smallest singular value of the rows kept, estimated
};

/// Leaves the neutral factor of the rows kept in `factor`. Off the constraints `known` says how many rows count in any case.
RowSort sort_rows(FrontFactor& factor, const KktStructure& structure, const std::vector<Mat6>& jacobian, const VecX& compliance,
                  const RankTolerance& tolerance, const KnownRank& known = {});

/// y = J W Jᵀ n + c n; without W the neutral metric (W = 1, c = 1 where c > 0). `body` is work of 6 entries per body.
void apply_joint_matrix(const KktStructure& s, const std::vector<Mat6>& jacobian, const std::vector<Mat6>* W,
                        const VecX& compliance, const VecX& n, VecX& body, VecX& y);

}  // namespace invar
