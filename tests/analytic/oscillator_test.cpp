// SPDX-License-Identifier: Apache-2.0
//
// v1 = v0 - h w² q0, q1 = q0 + h v1 leaves v² + w² q² - h w² q v as it is, exactly: insert and compare coefficients. Euler's
// explicit method multiplies v² + w² q² by 1 + h² w² in every step instead.
#include <gtest/gtest.h>

#include "invar/integrate/make.hpp"
#include "invar/mech/augmented.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

TEST(SemiImplicitEuler, KeepsTheShiftedEnergyOfAnOscillator) {
  ModelSpec spec;
  spec.gravity.setZero();
  spec.bodies.push_back({"mass", solid_sphere(2, 0.1), {}, {}});
  JointSpec slider;
  slider.name = "slider", slider.kind = JointKind::Prismatic, slider.child = "mass";
  slider.spring.stiffness = {18};
  spec.joints.push_back(slider);
  const Model model = build(spec);
  Augmented dynamics(model);
  System system(dynamics);
  Bodies bodies(1);
  bodies[0].p_WC = Vec3(0, 0, 0.7), bodies[0].v_WC = Vec3(0, 0, -0.4);
  State x;
  dynamics.set(bodies, x);
  const auto euler = std::move(*make_integrator("semi_implicit_euler"));
  const double h = 0.01, w2 = 9;
  euler->reset(system, x, h);
  const auto shifted = [&] { return x.v[2] * x.v[2] + w2 * x.q[2] * x.q[2] - h * w2 * x.q[2] * x.v[2]; };
  const double before = shifted();
  for (int k = 0; k < 10000; ++k) {
    double done = 0;
    ASSERT_TRUE(euler->step(system, k * h, h, x, done).ok());
  }
  // 10000 steps, a few roundings of 1e-16 each, at worst all of one sign.
  EXPECT_NEAR(shifted(), before, 1e-11 * before);
}

}  // namespace
}  // namespace invar::testing
