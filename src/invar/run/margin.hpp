// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <vector>

#include "invar/run/run.hpp"

namespace invar {

/// How much is asked of a loop beyond what it knows of.
struct MarginOptions {
  double gain = 1.6;          ///< times the change of command
  double delay = 0.005;       ///< s more
  double within = 2;          ///< s in which a disturbance must be forgotten, down to whole ticks
  double left = 0.1;          ///< what may be left of it then
  double disturbance = 1e-4;  ///< rad/s; of the body that turns (or moves, over the model's length) fastest
  double period = 1e-3;       ///< s; of controllers that command at every instant
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const Progress&)> progress = {};  ///< called after every window
};

/// One disturbance, and what became of it.
struct MarginWindow {
  double t = 0;     ///< s; when it came: at a tick
  double left = 0;  ///< change per tick of the distance between the copies at the end, over the first one; infinite: it grew
};

struct MarginResult {
  std::vector<MarginWindow> windows;
  double period = 0, delay = 0;  ///< s; between ticks, and by which commands are later: whole ticks of the slowest controller
  std::string failure;           ///< what the loop itself did not survive with that delay; empty: it did
  bool interrupted = false;

  double worst() const;
  /// All windows were tried, and none leaves more than is allowed. An interrupted look is no verdict.
  bool kept(const MarginOptions& options) const {
    return !interrupted && failure.empty() && !windows.empty() && worst() <= options.left;
  }
};

/// The scenario with the edits at its start done (with_start_edited); refused, by name, where a later one makes another
/// mechanism.
Result<Scenario> one_mechanism(const Scenario& scenario);
/// Refuses a run that ends before a disturbance could be forgotten.
Result<void> lasts_for_margin(const Scenario& scenario, const MarginOptions& options);

/// The margin of a loop, measured along its own path. Two copies of plant and controllers run side by side, without noise and
/// with more delay. Every `within` seconds the second one gets a small velocity that its joints allow; its plant receives
///   u_A + gain (u_B - u_A),
/// the commands of the first copy and more of its own difference to them than it knows of: an observer in it is told u_B. The
/// distance between the copies is displacement and turn of all bodies, weighed with their inertias; its change per tick must
/// fall to a tenth. (The distance itself need not: where a posture is free, it stays.)
/// Refused: no controller, edits after the start, a run shorter than `within`.
Result<MarginResult> margin(const Scenario& scenario, const MarginOptions& options = {});

}  // namespace invar
