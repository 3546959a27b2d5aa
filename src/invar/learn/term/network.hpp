// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "invar/learn/term/features.hpp"

namespace invar {

/// The two hidden layers of a network: y₁ = tanh(W₁ x + b₁), y₂ = tanh(W₂ y₁ + b₂).
struct HiddenLayers {
  MatX W1, W2;  ///< n × inputs, n × n
  VecX b1, b2;

  int width() const { return static_cast<int>(b2.size()); }
  /// Seeded, weights normal with variance one over their number.
  static HiddenLayers drawn(std::uint64_t seed, int width, int inputs = 6);
};

/// A network whose last layer is linear: 1 and the outputs of its second hidden layer are the functions, so that coefficients are
/// the last layer. Hidden layers are trained offline (train_network.hpp) and stay.
class NetworkFeatures final : public Features {
 public:
  explicit NetworkFeatures(HiddenLayers layers) : layers_(std::move(layers)) {}

  int count() const override { return layers_.width() + 1; }
  std::string label(int k) const override { return k == 0 ? "constant" : "unit " + std::to_string(k); }
  void at(const double* x, double* values) const override;
  const HiddenLayers& layers() const { return layers_; }

 private:
  HiddenLayers layers_;
};

}  // namespace invar
