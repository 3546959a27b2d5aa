// SPDX-License-Identifier: Apache-2.0
#include "support/ride.hpp"

#include <cmath>

#include "invar/base/largest.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/natural.hpp"
#include "invar/run/observers.hpp"
#include "support/march.hpp"

namespace invar::testing {

void ConstantLoad::add(Instant, const Bodies&, Load& load) const {
  for (std::size_t b = 0; b < load.port.size(); ++b) load.port[b] += load_.port[b];
  load.efforts += load_.efforts;
}

void Drag::add(Instant, const Bodies& bodies, Load& load) const {
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    load.port[b].force -= 0.3 * bodies[b].v_WC;
    load.port[b].moment -= 0.05 * bodies[b].w_WB;
  }
}

namespace {

void look(const Model& model, const Bodies& bodies, Ride& out) {
  double momenta = 0;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    keep_largest(out.speed, bodies[b].v_WC.norm() + bodies[b].w_WB.norm() * model.length());
    keep_largest(out.reach, bodies[b].p_WC.norm());
    const Inertia& inertia = model.bodies()[b].inertia;
    momenta += inertia.mass * bodies[b].v_WC.norm() + inertia.I_C.norm() * bodies[b].w_WB.norm() / model.length();
  }
  keep_largest(out.momenta, momenta);
}

}  // namespace

Ride ride(const ModelSpec& spec, const Model& model, const Bodies& bodies, const char* method, double h, int steps,
          const std::vector<const Environment*>& acts, Composition composition) {
  Natural natural(model);
  System system(natural);
  for (const Environment* e : acts) system.add(*e);
  State x;
  natural.set(bodies, x, {});
  IntegratorOptions options;
  options.stepper.composition = composition;
  auto integrator = std::move(*make_integrator(method, options));
  Observer observer(model);
  Observation before, now;
  observer.observe(0, natural, x, before);
  const Momentum first = before.momentum;
  Ride out;
  const auto size = [](const Observation& o) {
    return o.energy.kinetic + o.energy.elastic + std::abs(o.energy.potential) + std::abs(o.work) + o.dissipated;
  };
  out.energy = size(before);
  out.verdict = march(spec, system, *integrator, 0, h * steps, h, x, [&](double t, double done) {
                  observer.observe(t + done, natural, x, now, integrator->report());
                  keep_largest(out.balance, std::abs(now.hamiltonian_balance - before.hamiltonian_balance));
                  keep_largest(out.gap, now.error.position);
                  keep_largest(out.rate, now.error.velocity);
                  keep_largest(out.linear, (now.momentum.linear - first.linear).norm());
                  keep_largest(out.angular, (now.momentum.angular - first.angular).norm());
                  keep_largest(out.energy, size(now));
                  keep_largest(out.momentum, now.momentum.linear.norm());
                  keep_largest(out.spin, now.momentum.angular.norm());
                  if (integrator->report().substeps > 1) ++out.divided;
                  out.iterations.push_back(integrator->report().iterations);
                  look(model, observer.bodies(), out);
                  ++out.steps;
                  before = now;
                }).verdict;
  return out;
}

}  // namespace invar::testing
