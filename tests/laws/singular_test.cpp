// SPDX-License-Identifier: Apache-2.0
//
// A parallelogram lying flat: four hinges in line, one constraint row less, one freedom more. Cranks of 1 m, coupler of 2 m,
// all rods of 1 kg. On the branch of parallel cranks the coupler only translates, so
//   theta'' = -g cos(theta) (m a + m a) / (2/3 m a² + m a²) = -(6/5) g cos(theta)   (-11.772 rad/s² when flat).
#include <gtest/gtest.h>

#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"

namespace invar::testing {
namespace {

Model parallelogram() { return *Model::build(*read_model_file(INVAR_SOURCE_DIR "/models/parallelogram.toml")); }

/// Cranks at the angle theta above the ground line, at rest. Hinges turn about +y: up is negative.
Bodies raised(const Model& model, double theta) {
  JointState joints = JointState::initial(model);
  joints.q << -theta, theta, theta, -theta;
  return place(model, joints);
}

TEST(Parallelogram, AcceleratesSmoothlyDownToItsFlatPosition) {
  const Model model = parallelogram();
  // Load on the coupler alone does no work on this branch, but presses on the weak row.
  Load load(model);
  load.port[1].moment = Vec3(0, 3, 0);
  for (const double theta : {0.3, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6}) {
    Augmented dynamics(model);
    State x;
    dynamics.set(raised(model, theta), x);
    Evaluation e;
    ASSERT_TRUE(dynamics.evaluate(x, load, e).ok()) << theta;
    EXPECT_EQ(dynamics.mobility().rank, 17) << theta;
    EXPECT_EQ(dynamics.mobility().freedoms, 1) << theta;
    // Reactions grow like 1/theta, and their rounding enters as u/theta; never worse than 1e-8 (GRAPH's figure).
    const double bound = std::min(1e-8, 1e-12 + 1e-14 / theta);
    EXPECT_NEAR(-e.vdot[0], -1.2 * 9.81 * std::cos(theta), 12 * bound) << theta;
  }
}

TEST(Parallelogram, LyingFlatHasOneRowLessAndSaysSo) {
  const Model model = parallelogram();
  Augmented dynamics(model);
  State x;
  dynamics.set(raised(model, 0), x);
  Evaluation e;
  ASSERT_TRUE(dynamics.evaluate(x, Load(model), e).ok());
  EXPECT_EQ(dynamics.mobility().rank, 16);
  EXPECT_EQ(dynamics.mobility().freedoms, 2);
}

TEST(Parallelogram, PassingTheFlatPositionIsCountedAsAChangeOfRank) {
  const Model model = parallelogram();
  Augmented dynamics(model);
  State x;
  Evaluation e;
  dynamics.set(raised(model, 0.2), x);
  ASSERT_TRUE(dynamics.evaluate(x, Load(model), e).ok());
  EXPECT_EQ(dynamics.mobility().changes, 0);
  for (const double theta : {0.0, -0.2}) {
    dynamics.set(raised(model, theta), x);
    ASSERT_TRUE(dynamics.evaluate(x, Load(model), e).ok());
  }
  EXPECT_EQ(dynamics.mobility().changes, 2);
  EXPECT_EQ(dynamics.mobility().freedoms, 1);
}

// Velocities that belong to no branch satisfy J v = 0 at the flat position but not its derivative: they are refused.
TEST(Parallelogram, VelocityOffEveryBranchIsContradictory) {
  const Model model = parallelogram();
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
