// SPDX-License-Identifier: Apache-2.0
//
// A projection is a blow of the joints: it meets the constraints on both levels, and what it changes, M Δν, is a combination of
// their rows, so it does nothing along any motion that the joints allow. Baumgarte's term closes gaps in a time 1/beta.
#include "invar/mech/projection.hpp"

#include <gtest/gtest.h>

#include "invar/integrate/make.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "support/campaign.hpp"
#include "support/dense_kkt.hpp"
#include "support/places.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

/// Trees, floating trees, loops and couplings in turn.
Sample draw(std::uint64_t seed, double mass_ratio) {
  MechanismOptions o;
  o.bodies = 2 + static_cast<int>(seed % 6), o.floating = seed % 3 == 1, o.loops = seed % 4 == 2 ? 1 : 0;
  o.couplings = seed % 4 == 3 ? 2 : 0, o.mass_ratio = mass_ratio;
  return random_sample(seed, o);
}

/// Rows are independent, and not nearly dependent either: gaps have one shortest way back, and Newton takes it.
bool regular(const Model& model, const Bodies& bodies) {
  Augmented dynamics(model);
  State x;
  dynamics.set(bodies, x);
  const Mobility& m = dynamics.mobility();
  return m.rank == m.rows && m.sigma > 1e-2 && !m.near_singular;
}

void disturb(Random& random, double positions, double velocities, Bodies& bodies) {
  for (BodyState& b : bodies) {
    b.p_WC += random_vector(random, positions);
    b.q_WB = turned(b.q_WB, random_vector(random, positions));
    b.v_WC += random_vector(random, velocities);
    b.w_WB += random_vector(random, velocities);
  }
}

/// Cosine, in the metric of M, of the angle between a change and a motion that the joints allow; 0 if they allow none.
double along(const Sample& s, Random& random, const VecX& change) {
  Bodies allowed = s.bodies;
  draw_velocities(random, s.model, allowed);
  if (stacked_velocity(allowed).norm() < 1e-6) return 0;
  const MatX M = assemble(s.model, s.bodies, s.load.port, s.load.efforts).M;
  const VecX u = stacked_velocity(allowed);
  return std::abs(u.dot(M * change)) / std::sqrt(u.dot(M * u) * change.dot(M * change));
}

TEST(Projection, OfVelocitiesIsABlowOfTheJointsAlone) {
  for (int i = 0; i < cases(40); ++i) {
    const Sample s = draw(seed(700) + static_cast<std::uint64_t>(i), 1e3);
    Random random(static_cast<std::uint64_t>(i), 7);
    Bodies bodies = s.bodies;
    disturb(random, 0, 1, bodies);
    const VecX before = stacked_velocity(bodies), wound = VecX::Zero(s.model.nv());
    Unreduced solver(s.model);
    ASSERT_TRUE(Projection(s.model, solver).velocities(bodies, wound).ok()) << describe(s.mechanism.spec);
    const VecX change = stacked_velocity(bodies) - before;
    if (change.norm() < 1e-6) continue;  // free bodies have nothing to meet
    // Round-off 1e-16 times the square root of the condition of M (masses 1e3, sizes 1e1): far below a wrong metric's cosine.
    EXPECT_LT(along(s, random, change), 1e-9) << describe(s.mechanism.spec);
    EXPECT_LT(constraint_error(s.model, bodies, wound).velocity, 1e-11) << describe(s.mechanism.spec);
  }
}

TEST(Projection, OfPositionsIsTheShortestWayInTheInertiaMetric) {
  for (int i = 0; i < cases(40); ++i) {
    const Sample s = draw(seed(800) + static_cast<std::uint64_t>(i), 100);
    if (!regular(s.model, s.bodies)) continue;
    Random random(static_cast<std::uint64_t>(i), 8);
    Bodies bodies = s.bodies;
    constexpr double size = 1e-6;
    disturb(random, size, 0, bodies);
    const Bodies before = bodies;
    const VecX wound = VecX::Zero(s.model.nv());
    Unreduced solver(s.model);
    ASSERT_TRUE(Projection(s.model, solver).positions(bodies, wound, 1e-9, 20).ok()) << describe(s.mechanism.spec);
    EXPECT_LT(constraint_error(s.model, bodies, wound).position, 1e-12) << describe(s.mechanism.spec);
    // To first order in the size of the gap; curvature adds a share of about size times (1/m) times the condition of loops.
    Bodies step = s.bodies;
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      step[b].v_WC = bodies[b].p_WC - before[b].p_WC;
      step[b].w_WB = log_so3(bodies[b].q_WB * before[b].q_WB.conjugate());
    }
    const VecX change = stacked_velocity(step);
    if (change.norm() < 1e-9) continue;
    EXPECT_LT(along(s, random, change), 1e4 * size) << describe(s.mechanism.spec);
  }
}

