// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "invar/mech/front_tree.hpp"
#include "invar/mech/rank.hpp"

namespace invar {

/// Factor L D Lᵀ of S = J W Jᵀ + c in fronts, W the inverse masses, with rows that were set aside left out. Without idle
/// directions D = 1. Idle directions are further rows of the structure, from its block first_idle on, one block per body and
/// front: their columns are −J Z, what they have on the diagonal is not positive, and their D is −1 (docs/augmented.md). Rows are
/// those of the KktStructure; vectors of rows are in its order.
class FrontFactor {
 public:
  explicit FrontFactor(const KktStructure& structure);
  /// With idle directions, and the rows that `chosen` kept.
  FrontFactor(const KktStructure& structure, FrontTree tree, int first_idle, const FrontFactor& chosen);

  /// Takes the numbers of S. Without inverse masses W := 1 and c := 1 where c > 0: the neutral metric, geometry only.
  void take(const std::vector<Mat6>& jacobian, const std::vector<Mat6>& inverse_mass, const VecX& compliance);
  void take_neutral(const std::vector<Mat6>& jacobian, const VecX& compliance);

  /// The idle directions of one block, after take: rows of `row` and `column` so that row · W Jᵀ = J · columnᵀ is their share of
  /// S (both −J Z), their diagonal (not positive), and the size of the pivot that strong rows would give.
  void take_idle(int block, const Mat6& row, const Mat6& column, const Vec6& diagonal, const Vec6& size);

  /// Threshold elimination: inside a front the strongest row goes first, rows weaker than `weak` are set aside.
  void choose(double weak);
  /// Plain elimination of the rows kept. Returns a row whose pivot is not positive, or -1.
  int eliminate();

  /// F = S_AA⁻¹ b over the rows kept, 0 on the others.
  void solve(const VecX& b, VecX& F);
  /// The same restricted to the rows of the elimination subtree of `row`, the part of S that is eliminated before it.
  void solve_below(int row, const VecX& b, VecX& F);
  std::span<const int> rows_below(int row) const;
  /// The combination n with n_r = 1 of a row set aside and kept rows before it that is orthogonal to those: lists the rows
  /// where n is not zero and writes them into `n`, which must be zero before.
  void combination(int row, VecX& n, std::vector<int>& rows);

  bool kept(int row) const { return kept_[static_cast<std::size_t>(row)]; }
  int rows_kept() const { return rows_kept_; }
  /// Pivot over its own diagonal entry: the squared sine of the angle between a row and the kept rows before it.
  double ratio(int row) const { return ratio_[static_cast<std::size_t>(row)]; }
  /// Multiply-adds of one factorization.
  double operations() const { return tree_.operations; }
  const FrontTree& tree() const { return tree_; }
  /// Kept rows of a front in the order of elimination, as places among its pivots.
  std::span<const int> kept_pivots(std::size_t front) const {
    return {order_.data() + tree_.fronts[front].first_pivot, static_cast<std::size_t>(kept_in_front_[front])};
  }

  const std::vector<int>& row_at() const { return tree_.row_at; }

 private:
  FrontFactor(const KktStructure& structure, FrontTree tree, int first_idle);
  struct alignas(64) Padded {
    double column[6][8];  // rows 0..5 of a touch, two rows of zeros
  };

  void copy_jacobian(const std::vector<Mat6>& jacobian);
  void assemble(const Front& front);
  void add_products(const Front& front);
  void add_child(const Front& child, const Front& parent);
  void swap_pivots(const Front& front, int a, int b);
  int factor_pivoted(const Front& front, double weak);
  void pass_on(const Front& front, int kept);
  void substitute(std::size_t first, std::size_t last);
  std::size_t home(int row) const;
  void note_ratios(const Front& front, int kept);
  void bring_idle_forward(const Front& front, int kept);
  double* panel(const Front& front) { return panels_.data() + front.panel; }
  double* update(const Front& front) { return stack_[front.parity].data() + front.update; }
  int kept_in(std::size_t f) const { return kept_in_front_[f]; }

  KktStructure structure_;
  FrontTree tree_;
  int first_idle_;                  // block
  std::vector<Padded> j_, t_;       // touches: J and J W
  std::vector<double> compliance_;  // elimination positions
  std::vector<double> idle_size_;   // elimination positions, idle directions only
  std::vector<double> panels_;
  std::vector<double> stack_[2];
  std::vector<double> packing_;
  std::vector<double> backup_;      // largest panel
  std::vector<double> diagonal_;    // elimination positions: S_kk
  std::vector<double> inverse_;     // elimination positions: 1 / L_kk, in pivot order
  std::vector<int> swap_with_;      // elimination positions: local pivot exchanged at each step of its front
  std::vector<int> order_;          // elimination positions: local pivot -> local row in natural order
  std::vector<int> kept_in_front_;  // fronts
  std::vector<char> kept_;          // rows
  std::vector<double> ratio_;       // rows
  std::vector<double> work_;        // elimination positions
  std::vector<double> local_;       // rows of the largest front
  std::vector<int> pending_;        // fronts still to visit in combination()
  int rows_kept_ = 0;
};

}  // namespace invar
