// SPDX-License-Identifier: Apache-2.0
#include "invar/run/observers.hpp"

#include <cmath>

#include "invar/base/largest.hpp"
#include "invar/mech/projection.hpp"
#include "invar/mech/unreduced.hpp"

namespace invar {

// Velocities nearest to given ones, in the inertia metric, that joints and couplings allow. Energy falls by that of what is taken
// away, so it differs in second order only: nothing to be seen below this residual (m/s, rad/s).
constexpr double kOffConstraints = 1e-9;

struct Observer::OnConstraints {
  Unreduced solver;
  Projection projection;
  Bodies bodies;

  OnConstraints(const Model& model, const Bodies& at) : solver(model), projection(model, solver), bodies(at) {
    // The rank is decided here, while memory may be taken.
    Accelerations unused(at.size());
    std::vector<Wrench> reactions(model.joints().size());
    solver.solve(at, KktInput{.dynamics = false, .settled = true}, unused, reactions);
  }
};

Observer::Observer(const Model& model)
    : model_(model), bodies_(model.bodies().size()), q_(VecX::Zero(model.nq())), v_(VecX::Zero(model.nv())) {}

Observer::~Observer() = default;

// The total energy of `seen` where its velocities need no correction, or where there is none.
double Observer::physical(const State& x, const Observation& seen) {
  if (!(seen.error.velocity > kOffConstraints)) return seen.energy.total();
  on_constraints_->bodies = bodies_;
  if (!on_constraints_->projection.velocities(on_constraints_->bodies, x.wound).ok()) return std::nan("");
  joint_coordinates(model_, on_constraints_->bodies, q_, v_);
  unwind(model_, x.wound, q_);
  return energy(model_, on_constraints_->bodies, q_, v_).total();
}

void Observer::observe(double t, const Formulation& formulation, const State& x, Observation& out, const StepReport& report) {
  // Bodies are the common language; angles are counted over all turns, as springs see them.
  formulation.bodies(x, bodies_);
  joint_coordinates(model_, bodies_, q_, v_);
  unwind(model_, x.wound, q_);

  out.t = t;
  out.energy = energy(model_, bodies_, q_, v_);
  out.momentum = momentum(model_, bodies_);
  out.angular_com = angular_momentum_about_com(model_, bodies_);
  out.error = constraint_error(model_, bodies_, x.wound);
  out.quaternion_norm = 0;
  for (const BodyState& b : bodies_) keep_largest(out.quaternion_norm, std::abs(b.q_WB.norm() - 1.0));

  if (!started_) on_constraints_ = std::make_unique<OnConstraints>(model_, bodies_);
  out.hamiltonian = std::isnan(report.hamiltonian) ? out.energy.total() : report.hamiltonian;
  out.physical = physical(x, out);
  out.iterations = report.iterations, out.substeps = report.substeps;

  // Energy that came in must have come through Port and efforts, and what left was dissipated.
  if (!started_) {
    started_ = true;
    energy_at_start_ = out.energy.total();
    physical_at_start_ = out.physical;
    work_at_start_ = x.aux[kWork];
    dissipated_at_start_ = x.aux[kDissipated];
  }
  out.edited = edited_;
  out.work = x.aux[kWork] - work_at_start_;
  out.dissipated = x.aux[kDissipated] - dissipated_at_start_;
  out.balance = (out.energy.total() - energy_at_start_) - out.work + out.dissipated;
  out.hamiltonian_balance = (out.hamiltonian - energy_at_start_) - out.work + out.dissipated;
  out.physical_balance = (out.physical - physical_at_start_) - out.work + out.dissipated;
}

void Observer::carry_on(const Observation& before, Observation& now) {
  const double through = before.work - before.dissipated;
  edited_ = before.edited + (now.energy.total() - before.energy.total());
  energy_at_start_ = now.energy.total() - through - before.balance;
  physical_at_start_ = now.physical - through - before.physical_balance;
  work_at_start_ -= before.work;
  dissipated_at_start_ -= before.dissipated;
  now.edited = edited_;
  now.work = before.work, now.dissipated = before.dissipated;
  now.balance = before.balance, now.physical_balance = before.physical_balance;
  now.hamiltonian_balance = (now.hamiltonian - energy_at_start_) - through;
}

}  // namespace invar
