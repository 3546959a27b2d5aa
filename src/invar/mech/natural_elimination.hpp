// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

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
/// Everything is pure numbers inside, with the scales of each connected part (length L, mass m0) and of each body (length l):
/// positions over L, directors over L/l, forces over m0 L, rows over the norm that this gives their gradients. So pivots compare
/// whatever the units, and what is not connected does not influence each other: not by a bit.
/// Closure rows that depend on others are left out (`choose`), and their multipliers are zero. No heap after construction.
///
/// Bodies with directions that have no inertia, or hardly any, may be leaves of the tree that only a closure holds. In parts with
/// closures such directions Z get inertia on loan, and an unknown z of the border takes it back exactly:
///   [A + Z Zᵀ  -Z; Zᵀ  -1] has the Schur complement A on the unknowns of the body, whatever A is.
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
  /// `freedoms`: what the joint graph leaves (Mobility), -1 where nobody asked it. One copy of each is asked for. Where the rows
  /// of the tree do not even hold each other (Singular, NotFinite, with a body) the choice stays as it was, and factor() fails in
  /// the same way until one succeeds. `use` takes the choice of another elimination.
  Verdict choose(const VecX& x, int freedoms = -1);
  void use(const NaturalElimination& other) { active_ = other.active_, directions_ = other.directions_, chosen_ = other.chosen_; }
  int closure_rows() const { return static_cast<int>(active_.size()); }
  /// Directions on loan.
  int lent() const { return lent_; }
  /// Whether row r takes part.
  bool active(int r) const;

  const SpanningTree& tree() const { return spanning_; }

 private:
  struct Place {
    int node;   // -1: border
    int index;  // in the node's rows, or in the border
  };
  int node_of(int body) const { return spanning_.node_of_body[static_cast<std::size_t>(body)]; }
  /// Directions of a body that borrow inertia: axes fixed in it about which turning needs little, and moving.
  struct Loan {
    int body = 0;
    bool moves = false;
    int turns = 0;
    std::array<Vec3, 3> axes = {Vec3::Zero(), Vec3::Zero(), Vec3::Zero()};
    int first = 0;  // of its unknowns
    int count(int dimension) const { return (moves ? dimension : 0) + turns; }
  };
  /// Units of a body: of positions (m), of directors (1), of forces on directors (N m).
  struct Units {
    double position = 1, director = 1, inertia = 1;
  };
  int row_at(const Place& place, int copy) const;
  double unit(int b, int k) const {
    const Units& u = units_[static_cast<std::size_t>(b)];
    return k < coordinates_.dimension() ? u.position : u.director;
  }
  void measure();
  Loan loan_of(int body) const;
  std::vector<Loan> loans() const;
  void turn_loans(const VecX& x);
  void lend();
  double inertia_of_row(int r) const;  // of its connected part
  void drop_inactive();
  Verdict lacking(int node) const;
  template <class F>
  void gather(int r, const VecX& x, bool linear_part, F&& put);

  const NaturalCoordinates& coordinates_;
  std::vector<bool> preferred_;  // per joint: holds a link without mass
  SpanningTree spanning_;
  int copies_, multipliers_;
  std::vector<bool> looped_;    // per connected part
  std::vector<Units> units_;    // per body
  std::vector<double> weight_;  // per row: one over the norm of its gradient, about
  std::vector<Loan> loans_;
  int lent_;                       // their directions
  MatX directions_;                // per_body x lent: Z at the configuration of `choose`
  std::vector<int> rows_of_node_;  // internal rows and those of its joint
  std::vector<Place> place_;       // per row
  std::vector<char> active_;       // per closure row
  Verdict chosen_;                 // of the last choice
  BlockTree tree_;
  VecX right_;                // stacked as the tree has it
  VecX scratch_;              // per_body
  MatX block_;                // per_body x per_body
  VecX size_, inverse_size_;  // per closure row: its square
};

}  // namespace invar
