// SPDX-License-Identifier: Apache-2.0
#include "invar/learn/term/network.hpp"

#include <algorithm>
#include <cmath>

#include "invar/base/random.hpp"
#include "invar/base/tangents.hpp"

namespace invar {

HiddenLayers HiddenLayers::drawn(std::uint64_t seed, int width, int inputs) {
  Random random(seed);
  HiddenLayers out{MatX(width, inputs), MatX(width, width), VecX::Zero(width), VecX::Zero(width)};
  for (double& w : out.W1.reshaped()) w = random.normal() / std::sqrt(static_cast<double>(inputs));
  for (double& w : out.W2.reshaped()) w = random.normal() / std::sqrt(static_cast<double>(width));
  for (double& b : out.b1) b = random.uniform(-0.5, 0.5);
  for (double& b : out.b2) b = random.uniform(-0.5, 0.5);
  return out;
}

void NetworkFeatures::at(const double* x, double* values) const {
  double first[kMost];
  const Eigen::Index n = layers_.width();
  Eigen::Map<VecX> y1(first, n), y2(values + 1, n);
  y1 = layers_.b1;
  for (Eigen::Index k = 0; k < layers_.W1.cols(); ++k) y1 += x[k] * layers_.W1.col(k);
  hyperbolic_tangents(first, n);
  y2 = layers_.b2;
  for (Eigen::Index k = 0; k < n; ++k) y2 += y1[k] * layers_.W2.col(k);
  hyperbolic_tangents(values + 1, n);
  values[0] = 1;
}

}  // namespace invar