TEST(Settling, MeetsTheConstraintsOnBothLevels) {
  for (int i = 0; i < cases(40); ++i) {
    const Sample s = draw(seed(900) + static_cast<std::uint64_t>(i), 100);
    if (!regular(s.model, s.bodies)) continue;
    Random random(static_cast<std::uint64_t>(i), 9);
    Bodies bodies = s.bodies;
    disturb(random, 1e-5, 1e-3, bodies);
    Augmented dynamics(s.model);
    State x;
    dynamics.set(s.bodies, x);
    const VecX wound = x.wound;
    dynamics.set(bodies, x);
    x.wound = wound;
    ASSERT_TRUE(dynamics.settle(x).ok()) << describe(s.mechanism.spec);
    dynamics.bodies(x, bodies);
    const ConstraintError error = constraint_error(s.model, bodies, x.wound);
    // Round-off of positions and velocities of some metres, times the condition of loops.
    EXPECT_LT(error.position, 1e-12) << describe(s.mechanism.spec);
    EXPECT_LT(error.velocity, 1e-11) << describe(s.mechanism.spec);
  }
}

TEST(ConsistentStart, MeetsTheConstraintsOnBothLevels) {
  for (int i = 0; i < cases(40); ++i) {
    const Sample s = draw(seed(1000) + static_cast<std::uint64_t>(i), 100);
    Random random(static_cast<std::uint64_t>(i), 10);
    Bodies bodies = s.bodies;
    disturb(random, 1e-3, 1, bodies);
    const Result<Bodies> start = make_consistent(s.model, bodies);
    ASSERT_TRUE(start.has_value()) << start.error().text() << "; " << describe(s.mechanism.spec);
    // Redundant loops, whose rows contradict each other off the constraints, are closed within the tolerance of the function.
    const ConstraintError error = constraint_error(s.model, *start, VecX::Zero(s.model.nv()));
    EXPECT_LT(error.position, regular(s.model, s.bodies) ? 1e-12 : 1e-9) << describe(s.mechanism.spec);
    EXPECT_LT(error.velocity, regular(s.model, s.bodies) ? 1e-11 : 1e-7) << describe(s.mechanism.spec);
  }
}

// Fifty joints off by up to 0.05 rad each leave a gap of a metre and more: too far for whole Newton steps in one case of 200.
TEST(ConsistentStart, IsReachedFromFarAway) {
  for (const char* file : {"ring7", "ring20", "ring50"}) {
    const Model model = build(*read_model_file(source_path("models/") + file + ".toml"));
    for (int i = 0; i < cases(100); ++i) {
      Random random(seed(2024), static_cast<std::uint64_t>(i));
      JointState joints = JointState::initial(model);
      for (const Joint& joint : model.joints())
        if (joint.nq == 1) joints.q[joint.q0] += random.uniform(-0.05, 0.05), joints.v[joint.v0] = random.normal();
      const auto start = make_consistent(model, place(model, joints), 1e-12);
      EXPECT_TRUE(start.has_value()) << file << " " << i << ": " << start.error().text();
    }
  }
}

// Without loads and from rest the gaps alone cause motion, so to first order in them every residual obeys
// r'' + 2 beta r' + beta² r = 0 by itself: r = (1 + beta t) exp(-beta t) r0. Second order: 1e-4 of it.
TEST(Baumgarte, ClosesJointsAndCouplingsLikeACriticallyDampedSpring) {
  for (int i = 0; i < cases(24); ++i) {
    MechanismOptions o;
    o.bodies = 2 + i % 4, o.couplings = 2 * (i % 2), o.loops = i % 3 == 2 ? 1 : 0, o.passive = false, o.mass_ratio = 10;
    Random random(seed(1100) + static_cast<std::uint64_t>(i), 11);
    Mechanism drawn = random_mechanism(random, o);
    drawn.spec.gravity.setZero();
    const Model model = build(drawn.spec);
    Bodies bodies = at_rest(model, drawn.X_WB);
    if (!regular(model, bodies)) continue;
    disturb(random, 1e-6, 0, bodies);
    Augmented dynamics(model, {.project = false, .baumgarte_alpha = 8, .baumgarte_beta = 8});
    System system(dynamics);
    State x;
    dynamics.set(bodies, x);
    const double before = constraint_error(model, bodies, x.wound).position;
    const auto rk4 = std::move(*make_integrator("rk4"));
    rk4->reset(system, x, 0.005);
    for (int k = 0; k < 50; ++k) {
      double done = 0;
      ASSERT_TRUE(rk4->step(system, 0.005 * k, 0.005, x, done).ok()) << describe(drawn.spec);
    }
    dynamics.bodies(x, bodies);
    const double after = constraint_error(model, bodies, x.wound).position;
    EXPECT_NEAR(after, 3 * std::exp(-2) * before, 1e-3 * before) << describe(drawn.spec);
  }
}

}  // namespace
}  // namespace invar::testing
