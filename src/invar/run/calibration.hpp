// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "invar/run/run.hpp"

namespace invar {

/// Why a run that finished says nothing of its controller, or an empty string: its steps did not resolve the motion, or the law
/// was not defined or had no command somewhere on the way.
std::string unfit(const Outcome& outcome, const std::string& controller);

/// How many runs it takes at least before a bound can be claimed with this confidence: the smallest m with m/(m+1) >= confidence.
long runs_needed(double confidence);
/// Whether so many runs can claim that confidence; refused with the number of runs that it takes.
Result<void> claimable(long runs, double confidence);

/// A bound that a new run keeps with this confidence, from the scores of m runs of the same family: the ⌈(m+1) confidence⌉-th
/// smallest of them. If all m+1 runs are drawn alike, the new one has any place among them with the same probability, so that it
/// is below the k-th smallest with at least k/(m+1). Refused above m/(m+1), with the number of runs that it takes.
Result<double> bound_of(std::vector<double> scores, double confidence);

/// The scores of a family of runs and the bound that follows from them.
struct Calibration {
  std::vector<double> scores;  ///< N/sqrt(kg); largest |e|_A of the controller's remainder once settling is over, per run
  double bound = 0;
  double after = 0;  ///< s; settling that all of them take
  bool interrupted = false;
};

/// Runs them all. Refused: a controller that is not there, or whose law has no remainder; runs that settle for different times;
/// a run that does not finish, or is unfit; one that ends before it has settled; two with the same score to the last bit, which
/// are one run. `controller`: empty where there is one.
Result<Calibration> calibrate(const std::vector<Scenario>& family, const std::string& controller, double confidence,
                              const RunOptions& options = {});

}  // namespace invar
