// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/mech/joint_rows.hpp"
#include "invar/mech/kkt_problem.hpp"
#include "invar/mech/kkt_solver.hpp"
#include "invar/mech/scales.hpp"

namespace invar {

/// The unreduced equations of a Model at given Bodies as a dimensionless KktProblem, for solvers and analyses over the joint
/// graph. Blocks: joints that hold something, in the order of the model; then one row per rotor (a freedom with armature, as a
/// row with compliance); then one row per coupling. No heap after construction. Of a whole model, or of a piece of it; bodies are
/// numbered within the piece. Scales: twists (v, ℓ_i ω) with the length of the body, so that the rows of a small body on a large
/// one stay apart; multipliers (f, m/ℓ) with that of the connected part, in which reactions are measured.
class KktAssembly {
 public:
  explicit KktAssembly(const Model& model);
  /// `scales` must outlive the assembly; whoever edits the model measures them.
  KktAssembly(const Model& model, const Scales& scales, Piece piece);

  /// Fills masses, Jacobians and both right sides.
  void fill(const Bodies& bodies, const KktInput& input);

  const KktProblem& problem() const { return problem_; }
  const VecX& force() const { return f_; }
  const VecX& gamma() const { return gamma_; }

  /// What a solution means: accelerations, reactions on the parents at the joint points, effort of a coupling. Of what does not
  /// belong to the piece nothing is written.
  void accelerations(const VecX& x, Accelerations& out) const;
  void reactions(const VecX& F, std::vector<Wrench>& out) const;
  double coupling_effort(const VecX& F, int coupling) const;
  /// And back: the motion x, and the multipliers that stand for given reactions and coupling efforts in that motion.
  VecX motion(const Accelerations& accelerations) const;
  VecX multipliers(const VecX& x, const std::vector<Wrench>& reactions, const VecX& couplings) const;

  /// The body of the model behind one of the problem.
  int body(int index) const { return piece_.bodies[index]; }
  /// Joint or coupling behind a block; the other is -1.
  int joint_of_block(int block) const { return sources_[block].joint; }
  int coupling_of_block(int block) const { return sources_[block].coupling; }
  const Piece& piece() const { return piece_; }
  /// m; by which the rotation of a body of the problem is measured.
  double body_length(int index) const {
    return scales_.body_length[static_cast<std::size_t>(piece_.bodies[static_cast<std::size_t>(index)])];
  }
  /// Direction of a row at its joint, World: (moment; force) of a unit multiplier on the parent, in N m and N.
  const Vec6& direction(int row) const { return direction_[row]; }

 private:
  struct Source {
    int joint = -1;    // joint rows and rotors
    int freedom = -1;  // rotors
    int coupling = -1;
  };
  double length_at(int joint) const { return scales_.length_at(model_.joints()[joint].child); }
  double mass_at(int joint) const { return scales_.mass_at(model_.joints()[joint].child); }
  std::vector<int> touched(const Joint& joint) const;
  void fill_bodies(const Bodies& bodies, const KktInput& input);
  void fill_joint(int block, const Bodies& bodies, const KktInput& input);
  void fill_rotor(int block, const Bodies& bodies, bool rates);
  void fill_coupling(int block, const Bodies& bodies, const KktInput& input);
  void clear_row(int block);
  void add_row(int block, int k, const Joint& joint, const JointAt& at, const Bodies& bodies, const Vec6& row, bool rates);

  KktAssembly(const Model& model, std::unique_ptr<Scales> own, const Scales* scales, Piece piece);

  const Model& model_;
  std::unique_ptr<Scales> own_;  // of a whole model
  const Scales& scales_;
  Piece piece_;
  std::vector<int> index_;           // bodies of the model: in the problem, or -1
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
