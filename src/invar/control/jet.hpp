// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "invar/geom/vector.hpp"
#include "invar/mech/environment.hpp"

namespace invar {

/// A number that moves: value, rate, second rate.
struct Jet {
  double q = 0, v = 0, a = 0;
};

/// A frame that moves, World components: position, velocity and acceleration of its origin; attitude q_WE, angular velocity and
/// angular acceleration.
struct PoseJet {
  Vec3 p = Vec3::Zero(), v = Vec3::Zero(), a = Vec3::Zero();
  Quat q = Quat::Identity();
  Vec3 w = Vec3::Zero(), alpha = Vec3::Zero();
};

/// Wanted motions as laws take them: any function with exact derivatives. Called in the step loop: no heap.
using Path = std::function<Jet(Instant)>;
using PosePath = std::function<PoseJet(Instant)>;

}  // namespace invar
