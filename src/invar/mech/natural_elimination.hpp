// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/base/status.hpp"
#include "invar/mech/block_tree.hpp"
#include "invar/mech/natural_coordinates.hpp"
#include "invar/mech/spanning_tree.hpp"

namespace invar {

/// Linear systems of natural coordinates by structure. Unknowns: `copies` vectors like x and `multipliers` vectors like the rows
/// (one of each for accelerations, several for stages of a step); as many equations. A node of the tree holds the unknowns of a
/// body, of its internal rows and of the rows of the joint that it hangs on; rows of closures form the border. Blocks between
/// bodies that are no neighbours in the tree are left out: who iterates converges linearly where they matter.
///
/// Everything is pure numbers inside: positions over the length l of the model, equations of forces over mean mass times l²
/// (times l for positions), so that pivots compare whatever the units. Closure rows that depend on others are left out
/// (`choose`), and their multipliers are zero. No heap after construction.
class NaturalElimination {
 public:
  NaturalElimination(const NaturalCoordinates& coordinates, int copies, int multipliers);

  /// Takes the scales of a model that was edited in place. False where its spanning tree is another one now. No heap.
  bool refresh();

  int copies() const { return copies_; }
  int multipliers() const { return multipliers_; }
  /// Whether body b hangs on body a or a on b, or they are the same.
  bool neighbours(int a, int b) const;

  /// Sets everything to zero.
  void clear() { tree_.clear(); }
  /// Adds factor times the block (per_body square) to the equations of copy e of body a, by the unknowns of copy u of body b.
  /// Nothing happens for bodies that are not neighbours.
  void add(int e, int a, int u, int b, double factor, const MatX& block);
  /// Adds factor G_r(x) to the equation of row r (copy e of the rows), by the unknowns of copy u. `linear_part`: without the
  /// constant part of G, so that x may be a velocity.
  void add_row(int e, int r, int u, double factor, const VecX& x, bool linear_part = false);
  /// Adds factor G_r(x)ᵀ to the equations of copy e, by the multiplier of row r, copy u of the multipliers.
  void add_force(int e, int r, int u, double factor, const VecX& x, bool linear_part = false);
  /// Adds factor Σ_r mu_r d²g_r/dx² to the equations of copy e by the unknowns of copy u.
  void add_curvature(int e, int u, double factor, const VecX& mu);

  /// Factors. NoInertia with the body and its joint where a pivot is missing; Singular where closures leave one missing.
  Verdict factor();
  /// Right sides in, solution out: copies x (size of x) and multipliers x (rows), copy after copy. SI units outside.
  void solve(VecX& coordinates, VecX& rows);

  /// Decides at x which closure rows are independent of all others; overwrites the matrix. Rank is geometry: masses do not enter.
  /// One copy of each is asked for. `use` takes the choice of another elimination over.
  void choose(const VecX& x);
  void use(const NaturalElimination& other) { active_ = other.active_; }
  int closure_rows() const { return static_cast<int>(active_.size()); }
  /// Whether row r takes part.
  bool active(int r) const;

  const SpanningTree& tree() const { return spanning_; }

 private:
  struct Place {
    int node;   // -1: border
    int index;  // in the node's rows, or in the border
  };
  int node_of(int body) const { return spanning_.node_of_body[static_cast<std::size_t>(body)]; }
  int row_at(const Place& place, int copy) const;
  double unit(int k) const { return k < coordinates_.dimension() ? length_ : 1.0; }
  void drop_inactive();
  Verdict lacking(int node) const;
  template <class F>
  void gather(int r, const VecX& x, bool linear_part, F&& put);

  const NaturalCoordinates& coordinates_;
  std::vector<bool> preferred_;  // per joint: holds a link without mass
  SpanningTree spanning_;
  int copies_, multipliers_;
  double length_, inertia_;        // l, and mean mass times l²
  std::vector<int> rows_of_node_;  // internal rows and those of its joint
  std::vector<Place> place_;       // per row
  std::vector<char> active_;       // per closure row
  BlockTree tree_;
  VecX right_;    // stacked as the tree has it
  VecX scratch_;  // per_body
  MatX block_;    // per_body x per_body
  VecX size_;     // per closure row: its square
};

}  // namespace invar
