// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/integrate/integrator.hpp"
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
  double edited = 0;                ///< added by edits since the start, what their impulses took subtracted, J
  double balance = 0;               ///< energy - energy at the start - edited - work + dissipated: zero for exact motion, J
  Momentum momentum;                ///< angular part about the World origin
  Vec3 angular_com = Vec3::Zero();  ///< angular momentum about the common centre of mass, N m s
  ConstraintError error;            ///< largest residual of joints and couplings
  double quaternion_norm = 0;       ///< largest | |q| - 1 | over the bodies

  /// The energy that the method itself keeps, J: that of the bodies where it names none.
  double hamiltonian = 0;
  /// The energy with velocities put on the constraints, the nearest in the inertia metric: H(x, P v), J. Methods that keep the
  /// constraints at both ends of a step and the rates only in its middle conserve another number than this one.
  double physical = 0;
  double hamiltonian_balance = 0, physical_balance = 0;  ///< as `balance`, J
  int iterations = 0, substeps = 1;                      ///< of the last step, see StepReport
};

/// Computes Observations of a run. The first call after construction fixes the energy that `balance` refers to.
/// Allocates at construction and in the first call only.
class Observer {
 public:
  explicit Observer(const Model& model);
  ~Observer();

  void observe(double t, const Formulation& formulation, const State& x, Observation& out, const StepReport& report = {});

  /// After the first call at the state that an edit left: goes on from what was seen before it. Balances stay what they were, and
  /// the jump of the energy counts as edited. `now` is put right.
  void carry_on(const Observation& before, Observation& now);

  const Bodies& bodies() const { return bodies_; }
  /// Joint coordinates, turns counted, and rates of the state seen last.
  const VecX& q() const { return q_; }
  const VecX& v() const { return v_; }

 private:
  double physical(const State& x, const Observation& seen);

  const Model& model_;
  Bodies bodies_;  // one per body
  VecX q_;         // nq
  VecX v_;         // nv
  struct OnConstraints;
  std::unique_ptr<OnConstraints> on_constraints_;  // made by the first call
  bool started_ = false;
  double energy_at_start_ = 0, physical_at_start_ = 0;
  double work_at_start_ = 0;
  double dissipated_at_start_ = 0;
  double edited_ = 0;
};

}  // namespace invar
