// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "invar/integrate/make.hpp"
#include "invar/mech/augmented.hpp"
#include "support/march.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

// J a = γ − 2α (velocity residual) − β² (position residual), both in 1/s: a body held in all six directions and started with a
// gap x0 along x moves like x'' = −2α x' − β² x, so x(t) = x0 e^(−αt) (cos ωt + (α/ω) sin ωt) with ω² = β² − α². Bound: rk4's
// local error (βh)^5/120 over 1000 steps of h = 1 ms is 3e-11 of x0; β in the place of β² would be off by all of it.
TEST(Baumgarte, MovesAGapLikeAnOscillatorOfFrequencyBeta) {
  ModelSpec spec;
  spec.gravity = Vec3::Zero();
  BodySpec body;
  body.name = "body";
  body.inertia = {2.0, Vec3::Zero(), Mat3::Identity()};
  spec.bodies = {body};
  JointSpec weld;
  weld.name = "weld";
  weld.child = "body";
  spec.joints = {weld};
  const Model model = build(spec);

  const double alpha = 3, beta = 5, omega = 4, x0 = 1e-3;
  Augmented dynamics(model, {.project = false, .baumgarte_alpha = alpha, .baumgarte_beta = beta});
  System system(dynamics);
  Bodies bodies(1);
  bodies[0].p_WC.x() = x0;
  State x;
  dynamics.set(bodies, x);
  const auto rk4 = make_integrator("rk4");
  double worst = 0;
  const March m = march({spec, 0.1 * x0}, system, **rk4, 0, 1, 1e-3, x, [&](double t, double h) {
    dynamics.bodies(x, bodies);
    const double now = t + h;
    const double exact = x0 * std::exp(-alpha * now) * (std::cos(omega * now) + alpha / omega * std::sin(omega * now));
    worst = std::max(worst, std::abs(bodies[0].p_WC.x() - exact));
  });
  ASSERT_TRUE(m.verdict.ok());
  EXPECT_EQ(m.steps, 1000);
  EXPECT_LE(worst, 1e-10 * x0);
}

}  // namespace
}  // namespace invar::testing
