// SPDX-License-Identifier: Apache-2.0
// All products have the form C -= A B^T with A and B rows of the same panel. One register tile of 2 vectors x 4 columns does
// them; small depths read the panel in place, large ones a packed copy in which 2 vectors of rows lie together per column.
#include "invar/mech/front_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/front_lanes.hpp"

namespace invar::kernel {
namespace {

constexpr int kTile = 2 * kLanes;  // rows of a register tile
constexpr int kDepth = 96;         // columns packed at a time
constexpr int kPackedFrom = 64;    // rows from which packing pays

inline std::size_t at(int row, int column, int stride) {
  return static_cast<std::size_t>(row) + static_cast<std::size_t>(column) * static_cast<std::size_t>(stride);
}

enum class Sign { Minus, Plus };

// C (V vectors x columns) -= A B^T (or +=), steps of A and B from one column of the product to the next.
template <int V, int Columns, Sign S = Sign::Minus>
inline void tile(double* c, int c_stride, const double* a, const double* b, int step, int depth) {
  Lanes sum[Columns][V] = {};
  for (int p = 0; p < depth; ++p) {
    Lanes left[V];
    for (int v = 0; v < V; ++v) left[v] = reinterpret_cast<const Lanes*>(a)[v];
    for (int k = 0; k < Columns; ++k)
      for (int v = 0; v < V; ++v) sum[k][v] += left[v] * b[k];
    a += step;
    b += step;
  }
  for (int k = 0; k < Columns; ++k)
    for (int v = 0; v < V; ++v) {
      Lanes& entry = reinterpret_cast<Lanes*>(c + at(0, k, c_stride))[v];
      entry = S == Sign::Minus ? entry - sum[k][v] : entry + sum[k][v];
    }
}

template <int Columns, Sign S>
inline void strip(double* c, int c_stride, int rows, const double* a, const double* b, int stride, int depth) {
  int i = 0;
  for (; i + kLanes < rows; i += kTile) tile<2, Columns, S>(c + i, c_stride, a + i, b, stride, depth);
  if (i < rows) tile<1, Columns, S>(c + i, c_stride, a + i, b, stride, depth);
}

template <Sign S = Sign::Minus>
inline void subtract_strip(double* c, int c_stride, int rows, int columns, const double* a, const double* b, int stride,
                           int depth) {
  switch (columns) {
    case 1: return strip<1, S>(c, c_stride, rows, a, b, stride, depth);
    case 2: return strip<2, S>(c, c_stride, rows, a, b, stride, depth);
    case 3: return strip<3, S>(c, c_stride, rows, a, b, stride, depth);
    default: return strip<4, S>(c, c_stride, rows, a, b, stride, depth);
  }
}

template <int Columns>
inline void packed_tile(double* c, int c_stride, bool whole, const double* a, const double* b, int depth) {
  if (whole)
    tile<2, Columns>(c, c_stride, a, b, kTile, depth);
  else
    tile<1, Columns>(c, c_stride, a, b, kTile, depth);
}

// Rows in groups of kTile, each group column after column.
void pack(const double* l, int stride, int rows, int depth, double* packing) {
  for (int i = 0; i < rows; i += kTile)
    for (int p = 0; p < depth; ++p, packing += kTile)
      for (int r = 0; r < kTile; ++r) packing[r] = l[at(i + r, p, stride)];
}

// Lower trapezoid C (rows x columns) -= L L_top^T with L (rows x depth) packed.
void subtract_packed(double* c, int c_stride, int rows, int columns, const double* packing, int depth) {
  for (int i = 0; i < rows; i += kTile) {
    const double* a = packing + static_cast<std::size_t>(i) * static_cast<std::size_t>(depth);
    const bool whole = i + kLanes < rows;
    const int end = std::min(columns, i + kTile);
    for (int j = 0; j < end; j += 4) {
      const double* b = packing + static_cast<std::size_t>(j / kTile * kTile) * static_cast<std::size_t>(depth) + j % kTile;
      double* target = c + at(i, j, c_stride);
      switch (end - j) {
        case 1: packed_tile<1>(target, c_stride, whole, a, b, depth); break;
        case 2: packed_tile<2>(target, c_stride, whole, a, b, depth); break;
        case 3: packed_tile<3>(target, c_stride, whole, a, b, depth); break;
        default: packed_tile<4>(target, c_stride, whole, a, b, depth);
      }
    }
  }
}

// Columns j .. j+n-1 (n <= 4) once all earlier columns are subtracted: Cholesky of the n x n corner, then all rows at once.
template <int N>
void factor_corner(double* panel, int stride, int rows, int j) {
  double l[N][N];  // multipliers
  double inverse[N];
  for (int b = 0; b < N; ++b) {
    double d = panel[at(j + b, j + b, stride)];
    for (int k = 0; k < b; ++k) d -= l[b][k] * l[b][k];
    inverse[b] = 1.0 / std::sqrt(d);
    for (int r = b + 1; r < N; ++r) {
      double sum = panel[at(j + r, j + b, stride)];
      for (int k = 0; k < b; ++k) sum -= l[r][k] * l[b][k];
      l[r][b] = sum * inverse[b];
    }
  }
  for (int i = j / 8 * 8; i < rows; i += kLanes) {
    Lanes done[N];
    for (int b = 0; b < N; ++b) {
      Lanes& entry = *reinterpret_cast<Lanes*>(panel + at(i, j + b, stride));
      Lanes sum = entry;
      for (int k = 0; k < b; ++k) sum -= done[k] * l[b][k];
      entry = done[b] = sum * inverse[b];
    }
  }
}

void factor_corner(double* panel, int stride, int rows, int j, int n) {
  switch (n) {
    case 1: return factor_corner<1>(panel, stride, rows, j);
    case 2: return factor_corner<2>(panel, stride, rows, j);
    case 3: return factor_corner<3>(panel, stride, rows, j);
    default: return factor_corner<4>(panel, stride, rows, j);
  }
}

void factor_in_place(double* panel, int stride, int rows, int columns) {
  for (int j = 0; j < columns; j += 4) {
    const int n = std::min(4, columns - j);
    const int top = j / 8 * 8;
    if (j > 0) subtract_strip(panel + at(top, j, stride), stride, rows - top, n, panel + top, panel + j, stride, j);
    factor_corner(panel, stride, rows, j, n);
  }
}

}  // namespace

std::size_t packing_size(int rows) { return static_cast<std::size_t>((rows / kTile + 1) * kTile) * kDepth; }

void factor_columns(double* panel, int stride, int rows, int columns, double* packing) {
  for (int j = 0; j < columns; j += kDepth) {
    const int depth = std::min(kDepth, columns - j);
    factor_in_place(panel + at(j, j, stride), stride, rows - j, depth);
    const int next = j + depth;
    if (next >= columns) break;
    pack(panel + at(next, j, stride), stride, rows - next, depth, packing);
    subtract_packed(panel + at(next, next, stride), stride, rows - next, columns - next, packing, depth);
  }
}

// Four columns at a time: what the rows before leave, turned in sign, then what the idle directions before leave of that.
void factor_idle(double* panel, int stride, int rows, int first, int columns) {
  for (int j = first; j < first + columns; j += 4) {
    const int n = std::min(4, first + columns - j);
    const int top = j / 8 * 8;
    if (first > 0) subtract_strip(panel + at(top, j, stride), stride, rows - top, n, panel + top, panel + j, stride, first);
    for (int k = j; k < j + n; ++k)
      for (int i = top; i < rows; ++i) panel[at(i, k, stride)] = -panel[at(i, k, stride)];
    if (j > first)
      subtract_strip(panel + at(top, j, stride), stride, rows - top, n, panel + at(top, first, stride),
                     panel + at(j, first, stride), stride, j - first);
    factor_corner(panel, stride, rows, j, n);
  }
}

void add_square(double* u, int u_stride, int n, const double* l, int stride, int depth) {
  for (int j = 0; j < n; j += 4) {
    const int top = j / 8 * 8;
    subtract_strip<Sign::Plus>(u + at(top, j, u_stride), u_stride, n - top, std::min(4, n - j), l + top, l + j, stride, depth);
  }
}

void subtract_square(double* u, int u_stride, int n, const double* l, int stride, int depth, double* packing) {
  if (n < kPackedFrom) {
    for (int j = 0; j < n; j += 4) {
      const int top = j / 8 * 8;
      subtract_strip(u + at(top, j, u_stride), u_stride, n - top, std::min(4, n - j), l + top, l + j, stride, depth);
    }
    return;
  }
  for (int p = 0; p < depth; p += kDepth) {
    const int chunk = std::min(kDepth, depth - p);
    pack(l + at(0, p, stride), stride, n, chunk, packing);
    subtract_packed(u, u_stride, n, n, packing, chunk);
  }
}

// Eight columns at a time: the 8 x 8 corner entry by entry, the rows below it in octets. Padding rows of the panel are zero.
void substitute_down(const double* panel, int stride, int rows, int columns, const double* inverse, double* w) {
  for (int k0 = 0; k0 < columns; k0 += 8) {
    const int n = std::min(8, columns - k0);
    const double* block = panel + at(0, k0, stride);
    for (int k = 0; k < n; ++k) {
      const double* column = block + at(k0, k, stride);
      const double pivot = w[k0 + k] *= inverse[k0 + k];
      for (int i = k + 1; i < 8; ++i) w[k0 + i] -= column[i] * pivot;
    }
    for (int i = k0 + 8; i < rows; i += 8) {
      Octet sum = Octet::load(w + i);
      for (int k = 0; k < n; ++k) sum.subtract(Octet::load(block + at(i, k, stride)), w[k0 + k]);
      sum.store(w + i);
    }
  }
}

void substitute_up(const double* panel, int stride, int rows, int columns, const double* inverse, double* w) {
  for (int i = rows; i < (rows + 7) / 8 * 8; ++i) w[i] = 0;
  for (int k0 = (columns - 1) / 8 * 8; k0 >= 0; k0 -= 8) {
    const int n = std::min(8, columns - k0);
    const double* block = panel + at(0, k0, stride);
    double left[8][8] = {};
    for (int k = 0; k < n && k0 + 8 < rows; ++k) {
      Octet sum = {};
      for (int i = k0 + 8; i < rows; i += 8) sum.add(Octet::load(block + at(i, k, stride)), Octet::load(w + i));
      sum.store(left[k]);
    }
    for (int k = n; k-- > 0;) {
      const double* column = block + at(k0, k, stride);
      double sum = w[k0 + k];
      for (int i = k + 1; i < 8; ++i) sum -= column[i] * w[k0 + i];
      const double* l = left[k];
      sum -= ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]));
      w[k0 + k] = sum * inverse[k0 + k];
    }
  }
}

}  // namespace invar::kernel
