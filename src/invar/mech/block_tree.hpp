// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "invar/geom/vector.hpp"

namespace invar {

/// Solves linear systems whose blocks form a tree with a border: the unknowns of a node meet those of its inner node, of its
/// outer nodes and of the border, nothing else. No symmetry is asked for. Elimination goes from the leaves to the roots with row
/// exchanges inside a node; what reaches the inner node is a Schur complement on its first `shared` unknowns. The cost is linear
/// in the number of nodes. No heap after construction.
///   own x + by_inner x_inner + border_columns z = r      and the inner node's first equations gain  on_inner x
///   Σ border_rows x + corner z = r_border
class BlockTree {
 public:
  /// Nodes with inner ones first (inner[k] < k, -1 for roots), `size` unknowns each, of which the first `shared` are seen by
  /// outer nodes.
  BlockTree(std::vector<int> inner, std::vector<int> size, int shared, int border);

  int nodes() const { return static_cast<int>(nodes_.size()); }
  int inner(int node) const { return at(node).inner; }
  int size(int node) const { return at(node).size; }
  /// Where the unknowns of a node (and of the border) start in the stacked right side.
  int first(int node) const { return at(node).first; }
  int first_border() const { return total_ - border_; }
  int border() const { return border_; }
  int total() const { return total_; }

  /// Blocks to fill after clear().
  MatX& own(int node) { return nodes_[static_cast<std::size_t>(node)].own; }                        // size x size
  MatX& by_inner(int node) { return nodes_[static_cast<std::size_t>(node)].by_inner; }              // size x shared
  MatX& on_inner(int node) { return nodes_[static_cast<std::size_t>(node)].on_inner; }              // shared x size
  MatX& border_columns(int node) { return nodes_[static_cast<std::size_t>(node)].border_columns; }  // size x border
  MatX& border_rows(int node) { return nodes_[static_cast<std::size_t>(node)].border_rows; }        // border x size
  MatX& corner() { return corner_; }                                                                // border x border
  void clear();

  /// Eliminates all nodes; the border is left as its Schur complement in corner(). Returns -1, or the node in which a column was
  /// left without a pivot above `least` times its largest entry.
  int eliminate(double least);
  /// Factors the corner; false where it is singular by the same measure.
  bool finish(double least);
  /// r becomes the solution. After eliminate and finish. `at_border` may change what is asked of the border once the nodes are
  /// eliminated.
  template <class F>
  void solve(VecX& r, F&& at_border) const {
    forward(r);
    at_border(r.data() + first_border());
    backward(r);
  }
  void solve(VecX& r) const {
    solve(r, [](double*) {});
  }

 private:
  struct Node {
    int inner, size, first;
    MatX own, by_inner, on_inner, border_columns, border_rows;
    std::vector<int> exchange;
    std::vector<char> touched;  // border columns that are not zero in this node
  };
  void forward(VecX& r) const;
  void backward(VecX& r) const;
  const Node& at(int node) const { return nodes_[static_cast<std::size_t>(node)]; }

  std::vector<Node> nodes_;
  int shared_, border_, total_ = 0;
  MatX corner_;
  std::vector<int> corner_exchange_;
};

/// LU with row exchanges in place, the reciprocals of pivots on the diagonal, without heap. False when a column has no pivot
/// above `least` times the largest entry that it had. And the solution for one column.
bool factor_in_place(MatX& a, std::vector<int>& exchange, double least);
void solve_in_place(const MatX& lu, const std::vector<int>& exchange, double* column);

}  // namespace invar
