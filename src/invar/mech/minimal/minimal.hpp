// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/augmented.hpp"
#include "invar/mech/minimal/joint_tree.hpp"

namespace invar {

struct MinimalOptions {
  bool verdicts = true;  ///< as in AugmentedOptions
};

/// Paper B: an ordinary differential equation in the degrees of freedom, closed chains included.
/// State: q, v are coordinates and rates of all joints of a spanning tree (JointTree). The independent ones are integrated; the
/// others follow from them exactly at every evaluation and are kept as the place where that search starts.
/// Accelerations come from the elimination over the body-joint graph at the Bodies of q, v: O(N) for trees. The matrices of the
/// paper are made on demand (Partition).
/// Law: no drift, whatever the step: joints and closures hold to round-off at every state; and no jump: an evaluation on another
/// branch than the last settled state, beyond a singular configuration of the chosen freedoms, ends in Status::Singular, and so
/// does a step in which freedoms that depend turn back because those that drive them do.
class Minimal final : public Formulation {
 public:
  explicit Minimal(const Model& model, const MinimalOptions& options = {});

  using Formulation::set;
  void set(const Bodies& bodies, State& x, const VecX& turns) override;
  void bodies(const State& x, Bodies& out) const override;
  Verdict rate(const State& x, const Load& load, Rate& rate) override;
  Verdict evaluate(const State& x, const Load& load, Evaluation& out) override;
  void retract(const State& from, const VecX& u, State& to) const override;
  void pull(const VecX& u, const VecX& v, VecX& u_dot) const override;
  const Mobility& mobility() const override { return mobility_; }
  std::string chosen_coordinates() const override;
  /// Ends a step; chooses other independent freedoms where the present ones describe the motion badly.
  Verdict settle(State& x) override;
  double prepare_step(const State& x, double h, bool whole) override;
  long equations() const override { return unreduced_.equations(); }
  Through through(std::size_t group) const override { return unreduced_.through(group); }
  LedOver led_over() const override { return unreduced_.led_over(); }
  [[nodiscard]] bool adopt(const Change& change) override;

  /// A joint of loops that leave no motion and are held as they stand (-1: couplings only); nothing where none are.
  std::optional<int> standing() const { return unreduced_.standing(); }

  JointTree& tree() { return tree_; }
  const JointTree& tree() const { return tree_; }

 private:
  Verdict complete(const State& x) const;
  void choose(const State& x, int dependent, double fastest);
  void choose_anew(const State& x, int dependent, double fastest);
  bool used_up(double gain) const;
  bool turned_back(const State& x, double gain) const;
  void look_around();
  Verdict settle_in_band(State& x);

  JointTree tree_;
  Augmented unreduced_;
  mutable VecX whole_q_, whole_v_;  // of the state being worked on, with what depends
  mutable Bodies bodies_;           // there
  Accelerations accelerations_;
  std::vector<Wrench> reactions_;
  VecX q_, v_;            // of all joints
  double gain_ = 0;       // when freedoms were chosen last
  double last_gain_ = 0;  // at the last settled state
  double condition_ = 1;  // of Φ_d at the last settled state
  Mobility mobility_;
  long charts_ = 0;  // how often other independent freedoms were taken
};

}  // namespace invar
