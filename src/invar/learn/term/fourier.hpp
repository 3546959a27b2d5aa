// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "invar/learn/term/features.hpp"

namespace invar {

/// Seeded random cosines cos(kᵀx + phase) of what is seen of a body, k normal with variance 1/spread², beside 1 and the x
/// themselves: `cosines` + 7 functions of six x. The same seed gives the same functions on every machine.
class FourierFeatures final : public Features {
 public:
  FourierFeatures(std::uint64_t seed, int cosines, double spread, int inputs = 6);

  int count() const override { return static_cast<int>(waves_.rows() + waves_.cols()) + 1; }
  std::string label(int k) const override;
  void at(const double* x, double* values) const override;

 private:
  MatX waves_;  // cosine × input
  VecX phases_;
};

}  // namespace invar
