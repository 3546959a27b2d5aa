// SPDX-License-Identifier: Apache-2.0
//
// Closing errors of joints and couplings, on motions that tear them apart: their rates are derivatives, and nothing that opens
// is overlooked.
#include <gtest/gtest.h>

#include "invar/mech/kinematics.hpp"
#include "support/campaign.hpp"
#include "support/dense_kkt.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

/// A closed mechanism whose bodies move as they like.
Sample torn(std::uint64_t seed) {
  MechanismOptions o;
  o.bodies = 2 + static_cast<int>(seed % 6), o.loops = static_cast<int>(seed % 3), o.couplings = 2, o.locked = seed % 2 == 0;
  Sample s = random_sample(seed, o);
  Random random(seed, 5);
  for (BodyState& b : s.bodies) b.v_WC = random_vector(random, 0.5), b.w_WB = random_vector(random, 0.5);
  return s;
}

/// Derivative at 0 of f along t, by Richardson on central differences.
template <class F>
VecX derivative(const F& f, double t) {
  const VecX coarse = (f(t) - f(-t)) / (2 * t), fine = (f(t / 2) - f(-t / 2)) / t;
  return (4 * fine - coarse) / 3;
}

VecX couplings(const Model& model, const Bodies& bodies) {
  VecX q, v, out(static_cast<Eigen::Index>(model.couplings().size()));
  joint_coordinates(model, bodies, q, v);
  for (int c = 0; c < out.size(); ++c) out[c] = coupling_residual(model, c, q);
  return out;
}

// Differences over 1e-3 s: the error is t⁴/480 of the fifth derivative, (relative rate of at most 5 rad/s)⁵ times lengths and
// slopes of about 10: 1e-10; round-off 1e-15 / 1e-3. A hundred times that is far below any rate drawn.
constexpr double kStep = 1e-3, kError = 1e-8;

TEST(ClosingErrors, OfJointsChangeAtTheRateOfTheirRows) {
  for (int i = 0; i < cases(30); ++i) {
    const Sample s = torn(seed(20) + static_cast<std::uint64_t>(i));
    for (int j = 0; j < static_cast<int>(s.model.joints().size()); ++j) {
      const auto residual = [&](double t) { return joint_residual(s.model, j, moved(s.bodies, t)); };
      const Residual rate = joint_residual_rate(s.model, j, s.bodies);
      if (rate.size() == 0) continue;
      EXPECT_LT((derivative(residual, kStep) - rate).norm(), kError) << name(s.model.joints()[static_cast<std::size_t>(j)].kind);
      EXPECT_GT(rate.norm(), 1e3 * kError) << "nothing was torn";
    }
  }
}

TEST(ClosingErrors, OfCouplingsChangeAtTheirRate) {
  int compared = 0;
  for (int i = 0; i < cases(30); ++i) {
    const Sample s = torn(seed(60) + static_cast<std::uint64_t>(i));
    VecX q, v;
    joint_coordinates(s.model, s.bodies, q, v);
    const VecX slope = derivative([&](double t) { return couplings(s.model, moved(s.bodies, t)); }, kStep);
    for (int c = 0; c < slope.size(); ++c, ++compared)
      EXPECT_NEAR(coupling_residual_rate(s.model, c, q, v), slope[c], kError * (1 + std::abs(slope[c])));
  }
  EXPECT_GT(compared, 20);
}

TEST(ConstraintError, IsTheLargestOfAllResidualsOnBothLevels) {
  for (int i = 0; i < cases(60); ++i) {
    Sample s = torn(seed(100) + static_cast<std::uint64_t>(i));
    Random random(static_cast<std::uint64_t>(i), 6);
    // One body moves and is out of place, so that every joint or coupling has its turn to be the worst.
    const auto moving = static_cast<std::size_t>(random.below(static_cast<int>(s.bodies.size())));
    for (std::size_t b = 0; b < s.bodies.size(); ++b)
      if (b != moving) s.bodies[b].v_WC = s.bodies[b].w_WB = Vec3::Zero();
    s.bodies[moving].p_WC += random_vector(random, 1e-3);
    s.bodies[moving].q_WB = turned(s.bodies[moving].q_WB, random_vector(random, 1e-3));
    double position = 0, velocity = 0;
    for (int j = 0; j < static_cast<int>(s.model.joints().size()); ++j) {
      const Residual r = joint_residual(s.model, j, s.bodies), rate = joint_residual_rate(s.model, j, s.bodies);
      if (r.size() == 0) continue;
      position = std::max(position, r.lpNorm<Eigen::Infinity>()), velocity = std::max(velocity, rate.lpNorm<Eigen::Infinity>());
    }
    VecX q, v;
    joint_coordinates(s.model, s.bodies, q, v);
    for (int c = 0; c < static_cast<int>(s.model.couplings().size()); ++c) {
      position = std::max(position, std::abs(coupling_residual(s.model, c, q)));
      velocity = std::max(velocity, std::abs(coupling_residual_rate(s.model, c, q, v)));
    }
    const ConstraintError error = constraint_error(s.model, s.bodies, VecX::Zero(s.model.nv()));
    // The same numbers in another order of operations: some roundings of coordinates of size 10.
    EXPECT_NEAR(error.position, position, 1e-14 * (1 + 10 * position)) << describe(s.mechanism.spec);
    EXPECT_NEAR(error.velocity, velocity, 1e-13 * (1 + velocity)) << describe(s.mechanism.spec);
  }
}

}  // namespace
}  // namespace invar::testing
