// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <vector>

#include "invar/mech/kkt_problem.hpp"

namespace invar {

/// One product T_a J_bᵀ of S: rows of the block that touch b belongs to, columns of the block of touch a.
struct FrontProduct {
  int touch_row = 0;       ///< b
  int touch_column = 0;    ///< a
  int columns = 0;         ///< rows of the column block
  std::size_t target = 0;  ///< offset of its first entry in the panel storage
};

/// Rows of an update matrix that stay together in the parent: source .. +length go to target .. +length (local indices).
struct FrontRun {
  int source = 0, target = 0, length = 0;
};

/// A dense piece of the Cholesky factor: `pivots` columns, `rows` = pivots + update rows, all in elimination order.
struct Front {
  int first_pivot = 0;  ///< elimination position of its first row
  int pivots = 0;       ///< rows, then idle directions
  int idle = 0;         ///< how many of them are idle directions
  int rows = 0;
  int parent = -1;
  int first_descendant = 0;             ///< fronts first_descendant .. this one are its subtree
  int first_child = 0, children = 0;    ///< into FrontTree::children
  int first_update = 0;                 ///< into FrontTree::update_positions
  int first_product = 0, products = 0;  ///< into FrontTree::products
  int first_run = 0, runs = 0;          ///< into FrontTree::runs: its update rows in the parent
  int stride = 0, update_stride = 0;    ///< leading dimensions, multiples of 8
  std::size_t panel = 0;                ///< offset of rows x pivots in the panel storage
  std::size_t update = 0;               ///< offset of update x update in the stack of its parity
  int parity = 0;                       ///< which of the two stacks: depth modulo 2
  int updates() const { return rows - pivots; }
};

/// What a front eliminates and couples, in blocks; a front comes before its parent.
struct FrontPiece {
  std::vector<int> pivots;
  std::vector<int> updates;
  int parent = -1;
};

/// Symbolic analysis of S = J M⁻¹ Jᵀ, once per topology: a fill-reducing order of the blocks, fronts in postorder, and the
/// index lists that assembly and substitution follow. Law: every nonzero of the factor lies in a front.
struct FrontTree {
  explicit FrontTree(const KktStructure& structure);
  /// The same fronts with idle directions in them: blocks from first_idle on, which stand last among the pivots of their front.
  FrontTree(const KktStructure& structure, std::vector<FrontPiece> pieces, int first_idle);

  std::vector<FrontPiece> pieces;     // as laid out below
  std::vector<Front> fronts;          // postorder
  std::vector<int> children;          // fronts
  std::vector<int> update_positions;  // elimination positions of the update rows of each front
  std::vector<FrontProduct> products;
  std::vector<FrontRun> runs;
  std::vector<int> position_of_block;  // elimination position of the first row of each block
  std::vector<int> row_at;             // elimination position -> row of the problem
  std::vector<int> front_at;           // elimination position -> front
  std::size_t panel_size = 0;          // doubles
  std::size_t stack_size[2] = {0, 0};  // doubles, per parity
  int largest_front = 0;               // rows
  std::size_t largest_panel = 0;       // doubles
  double operations = 0;               // multiply-adds of one factorization
};

/// A step of the elimination of blocks: blocks that go together, and the later blocks their elimination couples.
struct EliminationStep {
  std::vector<int> pivots;  ///< blocks
  std::vector<int> updates;
  int parent = -1;  ///< the step in which the coupled blocks are assembled next
};

/// Approximate minimum degree on the block graph (blocks sharing a body are adjacent), weighted by rows. Parents come later.
std::vector<EliminationStep> minimum_degree(const KktStructure& structure);

}  // namespace invar
