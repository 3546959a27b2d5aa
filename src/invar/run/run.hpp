// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <optional>

#include "invar/mech/carry.hpp"
#include "invar/run/scenario.hpp"
#include "invar/run/sink.hpp"

namespace invar {

struct Progress {
  double t = 0, start = 0, end = 0;  ///< s
  long steps = 0;
  double wall = 0;  ///< s since the run began
};

struct RunOptions {
  Sink* sink = nullptr;                           ///< where samples go; none: laws and metrics only
  const std::atomic<bool>* stop = nullptr;        ///< set from outside (a signal): ends the run after the current step
  std::function<void(const Progress&)> progress;  ///< called a few times per second
};

/// What an edit did to the motion.
struct EditAccount {
  double t = 0;      ///< s
  std::string what;  ///< "attach 'gripper' to 'hand', lock joint 'elbow'"
  Carried motion;    ///< without its bodies
};

/// What a controller guaranteed, and what became of it.
struct ControlAccount {
  std::string name;
  Certificate certificate;
  std::vector<Tracking> tracking;
};

/// How a run ended, and what it found on the way. Laws and metrics speak of the part that was computed.
struct Outcome {
  enum class End { Finished, Interrupted, Failed };
  End end = End::Finished;
  Verdict verdict;                  ///< Failed: what the numerics said
  std::string words;                ///< Failed: with step, time, joint and body
  std::optional<Error> unrecorded;  ///< Failed because its sink did: why
  std::vector<Metric> metrics;
  std::vector<LawResult> laws;
  std::vector<std::string> notes;  ///< what happened on the way, with times; repetitions are counted (Notes)
  std::string unresolved;          ///< what the steps did not resolve, in one sentence; empty where nothing is known
  std::vector<EditAccount> edits;
  std::vector<ControlAccount> control;
  std::vector<ConvergenceResult> convergence;
  double wall = 0;  ///< s

  bool laws_held() const {
    for (const LawResult& law : laws)
      if (!law.held) return false;
    return true;
  }
};

/// What a run records that goes to its end.
struct Foreseen {
  double samples = 0;
  int width = 0;                   ///< numbers per sample
  std::vector<std::string> notes;  ///< what has to give way at the start
};

/// Whether a run of this scenario would begin: the error that run() would give before its first step, or what it would record.
Result<Foreseen> check(const Scenario& scenario);

/// Runs a scenario. Time is cut into segments at events (edges of pulses); a fixed-step method divides a segment [a, b] into n
/// equal steps, t_k = a + k (b - a) / n, no longer than the step asked for; an adaptive one steps freely and is sampled by
/// its dense output. A sample at an event shows what acts from then on. Edits are events, too: the motion is carried over (see
/// carry), everything that computes begins anew, and a sample there shows the mechanism after the edit.
/// Laws: with no sink, stop or progress, the steps make no heap call; the same scenario gives the same bits.
/// Convergence is looked at after a run that finished, before its sink is told the end.
/// Errors (Result) are those of the start, and of the sink before the first sample; a failure of the numerics is an Outcome, and
/// so is a sink that fails later: what was found until then is known.
Result<Outcome> run(const Scenario& scenario, const RunOptions& options = {});

}  // namespace invar
