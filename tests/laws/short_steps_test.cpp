// SPDX-License-Identifier: Apache-2.0
//
// Steps as short as what rounding leaves before an event: they move nothing, and break nothing.
#include <gtest/gtest.h>

#include "invar/control/disturbance.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/natural.hpp"
#include "invar/run/observers.hpp"
#include "support/moving_mechanisms.hpp"

namespace invar::testing {
namespace {

struct Changes {
  Verdict verdict;
  double balance = 0, gap = 0, rate = 0, moved = 0;
  double energy = 0, speed = 0;  // largest sizes, J and m/s or rad/s
};

/// Usual steps and short ones by turns, under a push.
Changes alternate(const Moving& m, Integrator& integrator, double usual, double brief) {
  Natural natural(m.model);
  System system(natural);
  DisturbanceSpec push;
  push.body = m.model.bodies()[0].name, push.force = Vec3(0.1, 0.2, 0), push.signal = Constant{1.0};
  const Disturbance disturbance = *Disturbance::build(m.model, push);
  system.add(disturbance);
  State x;
  natural.set(m.start, x);
  integrator.reset(system, x, usual);
  Observer observer(m.model);
  Observation now;
  observer.observe(0, natural, x, now);
  Changes out;
  for (int k = 0; k < 8; ++k) {
    const VecX before = x.q;
    double done = 0;
    out.verdict = integrator.step(system, 0, k % 2 == 0 ? usual : brief, x, done);
    if (!out.verdict.ok()) return out;
    observer.observe(0, natural, x, now, integrator.report());
    if (k % 2 == 1) out.moved = std::max(out.moved, (x.q - before).lpNorm<Eigen::Infinity>());
    out.balance = std::max(out.balance, std::abs(now.hamiltonian_balance));
    out.gap = std::max(out.gap, now.error.position);
    out.rate = std::max(out.rate, now.error.velocity);
    out.energy = std::max(out.energy, now.energy.kinetic + std::abs(now.energy.potential) + now.energy.elastic);
    out.speed = std::max(out.speed, x.v.lpNorm<Eigen::Infinity>());
  }
  return out;
}

// Balance: eight steps, a hundred terms of the size of the energies each. Closures: positions of a metre, through a matrix of
// condition 100. Rates of the default: velocities of some m/s at 1e-15, the same condition.
TEST(ConservingSteps, MayBeAsShortAsRoundingLeavesThem) {
  for (const Moving& m : {shipped("ring7"), shipped("bricard"), shipped("stewart"), shipped("four_bar"), shipped("slider_crank"),
                          shipped("paper_c_tendon"), spring_chain(), free_chain()})
    for (const char* method : {"conserving", "discrete_gradient"})
      for (const double brief : {1e-9, 1e-12, 1e-15, 1e-18, 1e-30}) {
        const auto integrator = std::move(*make_integrator(method));
        const Changes c = alternate(m, *integrator, 0.005, brief);
        SCOPED_TRACE(m.name + " " + method + " " + std::to_string(1e15 * brief) + "e-15 s");
        ASSERT_TRUE(c.verdict.ok()) << name(c.verdict.status);
        EXPECT_LE(c.balance, 1e-13 * (1 + c.energy));
        EXPECT_LE(c.gap, 1e-13);
        EXPECT_LE(c.moved, brief * 2 * c.speed + 1e-15 * (1 + m.model.length()));
        if (method == std::string("conserving")) {
          EXPECT_LE(c.rate, 1e-12 * (1 + c.speed));
        }
      }
}

}  // namespace
}  // namespace invar::testing
