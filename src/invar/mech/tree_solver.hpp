// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/mech/joint_rows.hpp"
#include "invar/mech/kkt_solver.hpp"
#include "invar/mech/scales.hpp"
#include "invar/mech/spanning_tree.hpp"

namespace invar {

/// What closures, couplings and rotors of cut joints add to one elimination, roughly in ns: columns along their paths, Lambda.
/// Known before anything is allocated.
double closure_cost(const Model& model, const SpanningTree& tree, const Piece& piece);

/// The part of a spanning tree that a piece of the model has.
SpanningTree restricted(const SpanningTree& tree, const Piece& piece);

/// Leaf-to-root elimination over the spanning tree, O(N), with one column per row of every closure and coupling and a dense
/// matrix Lambda between those columns. The reference point of a body is its inner joint, axes are those of World: positions
/// enter only through relative displacements, so accuracy does not depend on the distance from the World origin.
class TreeSolver final : public KktSolver {
 public:
  /// Of a piece of the model; `scales` must outlive the solver.
  TreeSolver(const Model& model, const Scales& scales, const Piece& piece, const SpanningTree& tree);
  ~TreeSolver() override;

  /// Takes the numbers of a model that was edited in place: everything as after construction. False where its spanning tree is
  /// another one now. No heap.
  bool refresh();

  /// Closure rows that depend on others get no force; see closure_rank(). Which ones do is chosen at settled states and stays as
  /// it is through the stages of a step. Again without dynamics: only loads pass.
  Verdict solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                std::vector<Wrench>& reactions) override;

  /// Rows of closures, couplings and rotors of cut joints; how many of them the last solve found independent.
  int closure_rows() const { return rows_; }
  int closure_rank() const { return rank_; }
  /// Those of them that are rotors of cut joints: never dependent.
  int rotor_rows() const { return rotors_; }
  /// The number of independent rows if somebody knows better (an analysis of the geometry); -1: count pivots.
  void set_closure_rank(int rank);
  /// Smallest accepted and largest rejected pivot of the last solve as squared sines: over its own diagonal entry, and (accepted
  /// ones) over what moving everything would give; of loans over what was lent.
  double weakest_kept() const { return weakest_kept_; }
  double strongest_left() const { return strongest_left_; }
  /// The joint of the smallest accepted pivot.
  int weakest_joint() const { return weakest_row_ < 0 ? -1 : joint_of_row(weakest_row_); }
  /// Effort on the driven joint of a coupling in the last solve.
  double coupling_effort(int coupling) const override;

 private:
  struct Store;  // arrays of the kernel's vector types, whose layout follows the build's target and must not reach a header

  void compile_links();
  void compile_columns();
  void mark_starts();
  void compile_balls();
  const Port* gather_loads(const Bodies& bodies, const KktInput& input);
  void kinematics(const Bodies& bodies, const KktInput& input, const Port* port);
  void serial_kinematics(int slot, const Bodies& bodies, bool dynamics);
  void start_columns(const Bodies& bodies, const KktInput& input);
  void start_joint_rows(int closure, const Bodies& bodies, const KktInput& input);
  void start_ball_rows(int closure, const KktInput& input);
  void start_coupling_row(int closure, const Bodies& bodies, const KktInput& input);
  void start_row(int row, const Joint& joint, const JointAt& at, const Vec6& direction, double factor);
  void start_dual_row(int row, int joint, int freedom, double factor, const Bodies& bodies, bool dynamics);
  Verdict eliminate(const KktInput& input);
  Verdict eliminate_with_loans(const Bodies& bodies, const KktInput& input, const Port* port);
  bool lend(double pivot, double floor, double size);
  bool take_back(double pivot, double floor);
  void drop_loans();
  Verdict factor_loans();
  void find_loan_motion();
  void apply_loan_motion();
  Verdict solve_closures(const Bodies& bodies, const KktInput& input);
  Verdict factor_closures(bool settled);
  int next_pivot(int k, double& strongest) const;
  void choose_rows();
  void fill_gram();
  void add_to_gram(int slot, int freedom, bool angular);
  template <class Along>
  void see_freedoms(int slot, int freedoms, Along&& along);
  void reduce_right();
  void find_multipliers();
  void swap_rows(int a, int b);
  int joint_of_row(int row) const;
  void apply_multipliers();
  void expand(const KktInput& input, Accelerations& accelerations, std::vector<Wrench>& reactions);
  void closure_reactions(std::vector<Wrench>& reactions) const;
  void solve_again(const KktInput& input, const Port* port, Accelerations& accelerations, std::vector<Wrench>& reactions);
  void start_loads(const std::vector<Twist>* bias, const Port* port);
  void start_right(const KktInput& input);
  void pass_loads(const KktInput& input);

  const Model& model_;
  const Scales& scales_;
  Piece piece_;
  SpanningTree tree_;
  std::unique_ptr<Store> store_;
  int rows_ = 0, rotors_ = 0, rank_ = 0, wanted_rank_ = -1;
  double weakest_kept_ = 1, strongest_left_ = 0;
  int weakest_row_ = -1;
  int chosen_ = 0;                                // rows chosen at the last settled state, in Store::chosen
  int doubtful_slot_ = 0, doubtful_freedom_ = 0;  // where the last elimination met no inertia, or inertia where it had lent some
  bool returned_ = false;                         // it was the latter
  bool kept_ = false;                             // the last solve was without dynamics: what it found out can be used again
};

}  // namespace invar
