// SPDX-License-Identifier: Apache-2.0
//
// With nᵀ J = σ gᵀ the multiplier along n is λ = gᵀ (f − M a) / σ. a is smooth through the singular configuration, so that λ is
// bounded only if gᵀ (f − M a) vanishes with σ; there g is a motion that J allows. (Symmetry can do that: the cranks of a
// parallelogram, if they are alike.)
#include "invar/mech/unbounded.hpp"

#include <cmath>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/kkt_assembly.hpp"
#include "invar/mech/passive.hpp"
#include "invar/mech/tendons.hpp"

namespace invar {
namespace {

// Velocities where accelerations are expected.
Accelerations as_accelerations(const Bodies& motion) {
  Accelerations out(motion.size());
  for (std::size_t b = 0; b < motion.size(); ++b) out[b].a_WC = motion[b].v_WC, out[b].alpha_WB = motion[b].w_WB;
  return out;
}

}  // namespace

double work_that_is_missed(const Model& model, const Bodies& bodies, const VecX& wound, const Accelerations& accelerations,
                           const Load& load, const Bodies& motion) {
  // Everything that acts but reactions.
  Port port = load.port;
  VecX q = VecX::Zero(model.nq()), v = VecX::Zero(model.nv()), efforts = load.efforts;
  double lost = 0;
  add_tendons(model, bodies, port, lost);
  joint_coordinates(model, bodies, q, v);
  unwind(model, wound, q);
  add_passive_efforts(model, q, v, efforts, lost);
  const Scales scales = scales_of(model);
  KktAssembly assembly(model, scales, whole_piece(model));
  assembly.fill(bodies, KktInput{.port = &port, .efforts = &efforts});
  const KktProblem& problem = assembly.problem();
  const VecX x = assembly.motion(accelerations), y = assembly.motion(as_accelerations(motion));

  // In joules: numbers of a connected part are over its own mass. One term for the force on a body and one for the moment, so
  // that the axes of World do not matter.
  double work = 0, terms = 0;
  const auto add = [&](double given, double used) {
    work += given - used;
    terms += std::abs(given) + std::abs(used);
  };
  for (int i = 0; i < problem.structure.bodies(); ++i) {
    const Vec6 used = problem.mass[static_cast<std::size_t>(i)] * x.segment<6>(6 * i);
    const double mass = scales.mass_at(assembly.body(i));
    for (const int k : {0, 3})
      add(mass * assembly.force().segment<3>(6 * i + k).dot(y.segment<3>(6 * i + k)),
          mass * used.segment<3>(k).dot(y.segment<3>(6 * i + k)));
  }
  // A rotor is a row with compliance: its inertia force is what the row is off by, over it.
  VecX along = -assembly.gamma(), moved = VecX::Zero(assembly.gamma().size());
  add_jacobian_times(problem.structure, problem.jacobian, x, along);
  add_jacobian_times(problem.structure, problem.jacobian, y, moved);
  for (int r = 0; r < along.size(); ++r) {
    if (!(problem.compliance[r] > 0)) continue;
    const int joint = assembly.joint_of_block(problem.structure.block_of_row(r));
    const double mass = scales.mass_at(model.joints()[static_cast<std::size_t>(joint)].child);
    add(0, mass * along[r] / problem.compliance[r] * moved[r]);
  }
  return terms > 0 ? std::abs(work) / terms : 0.0;
}

}  // namespace invar
