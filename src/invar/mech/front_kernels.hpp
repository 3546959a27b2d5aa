// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace invar::kernel {

/// Dense kernels of a front. Matrices are column-major with a stride that is a multiple of 8; only the lower part counts, and
/// entries above the diagonal and in the padding rows may be overwritten. Storage must reach 16 doubles past the last column.

/// Doubles that the packing buffer of factor_columns and subtract_square needs for matrices of at most `rows` rows.
std::size_t packing_size(int rows);

/// Cholesky of the leading `columns` columns of a rows x columns panel: L L^T = P there, and the rows below are solved for.
/// A pivot that is not positive leaves a NaN on the diagonal.
void factor_columns(double* panel, int stride, int rows, int columns, double* packing);

/// The columns behind them whose pivots are negative: columns first .. first+columns-1 become L with D = -1, P = L D L^T.
void factor_idle(double* panel, int stride, int rows, int first, int columns);

/// U += L L^T on the lower part, L being n x depth: what such columns leave.
void add_square(double* u, int u_stride, int n, const double* l, int stride, int depth);

/// U -= L L^T on the lower part, L being n x depth.
void subtract_square(double* u, int u_stride, int n, const double* l, int stride, int depth, double* packing);

/// w := L^-1 w for the first `columns` entries, and w -= L w for the rows below them. `inverse` holds 1 / L_kk; padding rows
/// of the panel must be zero, and w must reach to the next multiple of eight.
void substitute_down(const double* panel, int stride, int rows, int columns, const double* inverse, double* w);

/// w := L^-T (w - L_below^T w_below) for the first `columns` entries.
void substitute_up(const double* panel, int stride, int rows, int columns, const double* inverse, double* w);

}  // namespace invar::kernel
