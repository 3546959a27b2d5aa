// SPDX-License-Identifier: Apache-2.0
//
// A parallelogram lying flat: four hinges in line, one constraint row less, one freedom more. Cranks of 1 m, coupler of 2 m,
// all rods of 1 kg. On the branch of parallel cranks the coupler only translates, so
//   theta'' = -g cos(theta) (m a + m a) / (2/3 m a² + m a²) = -(6/5) g cos(theta)   (-11.772 rad/s² when flat).
#include <gtest/gtest.h>

#include "invar/integrate/make.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "support/newton_euler.hpp"
#include "support/places.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

ModelSpec parallelogram() { return *read_model_file(source_path("models/parallelogram.toml")); }

/// Cranks at the angle theta above the ground line, at rest. Hinges turn about +y: up is negative.
Bodies raised(const Model& model, double theta) {
  JointState joints = JointState::initial(model);
  joints.q << -theta, theta, theta, -theta;
  return place(model, joints);
}

TEST(Parallelogram, AcceleratesSmoothlyDownToItsFlatPosition) {
  const ModelSpec spec = parallelogram();
  const Model model = build(spec);
  // Load on the coupler alone does no work on this branch, but presses on the weak row.
  Load load(model);
  load.port[1].moment = Vec3(0, 3, 0);
  for (const double theta : {0.3, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6}) {
    Augmented dynamics(model);
    State x;
    dynamics.set(raised(model, theta), x);
    Evaluation e;
    ASSERT_TRUE(dynamics.evaluate(x, load, e).ok()) << theta;
    expect_newton_euler(spec, e, load);
    EXPECT_EQ(dynamics.mobility().rank, 17) << theta;
    EXPECT_EQ(dynamics.mobility().freedoms, 1) << theta;
    // Reactions grow like 1/theta, and their rounding enters as u/theta; never worse than 1e-8 (what docs/augmented.md states).
    const double bound = std::min(1e-8, 1e-12 + 1e-14 / theta);
    EXPECT_NEAR(-e.vdot[0], -1.2 * 9.81 * std::cos(theta), 12 * bound) << theta;
  }
}

TEST(Parallelogram, LyingFlatHasOneRowLessAndSaysSo) {
  const ModelSpec spec = parallelogram();
  const Model model = build(spec);
  Augmented dynamics(model);
  State x;
  dynamics.set(raised(model, 0), x);
  Evaluation e;
  ASSERT_TRUE(dynamics.evaluate(x, Load(model), e).ok());
  expect_newton_euler(spec, e, Load(model));
  EXPECT_EQ(dynamics.mobility().rank, 16);
  EXPECT_EQ(dynamics.mobility().freedoms, 2);
}

TEST(Parallelogram, PassingTheFlatPositionIsCountedAsAChangeOfRank) {
  const ModelSpec spec = parallelogram();
  const Model model = build(spec);
  Augmented dynamics(model);
  State x;
  Evaluation e;
  dynamics.set(raised(model, 0.2), x);
  ASSERT_TRUE(dynamics.evaluate(x, Load(model), e).ok());
  expect_newton_euler(spec, e, Load(model));
  EXPECT_EQ(dynamics.mobility().changes, 0);
  for (const double theta : {0.0, -0.2}) {
    dynamics.set(raised(model, theta), x);
    ASSERT_TRUE(dynamics.evaluate(x, Load(model), e).ok());
    expect_newton_euler(spec, e, Load(model));
  }
  EXPECT_EQ(dynamics.mobility().changes, 2);
  EXPECT_EQ(dynamics.mobility().freedoms, 1);
}

// What placing leaves of a gap is round-off; closing it further would move the mechanism by round-off over theta.
TEST(Parallelogram, AssembledNearItsFlatPositionIsLeftAlone) {
  const ModelSpec spec = parallelogram();
  const Model model = build(spec);
  for (const double theta : {1e-3, 1e-5, 1e-6, 1e-7, 1e-8}) {
    const auto bodies = make_consistent(model, raised(model, theta));
    ASSERT_TRUE(bodies.has_value()) << theta;
    Augmented dynamics(model);
    State x;
    dynamics.set(*bodies, x);
    Evaluation e;
    ASSERT_TRUE(dynamics.evaluate(x, Load(model), e).ok()) << theta;
    expect_newton_euler(spec, e, Load(model));
    // Angles are measured to a few u.
    EXPECT_NEAR(-e.q[0], theta, 1e-15);
    EXPECT_NEAR(-e.vdot[0], -1.2 * 9.81 * std::cos(theta), 12 * std::min(1e-8, 1e-12 + 1e-14 / theta)) << theta;
  }
}

// From the flat position on it follows the branch of its velocity: the rank that was found there is not kept.
TEST(Parallelogram, LeavesItsFlatPosition) {
  const Model model = build(parallelogram());
  for (const double rate : {0.0, 1.0, -2.0}) {
    Augmented dynamics(model);
    System system(dynamics);
    JointState joints = JointState::initial(model);
    joints.q.setZero();
    joints.v << -rate, rate, rate, -rate;
    State x;
    dynamics.set(place(model, joints), x);
    const auto rk4 = std::move(*make_integrator("rk4"));
    rk4->reset(system, x, 1e-3);
    double done = 0;
    for (int k = 0; k < 200; ++k) ASSERT_TRUE(rk4->step(system, 1e-3 * k, 1e-3, x, done).ok()) << rate << " step " << k;
    EXPECT_EQ(dynamics.mobility().freedoms, 1) << rate;
    // Energy: (5/6) theta'² + 2 g sin(theta) (J; m = a = 1) stays; rk4 at 1 ms leaves 1e-9 or less of it.
    const double theta = -x.wound[0], speed = -x.wound_rate[0];
    EXPECT_NEAR(5.0 / 6 * speed * speed + 2 * 9.81 * std::sin(theta), 5.0 / 6 * rate * rate, 1e-8) << rate;
    EXPECT_NEAR(x.wound[0], -x.wound[1], 1e-9) << "cranks stay parallel";
  }
}

// Velocities that belong to no branch satisfy J v = 0 at the flat position but not its derivative: they are refused.
TEST(Parallelogram, VelocityOffEveryBranchIsContradictory) {
  const Model model = build(parallelogram());
  Bodies bodies = raised(model, 0);
  // Crank rates w1, w2 about y; the coupler joins their ends: v = w a at both, so its own rate is (w2 - w1)/2.
  const auto set = [&](double w1, double w2) {
    const Vec3 y = Vec3::UnitY(), x = Vec3::UnitX();
    bodies[0].w_WB = w1 * y, bodies[0].v_WC = (w1 * y).cross(0.5 * x);
    bodies[2].w_WB = w2 * y, bodies[2].v_WC = (w2 * y).cross(0.5 * x);
    bodies[1].w_WB = 0.5 * (w2 - w1) * y, bodies[1].v_WC = 0.5 * ((w1 * y).cross(x) + (w2 * y).cross(x));
  };
  const auto status = [&] {
    Augmented dynamics(model);
    State x;
    dynamics.set(bodies, x);
    Evaluation e;
    return dynamics.evaluate(x, Load(model), e).status;
  };
  set(1, 1);
  EXPECT_EQ(status(), Status::Ok);  // parallel
  set(1, -3);
  EXPECT_EQ(status(), Status::Ok);  // crossed
  set(1, 0.5);
  EXPECT_EQ(status(), Status::Contradictory);
}

}  // namespace
}  // namespace invar::testing
