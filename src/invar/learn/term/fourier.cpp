// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/term/fourier.hpp"

#include <numbers>

#include "invar/base/random.hpp"
#include "invar/geom/sine.hpp"

namespace invar {

FourierFeatures::FourierFeatures(std::uint64_t seed, int cosines, double spread, int inputs)
    : waves_(cosines, inputs), phases_(cosines) {
  Random random(seed);
  for (int i = 0; i < cosines; ++i) {
    for (int k = 0; k < inputs; ++k) waves_(i, k) = random.normal() / spread;
    phases_[i] = random.uniform(0, 2 * std::numbers::pi);
  }
}

std::string FourierFeatures::label(int k) const {
  constexpr const char* kSeen[] = {"v x", "v y", "v z", "w x", "w y", "w z"};
  if (k == 0) return "constant";
  return k < 7 ? kSeen[k - 1] : "cosine " + std::to_string(k - 6);
}

void FourierFeatures::at(const double* x, double* values) const {
  const Eigen::Index inputs = waves_.cols();
  values[0] = 1;
  Eigen::Map<VecX>(values + 1, inputs) = Eigen::Map<const VecX>(x, inputs);
  double angles[kMost], unused[kMost];
  Eigen::Map<VecX> angle(angles, phases_.size());
  angle = phases_;
  for (Eigen::Index k = 0; k < inputs; ++k) angle += x[k] * waves_.col(k);
  sines(angles, static_cast<std::size_t>(phases_.size()), unused, values + 1 + inputs);
}

}  // namespace invar
