// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>

namespace invar {

/// A stream of random numbers that is the same on every machine. Streams with different (seed, stream) are independent.
/// Generator: SplitMix64 on a counter, so a stream costs eight bytes and can be copied into a checkpoint.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) : state_(mix(seed + kGolden * (2 * stream + 1))) {}

  std::uint64_t bits() { return mix(state_ += kGolden); }

  /// How far the stream has got; one that goes to the place of another goes on like it.
  std::uint64_t place() const { return state_; }
  void go_to(std::uint64_t place) { state_ = place; }

  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * unit(); }
  /// Uniform over 0 .. n-1.
  int below(int n) { return static_cast<int>(bits() % static_cast<std::uint64_t>(n)); }
  bool chance(double p) { return unit() < p; }
  /// Standard normal (Box-Muller, one of the pair).
  double normal() {
    const double u = 1.0 - unit();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * unit());
  }

 private:
  static constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ull;
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace invar
