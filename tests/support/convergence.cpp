// SPDX-License-Identifier: Apache-2.0
#include "support/convergence.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/natural.hpp"
#include "invar/run/observers.hpp"
#include "support/march.hpp"
#include "support/spinning_top.hpp"

namespace invar::testing {

End end_of(const Moving& m, Formulation& formulation, Integrator& integrator, double T, double h) {
  System system(formulation);
  State x;
  formulation.set(m.start, x);
  Observer observer(m.model);
  Observation now;
  observer.observe(0, formulation, x, now);
  End out;
  out.verdict = march(m.spec, system, integrator, 0, T, h, x, [&](double t, double done) {
                  const StepReport report = integrator.report();
                  observer.observe(t + done, formulation, x, now, report);
                  out.kept = std::max(out.kept, std::abs(now.hamiltonian_balance));
                  out.physical = std::max(out.physical, std::abs(now.physical_balance));
                  out.size = std::max({out.size, now.energy.kinetic, std::abs(now.energy.potential), now.energy.elastic});
                  ++out.steps, out.iterations += report.iterations, out.divided += report.substeps > 1 ? 1 : 0;
                }).verdict;
  formulation.bodies(x, out.bodies);
  return out;
}

End reference(const Moving& m, double T) {
  IntegratorOptions tight;
  tight.dopri5.relative_tolerance = tight.dopri5.position_tolerance = tight.dopri5.velocity_tolerance = 1e-13;
  Augmented formulation(m.model);
  return end_of(m, formulation, **make_integrator("dopri5", tight), T, T);
}

Bodies exact_end(const Moving& m, double T) {
  const End end = reference(m, T);
  EXPECT_TRUE(end.verdict.ok()) << m.name << " " << name(end.verdict.status);
  return end.bodies;
}

EndError error_of(const Model& model, const Bodies& end, const Bodies& exact) {
  EndError out;
  const auto allowed = make_consistent(model, end);
  EXPECT_TRUE(allowed);
  for (std::size_t b = 0; b < exact.size(); ++b) {
    const BodyState &is = (*allowed)[b], &should = exact[b];
    out.position = std::max(out.position, (is.p_WC - should.p_WC).norm());
    out.configuration = std::max({out.configuration, out.position, angle_between(is.q_WB, should.q_WB)});
    out.velocity = std::max({out.velocity, (is.v_WC - should.v_WC).norm(), (is.w_WB - should.w_WB).norm()});
    out.off = std::max({out.off, (is.v_WC - end[b].v_WC).norm(), (is.w_WB - end[b].w_WB).norm()});
  }
  return out;
}

Stepped stepped(const Moving& m, const Bodies& exact, const std::string& method, const StepperOptions& options, double T,
                int steps) {
  IntegratorOptions all;
  all.stepper = options;
  Natural formulation(m.model);
  End end = end_of(m, formulation, **make_integrator(method, all), T, T / steps);
  EXPECT_TRUE(end.verdict.ok()) << m.name << " " << method << " " << name(end.verdict.status);
  const EndError error = error_of(m.model, end.bodies, exact);
  return {std::move(end), error};
}

}  // namespace invar::testing
