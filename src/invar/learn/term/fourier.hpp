// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "invar/learn/term/features.hpp"

namespace invar {

/// Seeded random cosines cos(kᵀx + phase) of what a body sees, k normal with variance 1/spread², beside 1 and the six x
/// themselves: `cosines` + 7 functions. The same seed gives the same functions on every machine.
class FourierFeatures final : public Features {
 public:
  FourierFeatures(std::uint64_t seed, int cosines, double spread);

  int count() const override { return static_cast<int>(phases_.size()) + 7; }
  std::string label(int k) const override;
  void at(const Vec6& x, double* values) const override;

 private:
  Eigen::Matrix<double, Eigen::Dynamic, 6> waves_;
  VecX phases_;
};

}  // namespace invar
