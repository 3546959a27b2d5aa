// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/data_set.hpp"
#include "invar/learn/motion_factor.hpp"
#include "invar/learn/turned.hpp"
#include "support/random_mechanism.hpp"

namespace invar::testing {

/// The machine of the reference case of learning: paper A's chain, and what its model does not know. A load on body 5 that nobody
/// weighed, water along every link, friction in every joint.
struct UnknownLoad {
  ModelSpec nominal;
  Inertia payload;                                           ///< on body 5, body frame
  double across = 2, everywhere = 0.5, along = 0.15;         ///< strip drag: N s²/m³, N s/m², N s²/m³
  double damping = 0.15, friction = 0.25, smoothing = 0.05;  ///< of joints: N m s, N m, rad/s

  /// The figures of the reference case.
  static UnknownLoad reference();
  /// The nominal model with the friction, not the payload.
  ModelSpec rubbing() const;
};

/// The machine itself. What acts beyond the nominal model at a motion comes as wrenches about the nominal centres of mass: Newton
/// and Euler for the payload about its own centre of mass, Gauss points along every link for the water, and the passive parts of
/// `rubbing`.
class UnknownPlant {
 public:
  explicit UnknownPlant(const UnknownLoad& load);

  const Model& nominal() const { return nominal_; }
  Port unknown(const Bodies& bodies, const Accelerations& a, const Vec3& flow);
  /// Known wrenches that make this motion, beside the unknown load.
  Port known(const Bodies& bodies, const Accelerations& a, const Vec3& flow);

 private:
  UnknownLoad load_;
  Model nominal_, rubbing_;
  ConstrainedInverse glides_, rubs_;
};

/// Runs of 8 s in which every component of body rates (body axes) and of the base velocity is a sum of three sines of 0.2–0.6
/// rad/s (m/s) and 0.15–0.9 Hz; `per_run` samples, known wrenches on all bodies, and accelerations measured with noise.
DataSet excited(const UnknownLoad& load, std::uint64_t seed, int runs, int per_run, double noise);

}  // namespace invar::testing
