// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "invar/mech/branch.hpp"
#include "invar/mech/joint_rows.hpp"
#include "invar/mech/kkt_assembly.hpp"

namespace invar {

/// Takes a motion through singular configurations of its loops. Within a band around one the weak rows, which vanish there, are
/// replaced by the complement of the tangent as it is known from regular configurations on both sides (Branch):
///   J_A a = γ_A,   Ĝ(x)ᵀ v' = -ẋ (dĜ/dx)ᵀ v,    v the rates of the spanning tree;
/// velocities are settled on the same rows, positions on J_A alone: what is missing of the weak ones is closed behind the band.
/// The equations change between steps only. Dense in the freedoms of the tree, a = T v' + τ; for groups of up to 160 freedoms.
/// Outside bands an ordinary step costs a comparison. It allocates where a band is entered: once for a loop of one freedom, at
/// every step of the band where there are more.
class Passage final : public KktSolver {
 public:
  explicit Passage(const Model& model);

  /// Begins a motion.
  void begin(const Bodies& bodies, const VecX& wound);

  /// Before a step of about h from settled bodies: enters, keeps or leaves a band. Returns how long the step may be so as to end
  /// no later than where the next band begins, or this one ends; h itself where steps are `whole`. `sine`: of the weakest row as
  /// the solver knows it.
  double prepare(const Bodies& bodies, const VecX& wound, double h, bool whole, double sine);

  bool active() const { return !active_.empty(); }
  /// Whether a singular configuration lay ahead, or behind, when rows were looked at last.
  bool watching() const { return watching_; }
  /// Changes whenever the equations do.
  long version() const { return version_; }

  /// What solve is asked for.
  enum class Level { Acceleration, Velocity, Position };
  void set_level(Level level) { level_ = level; }

  /// In a band. Reactions are those of least norm over all rows at these bodies; they may grow without bound.
  Verdict solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                std::vector<Wrench>& reactions) override;
  double coupling_effort(int coupling) const override { return assembly_.coupling_effort(F_, coupling); }

 private:
  struct Seen {
    VecX q, v;  // of the tree
  };
  /// Memory of one group that is looked at.
  struct Watched {
    LoopWork work;
    LoopRank here;
    VecX t;
  };
  struct Reduction;  // memory of one solve
  void learn_rank(std::size_t group);
  bool leave(const Seen& at);
  double look(const Bodies& bodies, const Seen& at, const VecX& wound, double h, bool whole);
  double approach(std::size_t group, const Seen& at, const VecX& wound, double h, bool whole);
  bool enter(std::size_t group, const Seen& at, const VecX& wound, const VecX& t, double centre, int directions, double half);
  void choose_rows();
  void reserve_solves();
  void walk(const Bodies& bodies, const KktInput& input);
  void constrain(const KktInput& input);
  void add_border(const Branch& branch, Eigen::Index first);
  Reduction& reduction();
  Verdict reduce();
  void react(std::vector<Wrench>& reactions);
  int assembly_row(const Loops::Row& row) const;

  const Model& model_;
  Loops loops_;
  KktAssembly assembly_;
  std::vector<int> first_row_of_joint_, row_of_coupling_;
  std::vector<int> regular_;                     // per group: its rank
  std::vector<bool> too_large_;                  // per group
  std::vector<std::optional<Watched>> watched_;  // per group; none: too large
  std::vector<Branch> active_;
  std::vector<int> kept_;  // rows of the assembly, in bands
  long version_ = 0;
  Level level_ = Level::Acceleration;
  VecX wound_;
  Bodies before_;
  double budget_ = 0, sine_ = 1;
  bool watching_ = false, begun_ = false;
  Seen seen_;    // before the step
  VecX u_, du_;  // of a group

  // One solve.
  std::vector<JointAt> at_;  // per joint
  MatX T_;                   // 6 bodies x freedoms: scaled twists
  VecX tau_, x_, F_;         // 6 bodies; 6 bodies; rows
  Seen now_;
  MatX G_, dG_;
  VecX border_u_, border_du_, border_v_;
  std::shared_ptr<Reduction> full_, positions_;  // with Ĝ and without
};

}  // namespace invar
