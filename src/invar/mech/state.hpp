// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/geom/vector.hpp"

namespace invar {

/// What a formulation integrates. The numbers mean what the formulation says; everybody else sees Bodies.
struct State {
  VecX q;           ///< configuration, in the formulation's coordinates
  VecX v;           ///< velocity: the tangent of q, in the formulation's components
  VecX wound;       ///< where the coordinate of every joint freedom that winds is expected: angles are taken on the turn
                    ///< nearest to it, and settle puts the counted angle here (model.nv() entries)
  VecX wound_rate;  ///< its rate when it was settled last
  VecX aux;  ///< auxiliary first-order states: 0 work done by Port and efforts, 1 energy dissipated (J), then those of actuators
};
inline constexpr int kWork = 0, kDissipated = 1, kAuxiliaries = 2;

/// Time derivative of a State.
struct Rate {
  VecX v;    ///< tangent of q
  VecX a;    ///< derivative of v
  VecX aux;  ///< derivative of aux
};

}  // namespace invar
