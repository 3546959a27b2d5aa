// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/energy.hpp"
#include "invar/mech/formulation.hpp"
#include "invar/mech/kinematics.hpp"

namespace invar {

/// What can be said about one state without solving for accelerations. SI units, World components.
struct Observation {
  double t = 0;                     ///< s
  Energy energy;                    ///< J
  double work = 0;                  ///< done by Port and efforts since the start, J
  double dissipated = 0;            ///< by dampers, friction and stops since the start, J
  double balance = 0;               ///< energy - energy at the start - work + dissipated: zero for exact motion, J
  Momentum momentum;                ///< angular part about the World origin
  Vec3 angular_com = Vec3::Zero();  ///< angular momentum about the common centre of mass, N m s
  ConstraintError error;            ///< largest residual of joints and couplings
  double quaternion_norm = 0;       ///< largest | |q| - 1 | over the bodies
};

/// Computes Observations of a run. The first call after construction fixes the energy that `balance` refers to.
/// Allocates at construction only.
class Observer {
 public:
  explicit Observer(const Model& model);

  void observe(double t, const Formulation& formulation, const State& x, Observation& out);

  const Bodies& bodies() const { return bodies_; }

 private:
  const Model& model_;
  Bodies bodies_;  // one per body
  VecX q_;         // nq
  VecX v_;         // nv
  bool started_ = false;
  double energy_at_start_ = 0;
  double work_at_start_ = 0;
  double dissipated_at_start_ = 0;
};

}  // namespace invar
