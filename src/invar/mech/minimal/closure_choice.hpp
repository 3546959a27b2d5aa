// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

// Which rows of closures count, which freedoms they bind, and in which order. For the sources of this folder only.
namespace invar {

/// A number of a row in one column, and how large it would be if nothing cancelled: its round-off is relative to the latter.
struct ClosureEntry {
  int column;
  double value, size;
};
using ClosureRow = std::vector<ClosureEntry>;  // by column

/// As many rows as columns, of full rank; ascending.
struct ClosureChoice {
  std::vector<int> rows, columns;
};

/// Gaussian elimination with pivots from anywhere: the largest ones, of those nearly as large (a tenth) columns of few loops;
/// columns that are wanted as independent ones come last.
/// One decision of rank: rows and columns are scaled until the largest size in each of them is 1; a pivot counts where it is then
/// above 1e-9. So the decision is geometry, loop by loop: no unit, no mass and no other loop has a say. Where the `rank` is known
/// from all equations of the mechanism (-1: it is not) no more pivots than that are taken, and as many, down to 1e-13.
ClosureChoice choose_closures(std::vector<ClosureRow> rows, const std::vector<bool>& wanted, const std::vector<int>& loops,
                              int rank);

/// Rows that are closed together.
struct ClosureGroup {
  std::vector<int> kept, others, columns;  ///< rows that count, as many as columns; rows that follow from them and earlier groups
};

/// The finest order in which dependent columns follow from each other: a group sees its own columns and those of groups before
/// it, whatever the configuration (block triangular form: a perfect matching and its strongly connected components). `touches`:
/// per row the columns that it can ever see.
std::vector<ClosureGroup> order_closures(const std::vector<std::vector<int>>& touches, const ClosureChoice& choice);

}  // namespace invar
