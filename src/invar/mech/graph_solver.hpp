// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/kkt_assembly.hpp"
#include "invar/mech/least_norm.hpp"
#include "invar/mech/redundancy.hpp"

namespace invar {

/// The unreduced equations over the joint graph, in fronts: many loops, massless bodies, ideal rods. It decides how many rows of
/// the piece count, for the tree elimination too: at the first state, and again whenever a pivot tells that the rank may have
/// changed, or that others serve better. (Off the constraints dependent rows seem independent: there a row counts beyond the rank
/// known before only where the gaps of joints cannot explain it.)
/// No heap but where the rank is decided or reactions of least norm are asked for.
class GraphSolver final : public KktSolver {
 public:
  GraphSolver(const Model& model, const Scales& scales, const Piece& piece);

  Verdict solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                std::vector<Wrench>& reactions) override;
  double coupling_effort(int coupling) const override { return assembly_.coupling_effort(F_, coupling); }

  /// Takes the numbers of a model that was edited in place: everything as after construction. No heap.
  void refresh();

  /// The next solve decides anew, as the first one did.
  void forget() { fronts_.forget(), decided_ = factored_ = false; }
  /// Decides the rank of all rows in the neutral metric.
  Verdict decide(const Bodies& bodies, const KktInput& input);
  const RankDecision& decision() const { return fronts_.decision(); }
  int freedoms() const { return fronts_.mobility(); }
  /// Squared sine of the weakest row at the last solve.
  double weakest() const { return fronts_.weakest(); }
  /// A joint with a row that was left out; -1 where there is none.
  int joint_left_out() const;

  /// Self-stresses, shares and groups at these bodies; allocates, for evaluations and reports. Whoever looks changes nothing: the
  /// rows that solve() keeps stay as they are. `coupling_q`: see KktInput.
  Redundancy analyse(const Bodies& bodies, const VecX* coupling_q = nullptr);
  /// Replaces the reactions and coupling efforts of a solution by those that cause the same motion and have the least sum
  /// of |f|² + |m|²/l² (l of the connected part) at the joint points; accelerations are refined along. Fails, and leaves all as
  /// it was, where the self-stresses cannot be told. Allocates.
  Verdict least_norm(const Bodies& bodies, const KktInput& input, Accelerations& accelerations, std::vector<Wrench>& reactions,
                     VecX& couplings);
  /// The problem looked at last, to read rows back as joints.
  const KktAssembly& assembly() const { return assembly_; }

 private:
  Verdict named(Verdict verdict) const;
  KnownRank known(const Bodies& bodies, const KktInput& input) const;
  Verdict check_rows_left_out(const Bodies& bodies, const KktInput& input);
  Redundancy analyse_filled(const Bodies& bodies, const KktInput& input);
  Verdict project(const Bodies& bodies, const KktInput& input);
  Verdict solve_as_decided(const Bodies& bodies, const KktInput& input, bool& doubt);
  bool factored_at(const Bodies& bodies, const VecX* turns) const;
  Verdict factor(const Bodies& bodies, const KktInput& input);

  const Model& model_;
  const Scales& scales_;
  bool decided_ = false;
  KktAssembly assembly_;
  FrontSolver fronts_;
  std::unique_ptr<FrontSolver> analyst_;  // decides for analyses
  std::unique_ptr<LeastNorm> least_norm_;
  // Where the fronts were factorized last: poses of the piece's bodies, driving coordinates of couplings if they were told.
  bool factored_ = false, with_turns_ = false;
  std::vector<Pose> factored_poses_;
  VecX factored_turns_;
  VecX x_, F_;              // 6 bodies, rows
  VecX rest_;               // rows
  VecX rf_, rg_, dx_, dF_;  // of least_norm
};

}  // namespace invar
