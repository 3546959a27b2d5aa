// SPDX-License-Identifier: Apache-2.0
#include "invar/run/observers.hpp"

#include <cmath>

#include "invar/base/largest.hpp"

namespace invar {

Observer::Observer(const Model& model)
    : model_(model), bodies_(model.bodies().size()), q_(VecX::Zero(model.nq())), v_(VecX::Zero(model.nv())) {}

void Observer::observe(double t, const Formulation& formulation, const State& x, Observation& out) {
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

  // Energy that came in must have come through Port and efforts, and what left was dissipated.
  if (!started_) {
    started_ = true;
    energy_at_start_ = out.energy.total();
    work_at_start_ = x.aux[kWork];
    dissipated_at_start_ = x.aux[kDissipated];
  }
  out.work = x.aux[kWork] - work_at_start_;
  out.dissipated = x.aux[kDissipated] - dissipated_at_start_;
  out.balance = (out.energy.total() - energy_at_start_) - out.work + out.dissipated;
}

}  // namespace invar
