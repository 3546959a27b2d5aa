// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>

#include "invar/learn/data_set.hpp"
#include "invar/learn/motion_factor.hpp"
#include "invar/learn/terms.hpp"

namespace invar {

/// The sums of a regression in the metric of motion, over samples with columns φ_k and data d:
///   G = Σ φᵀ A φ,   b = Σ φᵀ A d,   dd = Σ dᵀ A d
/// Everything that is fitted, chosen or judged follows from them: Σ |d - φ c|²_A = dd - 2 bᵀc + cᵀG c.
struct Gram {
  MatX G;
  VecX b;
  double dd = 0;
  long samples = 0;
  long rows = 0;  ///< freedoms, over all samples

  /// Σ |d - φ c|²_A, never negative.
  double left(const VecX& c) const;
  /// √(Σ|d - φ c|²_A / Σ|d|²_A); 1: nothing is explained, or there is nothing to explain.
  double error(const VecX& c) const;
  Gram& operator+=(const Gram& other);
};

struct GramOptions {
  enum class Way {
    Choose,
    Factor,  ///< A = B Bᵀ at every sample, rows Bᵀφ: where there are more columns than directions
    Solve,   ///< one solve over the graph per column, no matrix of the size of the mechanism
  };
  Way way = Way::Choose;
  int threads = 1;                            ///< the result is the same to the bit for any number
  const std::atomic<bool>* stop = nullptr;    ///< set from outside: ends early with what is complete
  std::function<void(double part)> progress;  ///< of the work done, 0 … 1
};

/// The sums over these runs of a data set (indices), or over all for an empty list. Refuses models with rotors, motions at which
/// the mechanism has no answer, and columns that push along a direction without inertia, with run and sample.
Result<Gram> gram_of(const Model& model, const Terms& terms, const DataSet& data, const std::vector<int>& runs = {},
                     const GramOptions& options = {});

}  // namespace invar
