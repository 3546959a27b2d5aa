// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/control/recall.hpp"
#include "invar/mech/projection.hpp"
#include "invar/mech/unreduced.hpp"

namespace invar {

/// Standard deviations of what is measured of every body, per component, independent of each other and from tick to tick.
struct NoiseSpec {
  double position = 0;          ///< of the centre of mass, m
  double attitude = 0;          ///< rad, about World axes
  double velocity = 0;          ///< m/s
  double angular_velocity = 0;  ///< rad/s

  bool none() const { return position == 0 && attitude == 0 && velocity == 0 && angular_velocity == 0; }
};

/// What a sampled controller gets to see: the bodies of its nominal model as they were some ticks ago, with noise. A mechanism
/// that is measured with errors is put back on its joints along the shortest way in the inertia metric, or else redundant joints
/// would contradict each other. The same seed and name give the same noise. No heap after the first look.
class Measurement {
 public:
  struct Seen {
    double t = 0;
    Bodies bodies;
  };

  /// The model must outlive it.
  Measurement(const Model& model, const NoiseSpec& noise, int delay, std::uint64_t seed, const std::string& name);

  /// Takes what is there at a tick and gives what arrives: that of `delay` ticks before, or null where nothing was seen then.
  const Seen* look(double t, const Bodies& bodies);
  void remember(Recall& memory);

 private:
  /// Joints of the nominal model, for noise only.
  struct Joints {
    Unreduced solver;
    Projection projection;
    VecX wound, q, v;
    Bodies first;  // where ranks were decided
    explicit Joints(const Model& model)
        : solver(model),
          projection(model, solver),
          wound(VecX::Zero(model.nv())),
          q(VecX::Zero(model.nq())),
          v(VecX::Zero(model.nv())),
          first(model.bodies().size()) {}
  };
  void disturb(Bodies& bodies);
  void begin(const Bodies& bodies);
  void close(Bodies& bodies);

  const Model& model_;
  NoiseSpec noise_;
  Random random_;
  std::unique_ptr<Joints> joints_;  // none without noise
  std::vector<Seen> line_;          // a ring
  long ticks_ = 0;
  Bodies open_;
};

}  // namespace invar
