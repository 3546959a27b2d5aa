// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/strip_drag.hpp"
#include "invar/control/task_law.hpp"
#include "invar/learn/learned_in_loop.hpp"
#include "support/controlled.hpp"
#include "support/unknown_load.hpp"

namespace invar::testing {

/// The loop of the reference case of learning: paper A, 4.2 without pulses. The end of the floating chain follows its path in
/// position and attitude, law III; the plant has the unknown load, the law the nominal model.
struct ReferenceLoop {
  UnknownLoad load = UnknownLoad::reference();
  double speed = 1;              ///< of the path; 2.5 is the fast one
  double amplitude = 1;          ///< of the path's sines, about where it begins
  double end = 8, step = 0.001;  ///< friction in the twist of slender links has a rate of 1000 /s
  PortGains gains;
  double position_rate = 1.5, attitude_rate = 3;
  ModelSpec nominal = load.nominal;          ///< of the law
  Quat turn = Quat::Identity();              ///< of the World
  std::shared_ptr<const Flow> flow;          ///< as the World is turned
  std::shared_ptr<const Learned> learned;    ///< edits and load; null: the law has the nominal model alone
  std::shared_ptr<const Environment> water;  ///< in the place of strip drag
  bool fallback = false;
  double patience = 0.25;

  /// All that acts, ready to be run. The payload is on body 5 as a payload "load", so that it may be let go.
  Scenario scenario() const;
};

/// The water of a link.
StripDragSpec strip_on(const Body& body, const UnknownLoad& load);

/// What is learned in the reference case from so many samples: inertias, friction with two smoothing rates, and what the water
/// does, as drag or as cosines that know no physics.
Learned learned_from(const UnknownLoad& load, std::uint64_t at, int samples, TermKind water = TermKind::Drag);

/// The edits that make the nominal chain the plant but for the water: the payload, friction in the balls.
std::vector<Edit> exact_edits(const UnknownLoad& load);

/// A file that holds what it says: these edits of the nominal model, and drag with these coefficients (18 or none).
std::shared_ptr<Learned> learned_by_hand(const ModelSpec& nominal, std::vector<Edit> edits, const VecX& drag);

/// Root mean square of a reading from `from` to the end, sample by sample.
double rms_of(Readings& readings, const std::string& name, double from);
double largest_of(Readings& readings, const std::string& name, double from);

}  // namespace invar::testing
