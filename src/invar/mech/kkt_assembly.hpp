// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/joint_rows.hpp"
#include "invar/mech/kkt_problem.hpp"
#include "invar/mech/kkt_solver.hpp"

namespace invar {

/// The unreduced equations of a Model at given Bodies as a dimensionless KktProblem (scales: model.length(), model.mean_mass()),
/// for solvers and analyses over the joint graph. Blocks: joints that hold something, in the order of the model; then one row
/// per rotor (a freedom with armature, as a row with compliance); then one row per coupling. No heap after construction.
class KktAssembly {
 public:
  explicit KktAssembly(const Model& model);

  /// Fills masses, Jacobians and both right sides.
  void fill(const Bodies& bodies, const KktInput& input);

  const KktProblem& problem() const { return problem_; }
  const VecX& force() const { return f_; }
  const VecX& gamma() const { return gamma_; }

  /// What a solution means: accelerations, reactions on the parents at the joint points, effort of a coupling.
  void accelerations(const VecX& x, Accelerations& out) const;
  void reactions(const VecX& F, std::vector<Wrench>& out) const;
  double coupling_effort(const VecX& F, int coupling) const;
  /// And back: the motion x, and the multipliers that stand for given reactions and coupling efforts in that motion.
  VecX motion(const Accelerations& accelerations) const;
  VecX multipliers(const VecX& x, const std::vector<Wrench>& reactions, const VecX& couplings) const;

  /// Joint or coupling behind a block; the other is -1.
  int joint_of_block(int block) const { return sources_[block].joint; }
  int coupling_of_block(int block) const { return sources_[block].coupling; }
  /// Direction of a row at its joint, World: (moment; force) of a unit multiplier on the parent, in N m and N.
  const Vec6& direction(int row) const { return direction_[row]; }

 private:
  struct Source {
    int joint = -1;    // joint rows and rotors
    int freedom = -1;  // rotors
    int coupling = -1;
  };
  void fill_bodies(const Bodies& bodies, const KktInput& input);
  void fill_joint(int block, const Bodies& bodies, const KktInput& input);
  void fill_rotor(int block, const Bodies& bodies, bool rates);
  void fill_coupling(int block, const Bodies& bodies, const KktInput& input);
  void add_row(int block, int k, const Joint& joint, const JointAt& at, const Bodies& bodies, const Vec6& row, bool rates);

  const Model& model_;
  std::vector<Source> sources_;      // per block
  std::vector<int> block_of_joint_;  // -1: holds nothing
  std::vector<int> block_of_coupling_;
  KktProblem problem_;
  VecX f_, gamma_;               // 6 bodies, rows
  std::vector<Vec6> direction_;  // rows
  std::vector<double> norm_;     // rows: what a row was divided by
  std::vector<JointAt> at_;      // joints
};

}  // namespace invar
