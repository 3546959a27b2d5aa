// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>

#include "invar/base/error.hpp"
#include "invar/control/signal.hpp"

namespace invar {

/// A part of a flow that comes and goes: amplitude sin(2 pi frequency t + phase).
struct Gust {
  Vec3 amplitude = Vec3::Zero();  ///< m/s, World
  double frequency = 1;           ///< Hz
  double phase = 0;               ///< rad
};

/// How a flow is measured: normal errors of each component, each held for a while.
struct FlowMeter {
  double deviation = 0;    ///< m/s
  double hold = 0.01;      ///< s
  std::uint64_t seed = 0;  ///< of the errors
};

struct FlowSpec {
  Vec3 velocity = Vec3::Zero();  ///< m/s, World: what does not change
  std::vector<Gust> gusts;
  std::optional<FlowMeter> measured;  ///< nothing: nobody but the plant knows of it
};

/// The velocity of the water, or of the air, in which a mechanism moves: the same everywhere, a function of time. World
/// components; it turns with the World when all its vectors do. No heap.
class Flow {
 public:
  /// Refuses numbers that make no flow.
  static Result<Flow> build(const FlowSpec& spec);

  /// m/s.
  Vec3 velocity(Instant at) const;
  /// What a meter says, m/s; nothing where there is none.
  std::optional<Vec3> measured(Instant at) const;
  bool is_measured() const { return spec_.measured.has_value(); }
  /// Its meter jumps from one error to the next.
  bool meter_errs() const { return spec_.measured && spec_.measured->deviation > 0; }

 private:
  explicit Flow(FlowSpec spec) : spec_(std::move(spec)) {}

  FlowSpec spec_;
  std::array<Signal, 3> errors_;  // per component
};

}  // namespace invar
