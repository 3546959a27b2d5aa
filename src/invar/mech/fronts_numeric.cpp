// SPDX-License-Identifier: Apache-2.0
// Numeric elimination. A front receives the products T_a J_bᵀ of its own pivot blocks and the update matrices of its children,
// is factorized, and leaves U − L_u L_uᵀ for its parent. Rows that were set aside stand behind the kept pivots of their front:
// they are solved for like update rows, which gives the pivot they would have had, but they are not passed on.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "invar/base/index.hpp"
#include "invar/mech/front_factor.hpp"
#include "invar/mech/front_kernels.hpp"
#include "invar/mech/front_lanes.hpp"

namespace invar {
namespace {

using kernel::Octet;
constexpr std::size_t kSlack = 32;      // doubles past the end that kernels may read or add zeros to
constexpr double kSurelyStrong = 1e-3;  // pivot ratios from which the natural order is as good as the strongest first

}  // namespace

FrontFactor::FrontFactor(const KktStructure& structure) : FrontFactor(structure, FrontTree(structure), structure.blocks()) {}

// Kept rows stand where they were chosen; behind them the idle directions, then the rows set aside.
FrontFactor::FrontFactor(const KktStructure& structure, FrontTree tree, int first_idle, const FrontFactor& chosen)
    : FrontFactor(structure, std::move(tree), first_idle) {
  std::copy(chosen.kept_.begin(), chosen.kept_.end(), kept_.begin());
  kept_in_front_ = chosen.kept_in_front_;
  rows_kept_ = chosen.rows_kept_;
  for (std::size_t f = 0; f < tree_.fronts.size(); ++f) {
    const Front &front = tree_.fronts[f], &from = chosen.tree_.fronts[f];
    int* order = order_.data() + front.first_pivot;
    for (int i = 0; i < front.pivots; ++i) order[i] = i;
    for (int i = 0; i < from.pivots; ++i) {
      order[i] = chosen.order_[size(from.first_pivot + i)];
      swap_with_[size(front.first_pivot + i)] = chosen.swap_with_[size(from.first_pivot + i)];
    }
    for (int i = 0; i < front.idle; ++i) std::swap(order[kept_in(f) + i], order[from.pivots + i]);
  }
}

FrontFactor::FrontFactor(const KktStructure& structure, FrontTree tree, int first_idle)
    : structure_(structure),
      tree_(std::move(tree)),
      first_idle_(first_idle),
      j_(size(structure.touches()), Padded{}),
      t_(size(structure.touches()), Padded{}),
      compliance_(size(structure.rows()), 0.0),
      idle_size_(size(structure.rows()), 1.0),
      panels_(tree_.panel_size + kSlack, 0.0),
      stack_{std::vector<double>(tree_.stack_size[0] + kSlack, 0.0), std::vector<double>(tree_.stack_size[1] + kSlack, 0.0)},
      packing_(kernel::packing_size(tree_.largest_front), 0.0),
      backup_(tree_.largest_panel, 0.0),
      diagonal_(size(structure.rows()), 0.0),
      inverse_(size(structure.rows()), 0.0),
      swap_with_(size(structure.rows()), 0),
      order_(size(structure.rows()), 0),
      kept_in_front_(tree_.fronts.size(), 0),
      kept_(size(structure.rows()), 1),
      ratio_(size(structure.rows()), 1.0),
      work_(size(structure.rows()), 0.0),
      local_(size(tree_.largest_front) + kSlack, 0.0),
      rows_kept_(structure.rows()) {
  pending_.reserve(tree_.fronts.size());
  for (std::size_t f = 0; f < tree_.fronts.size(); ++f) {
    const Front& front = tree_.fronts[f];
    kept_in_front_[f] = front.pivots;
    for (int i = 0; i < front.pivots; ++i) swap_with_[size(front.first_pivot + i)] = order_[size(front.first_pivot + i)] = i;
  }
}

void FrontFactor::copy_jacobian(const std::vector<Mat6>& jacobian) {
  for (std::size_t t = 0; t < jacobian.size(); ++t)
    for (int c = 0; c < 6; ++c)
      for (int r = 0; r < 6; ++r) j_[t].column[c][r] = jacobian[t](r, c);
}

void FrontFactor::take(const std::vector<Mat6>& jacobian, const std::vector<Mat6>& inverse_mass, const VecX& compliance) {
  for (std::size_t t = 0; t < jacobian.size(); ++t) {
    const Mat6& j = jacobian[t];
    const Mat6& w = inverse_mass[size(structure_.body(static_cast<int>(t)))];
    for (int c = 0; c < 6; ++c)
      for (int r = 0; r < 6; ++r) j_[t].column[c][r] = j(r, c);
    for (int c = 0; c < 6; ++c) {
      Octet sum = {};
      for (int k = 0; k < 6; ++k) sum.add(Octet::load(j_[t].column[k]), w(k, c));
      sum.store(t_[t].column[c]);
    }
  }
  for (std::size_t p = 0; p < compliance_.size(); ++p)
    if (const int row = tree_.row_at[p]; row < compliance.size()) compliance_[p] = compliance[row];
}

void FrontFactor::take_neutral(const std::vector<Mat6>& jacobian, const VecX& compliance) {
  copy_jacobian(jacobian);
  t_ = j_;
  for (std::size_t p = 0; p < compliance_.size(); ++p)
    if (const int row = tree_.row_at[p]; row < compliance.size()) compliance_[p] = compliance[row] > 0 ? 1.0 : 0.0;
}

void FrontFactor::take_idle(int block, const Mat6& row, const Mat6& column, const Vec6& diagonal, const Vec6& scale) {
  const KktBlock& shape = structure_.block(block);
  Padded& j = j_[size(shape.first_touch)];
  Padded& t = t_[size(shape.first_touch)];
  for (int c = 0; c < 6; ++c)
    for (int r = 0; r < shape.rows; ++r) j.column[c][r] = row(r, c), t.column[c][r] = column(r, c);
  for (int r = 0; r < shape.rows; ++r) {
    const std::size_t position = size(tree_.position_of_block[size(block)] + r);
    compliance_[position] = diagonal[r];
    idle_size_[position] = scale[r];
  }
}

// Padding rows of J are zero, so eight rows may be added where six or fewer belong: the rest adds zeros to later entries.
void FrontFactor::add_products(const Front& front) {
  for (int q = front.first_product; q < front.first_product + front.products; ++q) {
    const FrontProduct& product = tree_.products[size(q)];
    const Padded& j = j_[size(product.touch_row)];
    const Padded& t = t_[size(product.touch_column)];
    double* target = panels_.data() + product.target;
    for (int c = 0; c < product.columns; ++c, target += front.stride) {
      Octet sum = Octet::load(target);
      for (int k = 0; k < 6; ++k) sum.add(Octet::load(j.column[k]), t.column[k][c]);
      sum.store(target);
    }
  }
}

// Extend-add. Runs never straddle the last pivot of the parent, so each column of a run goes to the panel or to the update.
void FrontFactor::add_child(const Front& child, const Front& parent) {
  const double* source = update(child);
  double* to_panel = panel(parent);
  double* to_update = update(parent);
  const int end = child.first_run + child.runs;
  for (int a = child.first_run; a < end; ++a) {
    const FrontRun& columns = tree_.runs[size(a)];
    const bool pivot = columns.target < parent.pivots;
    const std::size_t stride = size(pivot ? parent.stride : parent.update_stride);
    const int shift = pivot ? 0 : parent.pivots;
    double* base = (pivot ? to_panel : to_update) + size(columns.target - shift) * stride;
    for (int c = 0; c < columns.length; ++c) {
      const double* from = source + size(columns.source + c) * size(child.update_stride);
      double* to = base + size(c) * stride;
      for (int i = c; i < columns.length; ++i) to[columns.target - shift + i] += from[columns.source + i];
      for (int b = a + 1; b < end; ++b) {
        const FrontRun& rows = tree_.runs[size(b)];
        double* target = to + (rows.target - shift);
        const double* entry = from + rows.source;
        for (int i = 0; i < rows.length; ++i) target[i] += entry[i];
      }
    }
  }
}

void FrontFactor::assemble(const Front& front) {
  double* p = panel(front);
  std::memset(p, 0, sizeof(double) * size(front.stride) * size(front.pivots));
  add_products(front);
  for (int i = 0; i < front.pivots; ++i) {
    double& entry = p[size(i) * size(front.stride + 1)];
    entry += compliance_[size(front.first_pivot + i)];
    diagonal_[size(front.first_pivot + i)] = entry;
  }
  std::memset(update(front), 0, sizeof(double) * size(front.update_stride) * size(front.updates()));
  for (int c = front.first_child; c < front.first_child + front.children; ++c) {
    const Front& child = tree_.fronts[size(tree_.children[size(c)])];
    if (child.updates() > 0) add_child(child, front);
  }
}

// Exchanges pivots a < b in the lower storage; columns before a are already part of the factor.
void FrontFactor::swap_pivots(const Front& front, int a, int b) {
  double* p = panel(front);
  const std::size_t stride = size(front.stride);
  const auto entry = [&](int r, int c) -> double& { return p[size(r) + size(c) * stride]; };
  for (int c = 0; c < a; ++c) std::swap(entry(a, c), entry(b, c));
  std::swap(entry(a, a), entry(b, b));
  for (int m = a + 1; m < b; ++m) std::swap(entry(m, a), entry(b, m));
  for (int m = b + 1; m < front.rows; ++m) std::swap(entry(m, a), entry(m, b));
}

void FrontFactor::pass_on(const Front& front, int kept) {
  if (front.updates() == 0) return;
  const double* below = panel(front) + front.pivots;
  if (kept > 0)
    kernel::subtract_square(update(front), front.update_stride, front.updates(), below, front.stride, kept, packing_.data());
  if (front.idle > 0)
    kernel::add_square(update(front), front.update_stride, front.updates(), below + size(kept) * size(front.stride), front.stride,
                       front.idle);
}

// Behind the kept rows, before those set aside.
void FrontFactor::bring_idle_forward(const Front& front, int kept) {
  const int rows = front.pivots - front.idle;
  if (rows == kept) return;
  for (int i = 0; i < front.idle; ++i) swap_pivots(front, kept + i, rows + i);
}

// The pivot of a kept row, or of an idle direction in absolute value, is the square of its diagonal; that of a row set aside what
// they leave of its own.
void FrontFactor::note_ratios(const Front& front, int kept) {
  const double* p = panel(front);
  const std::size_t stride = size(front.stride);
  for (int i = 0; i < front.pivots; ++i) {
    const std::size_t position = size(front.first_pivot + order_[size(front.first_pivot + i)]);
    double pivot = p[size(i) * (stride + 1)];
    if (i < kept + front.idle) {
      inverse_[size(front.first_pivot + i)] = 1.0 / pivot;
      pivot *= pivot;
    } else {
      for (int k = 0; k < kept; ++k) pivot -= p[size(i) + size(k) * stride] * p[size(i) + size(k) * stride];
      for (int k = kept; k < kept + front.idle; ++k) pivot += p[size(i) + size(k) * stride] * p[size(i) + size(k) * stride];
    }
    const double own = i >= kept && i < kept + front.idle ? idle_size_[position] : diagonal_[position];
    ratio_[size(tree_.row_at[position])] = own > 0 ? pivot / own : (i < kept ? pivot : 0.0);
  }
}

int FrontFactor::eliminate() {
  for (std::size_t f = 0; f < tree_.fronts.size(); ++f) {
    const Front& front = tree_.fronts[f];
    const int kept = kept_in(f);
    assemble(front);
    for (int i = 0; i < kept; ++i)
      if (const int other = swap_with_[size(front.first_pivot + i)]; other != i) swap_pivots(front, i, other);
    if (front.idle > 0) bring_idle_forward(front, kept);
    kernel::factor_columns(panel(front), front.stride, front.rows, kept, packing_.data());
    if (front.idle > 0) kernel::factor_idle(panel(front), front.stride, front.rows, kept, front.idle);
    note_ratios(front, kept);
    for (int i = 0; i < kept + front.idle; ++i) {
      const int row = tree_.row_at[size(front.first_pivot + order_[size(front.first_pivot + i)])];
      if (!(ratio(row) > 0) || !std::isfinite(ratio(row))) return row;
    }
    pass_on(front, kept);
  }
  return -1;
}

// Left-looking Cholesky that takes the row with the largest remaining ratio first and stops when all are weak.
int FrontFactor::factor_pivoted(const Front& front, double weak) {
  double* p = panel(front);
  const std::size_t stride = size(front.stride);
  int* order = order_.data() + front.first_pivot;
  double* left = local_.data();  // remaining diagonal
  for (int i = 0; i < front.pivots; ++i) left[i] = p[size(i) * (stride + 1)];
  for (int k = 0; k < front.pivots; ++k) {
    int best = -1;
    double strength = weak;
    for (int i = k; i < front.pivots; ++i) {
      const double own = diagonal_[size(front.first_pivot + order[i])];
      if (own > 0 && left[i] > strength * own) {
        strength = left[i] / own;
        best = i;
      }
    }
    if (best < 0) return k;
    swap_with_[size(front.first_pivot + k)] = best;
    if (best != k) {
      swap_pivots(front, k, best);
      std::swap(left[k], left[best]);
      std::swap(order[k], order[best]);
    }
    double* column = p + size(k) * stride;
    for (int c = 0; c < k; ++c) {
      const double* before = p + size(c) * stride;
      const double factor = before[k];
      for (int i = k; i < front.rows; ++i) column[i] -= factor * before[i];
    }
    const double inverse = 1.0 / std::sqrt(column[k]);
    for (int i = k; i < front.rows; ++i) column[i] *= inverse;
    for (int i = k + 1; i < front.pivots; ++i) left[i] -= column[i] * column[i];
  }
  return front.pivots;
}

void FrontFactor::choose(double weak) {
  rows_kept_ = 0;
  for (std::size_t f = 0; f < tree_.fronts.size(); ++f) {
    const Front& front = tree_.fronts[f];
    assemble(front);
    for (int i = 0; i < front.pivots; ++i) swap_with_[size(front.first_pivot + i)] = order_[size(front.first_pivot + i)] = i;

    // The natural order serves if all its pivots are strong; otherwise the front is done again with exchanges.
    const std::size_t numbers = size(front.stride) * size(front.pivots);
    std::copy_n(panel(front), numbers, backup_.begin());
    kernel::factor_columns(panel(front), front.stride, front.rows, front.pivots, packing_.data());
    int kept = front.pivots;
    note_ratios(front, kept);
    bool strong = true;
    for (int i = 0; i < front.pivots; ++i)
      strong &= ratio(tree_.row_at[size(front.first_pivot + i)]) > std::max(kSurelyStrong, weak);
    if (!strong) {
      std::copy_n(backup_.begin(), numbers, panel(front));
      kept = factor_pivoted(front, weak);
      note_ratios(front, kept);
    }
    kept_in_front_[f] = kept;
    rows_kept_ += kept;
    for (int i = 0; i < front.pivots; ++i)
      kept_[size(tree_.row_at[size(front.first_pivot + order_[size(front.first_pivot + i)])])] = i < kept;
    pass_on(front, kept);
  }
}

}  // namespace invar
