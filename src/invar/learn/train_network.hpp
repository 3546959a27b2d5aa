// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>

#include "invar/learn/data_set.hpp"
#include "invar/learn/term/raw_world.hpp"
#include "invar/learn/terms.hpp"

namespace invar {

struct TrainOptions {
  int epochs = 200;                                                  ///< passes over the training samples
  double rate = 3e-3;                                                ///< of Adam, falling to a tenth along a cosine
  double decay = 1e-5;                                               ///< of weights, per unit of the mean square of the data
  const std::atomic<bool>* stop = nullptr;                           ///< set from outside: ends with the best layers so far
  std::function<void(double part, double held_out_error)> progress;  ///< after every epoch
};

/// Trains both hidden layers of a network term in the metric of motion, on what other terms with these coefficients leave over.
/// Keeps the layers that explain the held-out runs best. The last layer is trained along and forgotten: the fit finds it anew,
/// beside all other columns. The same seed gives the same layers.
Result<HiddenLayers> train_network(const Model& model, const TermSpec& network, const Terms& others, const VecX& coefficients,
                                   const DataSet& data, const std::vector<int>& training, const std::vector<int>& held_out,
                                   const TrainOptions& options = {});

/// The same for a network on World components (raw_world.hpp), on the data as they are seen from several Worlds, one term for
/// each; the held-out runs are seen from the first.
Result<HiddenLayers> train_network(const Model& model, const HiddenLayers& start, const std::vector<RawWorldTerm>& seen,
                                   const Terms& others, const VecX& coefficients, const DataSet& data,
                                   const std::vector<int>& training, const std::vector<int>& held_out, std::uint64_t seed,
                                   const TrainOptions& options = {});

}  // namespace invar
