// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/bodies.hpp"

namespace invar {

/// Joint coordinates and rates that somebody gave, stacked as in the model; `known` tells which joints were named.
struct JointState {
  VecX q, v;
  std::vector<bool> known;

  /// The model's [initial] configuration at rest.
  static JointState initial(const Model& model);

  /// Marks joints that somebody names beyond [initial]; those that couplings tie to a named joint, whichever of them drives the
  /// other, follow it, unless they are named too.
  void name(const Model& model, const std::vector<bool>& named);

  /// Which turn of its angle every winding freedom is on, as wound_at asks: NaN for joints that were not named.
  VecX turns(const Model& model) const;
};

/// Bodies from joint coordinates: known joints place the bodies, walking outward from the ground; joints that were not named
/// (driven ones where their coupling says, others at zero) are used only where nothing else reaches a body. Bodies that nothing
/// reaches start at the World origin. Joints that close loops are not looked at: see make_consistent.
Bodies place(const Model& model, const JointState& joints);
/// The same where nobody named the freedoms that `follows` marks (of the model; empty: none), although their joints are known:
/// couplings may tell them.
Bodies place(const Model& model, const JointState& joints, const std::vector<bool>& follows);

/// Moves bodies onto position and velocity constraints by the shortest way in the inertia metric. Fails when the constraints
/// cannot be met within `tolerance` (rad, or parts of the length of the connected part), with what remains and the joints that
/// keep it. `turns`: see wound_at.
Result<Bodies> make_consistent(const Model& model, Bodies guess, double tolerance = 1e-9, const VecX& turns = {});

/// Ok when positions and velocities meet the constraints within `tolerance` (rad, or parts of the length of the connected part;
/// per second); otherwise the largest residual and its joint.
Result<void> expect_consistent(const Model& model, const Bodies& bodies, double tolerance, const VecX& turns = {});

}  // namespace invar
