// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <functional>

#include "invar/run/margin.hpp"

namespace invar {

/// What a control law may do about a load that its model does not have.
struct LoopWay {
  enum class Knows {
    Nominal,     ///< the nominal model alone
    Identified,  ///< with what was learned about inertias and joints
    Learned,     ///< with all that was learned
  };
  Knows knows = Knows::Nominal;
  bool integral = false, observer = false;

  /// "identified + integral + observer"; "nothing".
  std::string name() const;
};
/// All of them, simpler ones first; without `learned` those of the nominal model.
std::vector<LoopWay> loop_ways(bool identified, bool learned);

/// One number per gain, the same rate in every direction: K_d = κ M, Λ for positions and 2 Λ for attitudes, K_i = κ_i M, k_o.
struct LoopGains {
  double damping = 20;  ///< κ, 1/s
  double error = 8;     ///< Λ, 1/s
  double integral = 0;  ///< κ_i, 1/s²
  double observer = 0;  ///< k_o, 1/s
};

/// What a loop did in one run.
struct LoopScore {
  double error =
      std::numeric_limits<double>::infinity();  ///< rms tracking error after settling, m (rad where no position is followed)
  double jitter =
      std::numeric_limits<double>::infinity();  ///< rms change of command from tick to tick, |.|_A, N/√kg; NaN without ticks
  double remainder = std::numeric_limits<double>::quiet_NaN();  ///< largest |e|_A after settling, N/√kg
  double left = std::numeric_limits<double>::quiet_NaN();       ///< of a disturbance in the margin; NaN: not measured
  bool kept = false;                                            ///< the margin
  bool turns = false;                                           ///< no position is followed: the error is in rad
  std::string failure;                                          ///< why there is no score
};
/// Runs a scenario, whose controller of that name must weigh its commands (ControllerSpec::weighs).
LoopScore score_of(Scenario scenario, const std::string& controller, double after, const std::atomic<bool>* stop = nullptr);

/// A scenario with its controller made in that way, with these gains; draws other noise for another seed.
using MakeLoop = std::function<Result<Scenario>(const LoopWay&, const LoopGains&)>;

struct AdviseOptions {
  std::string controller = "control";
  std::vector<LoopWay> ways;
  double most_observer = std::numeric_limits<double>::infinity();  ///< 1/s; of k_o: what noise makes of commands is its price
  int budget = 60;                                                 ///< candidates per way at most
  double after = 0;                                                ///< s; settling
  MarginOptions margin;                                            ///< that every way must keep
  std::vector<MakeLoop> judges;   ///< where gains are judged that were found; empty: the same with other noise
  bool margin_at_judges = false;  ///< measure it there, too
  int threads = 1;                ///< results are the same to the bit
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const std::string& doing, double part)> progress;
};

/// One way with the gains that were found for it.
struct AdvisedLoop {
  LoopWay way;
  LoopGains gains;
  LoopScore searched;             ///< in the scenario of the search
  std::vector<LoopScore> judged;  ///< one per judge
  int candidates = 0;
  bool found = false;  ///< some candidate kept the margin

  /// What it is judged by first: the first judge, or the search where nobody has judged it.
  const LoopScore& shown() const { return judged.empty() ? searched : judged.front(); }
  /// Geometric means over the judges, which differ in how much they move; infinite where one run failed. Of the search where
  /// nobody has judged it.
  double error() const;
  double jitter() const;
  /// How many judges' loops keep the margin with these gains.
  int keeping() const;
};

struct Advice {
  std::vector<AdvisedLoop> loops;
  bool turns = false;        ///< errors are in rad; otherwise in m
  int taken = -1;            ///< the simplest one whose error is within a fifth of the best; -1: none
  bool interrupted = false;  ///< all are compared by what was searched until then, nobody has judged any
};

/// Searches the gains of every way on its own: a coarse grid over the time that the loop takes to answer, then a pattern search
/// on logarithms; the smallest error of those that keep the margin. Refused where the scenario with the first gains does not
/// begin.
Result<Advice> advise(const MakeLoop& make, const AdviseOptions& options);

/// In one or two sentences what to take, and what the others leave; an advice that was interrupted says so first.
std::string sentence(const Advice& advice, bool flow_is_guessed);

}  // namespace invar
