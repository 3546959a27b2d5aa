// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "invar/base/error.hpp"
#include "invar/mech/bodies.hpp"
#include "invar/mech/energy.hpp"
#include "invar/model/edit.hpp"

namespace invar {

/// A motion at the instant of an edit, on its way from one model to the next.
///   before   as the old model has it
///   edited   the same body frames with the same twists in the new model: what is attached moves with its body, what hangs on a
///            joint whose frames were moved follows it with all joint coordinates as they are; then loops are closed
///   after    velocities made consistent by an impulse of the joints, the least in the inertia metric: it takes kinetic energy,
///            never gives any, and an impulse of inner joints keeps both momenta
struct Carried {
  Bodies bodies;                                              ///< of the new model, after the impulse
  VecX turns;                                                 ///< as wound_at takes them
  Energy before, edited, after;                               ///< J
  Momentum momentum_before, momentum_edited, momentum_after;  ///< angular part about the World origin

  double added() const { return edited.total() - before.total(); }  ///< by the edit itself, J
  double taken() const { return edited.kinetic - after.kinetic; }   ///< by the impulse, J
};

/// Carries bodies of the model `from`, with the turns that its angles are on, over to `to`, the model after the edits. Refused
/// where a new joint is further apart than it may be, or loops cannot be closed. Allocates.
Result<Carried> carry(const Model& from, const Bodies& bodies, const VecX& wound, const Model& to, std::span<const Edit> edits);

/// The edits with what they leave to the state: where joints that are locked stand, offsets of maps that begin where things are.
std::vector<Edit> standing(std::span<const Edit> edits, const Model& model, const Bodies& bodies, const VecX& wound);

}  // namespace invar
