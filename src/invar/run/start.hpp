// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/assemble.hpp"
#include "invar/mech/formulation.hpp"

namespace invar {

/// Where a motion begins: by joint coordinates, or by the state of every body.
struct Start {
  bool by_bodies = false;
  JointState joints;          ///< by joints; those that nobody named keep the model's [initial], at rest
  std::vector<bool> named;    ///< joints that the start itself names, beyond [initial]; empty: none
  std::vector<bool> follows;  ///< freedoms of named joints that nobody named (of the model; empty: none): a drive names one only
  std::vector<bool> no_rate;  ///< joints that are named without a rate (empty: none): it follows from the others
  Bodies bodies;              ///< by bodies: all of them
  bool project = true;        ///< move a start that contradicts the joints onto them; otherwise refuse it
  double tolerance = 1e-9;    ///< rad, or parts of the model's length; per second: what counts as no contradiction
  bool motion = false;        ///< a motion begins there: where branches meet, one of them has to be chosen
  std::string where = {};     ///< in which file and line it is told; empty: by a program

  Start() = default;
  /// The model's own [initial], at rest.
  explicit Start(const Model& model) : joints(JointState::initial(model)) {}

  /// Whether the start itself names this freedom, of the model and of its joint.
  bool names(const Model& model, std::size_t joint, int freedom) const {
    return !named.empty() && named[joint] &&
           (follows.empty() || !follows[static_cast<std::size_t>(model.joints()[joint].v0 + freedom)]);
  }

  bool names_rate(std::size_t joint) const { return no_rate.empty() || !no_rate[joint]; }

  /// On which turn the joint angles are: as the joints say; told by nobody where the bodies were given.
  VecX turns(const Model& model) const { return by_bodies ? VecX() : joints.turns(model); }
};

/// The bodies of a start, on their constraints. What it names is taken as named where loops allow it; where several branches of
/// motion have it so, the one that [initial] lies on is taken. Refused starts name the residual and the joint; where [initial]
/// itself is singular, a motion begins there and names do not choose among its branches, the rates that would.
Result<Bodies> bodies_at(const Model& model, const Start& start);

/// The same as a state of a formulation, joint angles on the turns that the start names.
Result<State> state_at(Formulation& formulation, const Start& start);

/// What had to give way: a sentence for each joint that was named and does not start as named, because loops or couplings do
/// not let it with the other joints as they are. And which branch was taken, where several meet.
std::vector<std::string> displaced(const Formulation& formulation, const Start& start, const State& x);

}  // namespace invar
