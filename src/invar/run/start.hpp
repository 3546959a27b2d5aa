// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "invar/mech/assemble.hpp"
#include "invar/mech/formulation.hpp"
#include "invar/mech/scales.hpp"

namespace invar {

/// Where a motion begins: by joint coordinates, or by the state of every body.
struct Start {
  bool by_bodies = false;
  JointState joints;           ///< by joints; those that nobody named keep the model's [initial], at rest
  std::vector<bool> named;     ///< joints that the start itself names, beyond [initial]; empty: none
  std::vector<bool> follows;   ///< freedoms of named joints that nobody named (of the model; empty: none): a drive names one only
  std::vector<bool> no_place;  ///< joints that are named by their rates alone (empty: none): they are where the others put them
  std::vector<bool> no_rate;   ///< joints that are named without a rate (empty: none): it follows from the others
  std::vector<bool> driven;    ///< freedoms (of the model; empty: none) that drives name: their rates are named in any case
  Bodies bodies;               ///< by bodies: all of them
  bool project = true;         ///< move a start that contradicts the joints onto them; otherwise refuse it
  double tolerance = 1e-9;     ///< rad, or parts of the model's length; per second: what counts as no contradiction
  bool motion = false;         ///< a motion begins there: where branches meet, one of them has to be chosen
  std::string where = {};      ///< in which file and line it is told; empty: by a program
  /// Where the model file tells what a sentence about a refused start is about; empty: `where`.
  std::function<std::string(const std::string& sentence)> place = {};

  Start() = default;
  /// The model's own [initial], at rest.
  explicit Start(const Model& model) : joints(JointState::initial(model)) {}

  /// Whether the start itself names this freedom, of the model and of its joint.
  bool names(const Model& model, std::size_t joint, int freedom) const {
    return !named.empty() && named[joint] &&
           (follows.empty() || !follows[static_cast<std::size_t>(model.joints()[joint].v0 + freedom)]);
  }

  /// Whether it names the rate of this freedom, too.
  bool names_rate(const Model& model, std::size_t joint, int freedom) const {
    const auto of_model = static_cast<std::size_t>(model.joints()[joint].v0 + freedom);
    return names(model, joint, freedom) && (no_rate.empty() || !no_rate[joint] || (!driven.empty() && driven[of_model]));
  }

  /// On which turn the joint angles are: as the joints say; told by nobody where the bodies were given.
  VecX turns(const Model& model) const { return by_bodies ? VecX() : joints.turns(model); }
};

/// What counts as named: a coordinate, or rate, within 1e-6 of (unit + |named|), where the unit is 1 for angles and the length of
/// its connected part for displacements.
class AsNamed {
 public:
  static constexpr double kBound = 1e-6;
  explicit AsNamed(const Model& model) : model_(model), scales_(scales_of(model)) {}

  /// rad or m that count as one.
  double unit(std::size_t joint, int freedom) const;
  /// |is - named| / (unit + |named|), to be compared with the bound.
  double off(std::size_t joint, int freedom, double is, double named) const;
  /// The same of a joint whose coordinates are an attitude: the angle, and the distance over the length; q of the whole model.
  double off_pose(std::size_t joint, const VecX& q, const VecX& named) const;

 private:
  const Model& model_;
  Scales scales_;
};

/// The bodies of a start, on their constraints. What it names is taken as named where loops allow it; where several branches of
/// motion have it so, the one that [initial] lies on is taken. Refused starts name the residual and the joint; where [initial]
/// itself is singular, a motion begins there and names do not choose among its branches, the rates that would; and so where
/// the rates that are named belong to no branch.
Result<Bodies> bodies_at(const Model& model, const Start& start);

/// The same as a state of a formulation, joint angles on the turns that the start names.
Result<State> state_at(Formulation& formulation, const Start& start);

/// What had to give way: a sentence for each joint that was named and does not start as named, because loops or couplings do
/// not let it with the other joints as they are. And which branch was taken, where several meet.
std::vector<std::string> displaced(const Formulation& formulation, const Start& start, const State& x);

}  // namespace invar
