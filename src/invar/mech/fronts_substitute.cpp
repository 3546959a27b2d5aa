// SPDX-License-Identifier: Apache-2.0
// Substitution with the factor of fronts_numeric.cpp: leaf to root with L, root to leaf with Lᵀ D, D = −1 for idle directions.
// Rows set aside carry zero. For a row r set aside, n = e_r − S_AA⁻¹ S_Ar over the kept rows before it is nothing but the way
// down with n_r = 1: row r of L stands in the panels of the fronts below. A front none of whose later rows carries anything stays
// empty with all its descendants, so only the part of the tree that meets n is visited.
#include <algorithm>

#include "invar/base/index.hpp"
#include "invar/mech/front_factor.hpp"
#include "invar/mech/front_kernels.hpp"

namespace invar {
namespace {}  // namespace

void FrontFactor::substitute(std::size_t first, std::size_t last) {
  double* w = local_.data();
  for (std::size_t f = first; f <= last; ++f) {
    const Front& front = tree_.fronts[f];
    const int* order = order_.data() + front.first_pivot;
    double* pivots = work_.data() + front.first_pivot;
    const int* later = tree_.update_positions.data() + front.first_update;
    for (int i = 0; i < front.pivots; ++i) w[i] = pivots[order[i]];
    std::fill(w + front.pivots, w + front.stride, 0.0);
    kernel::substitute_down(panel(front), front.stride, front.rows, kept_in(f) + front.idle, inverse_.data() + front.first_pivot,
                            w);
    for (int i = 0; i < front.pivots; ++i) pivots[order[i]] = w[i];
    for (int i = 0; i < front.updates(); ++i) work_[size(later[i])] += w[front.pivots + i];
  }
  // Rows behind the last front carry nothing.
  const Front& top = tree_.fronts[last];
  for (int i = 0; i < top.updates(); ++i) work_[size(tree_.update_positions[size(top.first_update + i)])] = 0.0;

  for (std::size_t f = last + 1; f-- > first;) {
    const Front& front = tree_.fronts[f];
    const int rows = kept_in(f), kept = rows + front.idle;
    const int* order = order_.data() + front.first_pivot;
    double* pivots = work_.data() + front.first_pivot;
    const int* later = tree_.update_positions.data() + front.first_update;
    for (int i = 0; i < rows; ++i) w[i] = pivots[order[i]];
    for (int i = rows; i < kept; ++i) w[i] = -pivots[order[i]];
    std::fill(w + kept, w + front.pivots, 0.0);
    for (int i = 0; i < front.updates(); ++i) w[front.pivots + i] = work_[size(later[i])];
    kernel::substitute_up(panel(front), front.stride, front.rows, kept, inverse_.data() + front.first_pivot, w);
    for (int i = 0; i < kept; ++i) pivots[order[i]] = w[i];
    for (int i = kept; i < front.pivots; ++i) pivots[order[i]] = 0.0;
  }
}

void FrontFactor::solve(const VecX& b, VecX& F) {
  for (std::size_t p = 0; p < work_.size(); ++p) work_[p] = b[tree_.row_at[p]];
  if (!tree_.fronts.empty()) substitute(0, tree_.fronts.size() - 1);
  for (std::size_t p = 0; p < work_.size(); ++p) F[tree_.row_at[p]] = work_[p];
}

std::size_t FrontFactor::home(int row) const {
  const int block = structure_.block_of_row(row);
  const int position = tree_.position_of_block[size(block)] + row - structure_.block(block).first_row;
  return size(tree_.front_at[size(position)]);
}

std::span<const int> FrontFactor::rows_below(int row) const {
  const Front& top = tree_.fronts[home(row)];
  const int first = tree_.fronts[size(top.first_descendant)].first_pivot;
  return {tree_.row_at.data() + first, size(top.first_pivot + top.pivots - first)};
}

void FrontFactor::solve_below(int row, const VecX& b, VecX& F) {
  const std::span<const int> rows = rows_below(row);
  double* work = work_.data() + (rows.data() - tree_.row_at.data());
  for (std::size_t i = 0; i < rows.size(); ++i) work[i] = b[rows[i]];
  substitute(size(tree_.fronts[home(row)].first_descendant), home(row));
  for (std::size_t i = 0; i < rows.size(); ++i) F[rows[i]] = work[i];
}

void FrontFactor::combination(int row, VecX& n, std::vector<int>& rows) {
  double* w = local_.data();
  n[row] = 1.0;
  rows.push_back(row);
  pending_.assign(1, static_cast<int>(home(row)));
  while (!pending_.empty()) {
    const std::size_t f = size(pending_.back());
    pending_.pop_back();
    const Front& front = tree_.fronts[f];
    const int kept = kept_in(f);
    const int* order = order_.data() + front.first_pivot;
    const int* later = tree_.update_positions.data() + front.first_update;

    // Rows of the front behind its kept pivots: those set aside (only `row` itself is not zero) and the later ones.
    bool empty = true;
    std::fill(w, w + kept, 0.0);
    for (int i = kept; i < front.pivots; ++i) w[i] = n[tree_.row_at[size(front.first_pivot + order[i])]];
    for (int i = 0; i < front.updates(); ++i) w[front.pivots + i] = n[tree_.row_at[size(later[i])]];
    for (int i = kept; i < front.rows; ++i) empty &= w[i] == 0.0;
    if (empty) continue;
    kernel::substitute_up(panel(front), front.stride, front.rows, kept, inverse_.data() + front.first_pivot, w);
    for (int i = 0; i < kept; ++i) {
      const int target = tree_.row_at[size(front.first_pivot + order[i])];
      n[target] = w[i];
      if (w[i] != 0.0) rows.push_back(target);
    }
    for (int c = front.first_child; c < front.first_child + front.children; ++c) pending_.push_back(tree_.children[size(c)]);
  }
}

}  // namespace invar
