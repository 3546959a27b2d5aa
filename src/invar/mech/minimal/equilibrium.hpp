// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/minimal/modes.hpp"

namespace invar {

enum class Stability {
  Stable,    ///< every small deviation dies out or stays small
  Neutral,   ///< some deviation has no frequency: nothing drives it back or away
  Unstable,  ///< some deviation grows
};
constexpr const char* name(Stability s) {
  return s == Stability::Stable ? "stable" : (s == Stability::Neutral ? "neutral" : "unstable");
}

struct EquilibriumOptions {
  int iterations = 300;
  double tolerance = 1e-12;  ///< of coordinates: rad, and m at the model's length
};

/// Where a mechanism rests under gravity, springs, stops and a held load.
struct Equilibrium {
  bool found = false;
  int iterations = 0;
  std::string freedom;  ///< not found: the freedom that is furthest from being held; empty where nothing moves
  double force = 0;     ///< what is missing there, N m or N
  int tendon = -1;      ///< not found: a tendon that has drawn its ends together, where it has no direction
  bool held = false;    ///< not found: loops that leave no motion, but are singular, hold what is missing (`stopped`: where)
  bool stuck = false;   ///< not found: no step pays, however short; otherwise iterations ran out
  Verdict stopped;      ///< stuck: why a longer step could not be made; ok where all could be
  Stability stability = Stability::Stable;
  Modes modes;  ///< at the equilibrium
  VecX vdot;    ///< accelerations of the independent freedoms that are left
};

/// Moves x, at rest, to an equilibrium: Newton's method with exact derivatives on what is missing, r = -Q, in the independent
/// freedoms. Where ∂r/∂q is not positive the direction is that of descent of the energy, so that a start beside an unstable
/// equilibrium leads to a stable one; steps are halved until they pay. Stops of joints act as they do in motion, so limits are
/// passed by force over stiffness and no further. A start that is an equilibrium stays. What is found rests by the unreduced
/// equations, too: along the accelerations that these leave forces cancel but for 1e-5 of their work and the rounding of springs,
/// in every connected part. Not where a tendon under tension has drawn points together that the mechanism can separate. Fails as
/// the closures do; where nothing is found, x is the best state seen.
Verdict find_equilibrium(Minimal& minimal, const Load& load, const EquilibriumOptions& options, State& x, Equilibrium& out);

/// What the modes at an equilibrium say.
Stability stability_of(const Modes& modes);

}  // namespace invar
