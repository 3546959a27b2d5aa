// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/learned.hpp"
#include "invar/learn/train_network.hpp"

namespace invar {

/// What is learned, and from which runs.
struct LearnSpec {
  std::vector<TermSpec> terms;
  FitOptions fit;
  TrainOptions train;         ///< of networks among the terms
  std::vector<int> held_out;  ///< runs of the data; empty: every fifth, the last one at least
  std::vector<int> judges;    ///< runs that are left out of everything, to judge by
  std::uint64_t seed = 1;
  int window = 0;        ///< of differences, for the record
  bool checked = false;  ///< the data are some of those that `check` took: all of them say what is much of a velocity, not some
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;  ///< set from outside: ends early with what was learned until then
  std::function<void(const std::string& doing, double part)> progress;
};

/// What came out, and what it is worth beside less.
struct LearnResult {
  Learned learned;
  Fit fit;
  std::vector<TermSpec> terms;             ///< as they were fitted: with sizes and hidden layers
  std::vector<int> training, held_out;     ///< runs of the data
  std::vector<std::string> labels, units;  ///< per column of the fit
  double written = 1;  ///< error of edits and load as they are written, on held-out runs, or training runs where there are none
  double identified = 1;  ///< the same with inertias and joints alone; 1 where no such term is there, or no held-out run
  bool interrupted = false;
};

/// The whole way from data to a learned model: sizes and domains of generic terms, hidden layers of networks, sums over runs,
/// strengths on held-out runs, edits and load. Refuses what `check`, `gram_of` and `fit` refuse. Actuators in the order of the
/// data's inputs.
Result<LearnResult> learn(const ModelSpec& nominal, const Model& model, const DataSet& data, LearnSpec spec,
                          const std::vector<Actuator>& actuators = {});

}  // namespace invar
