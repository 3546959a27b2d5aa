// SPDX-License-Identifier: Apache-2.0
//
// Tendons between two configurations: the forces of a step draw exactly the energy that the tendon gains, push nobody as a whole,
// turn nothing, and become the gradient when the step shrinks.
#include "invar/mech/tendon_points.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/campaign.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

constexpr double kNoDamper = std::numeric_limits<double>::infinity();

/// A tendon and two configurations of its points, of size 1 m, apart by `way`.
struct Pair {
  Tendon tendon;
  std::vector<Vec3> p0, p1;
};

Pair draw(std::uint64_t seed, double way = 0.5) {
  Random random(seed, 61);
  Pair pair;
  const int points = 2 + random.below(4);
  for (int k = 0; k < points; ++k) {
    pair.p0.push_back(random_vector(random, 1));
    pair.p1.push_back(pair.p0.back() + random_vector(random, way));
  }
  Tendon& t = pair.tendon;
  t.points.resize(pair.p0.size());
  t.stiffness = random.uniform(1, 20), t.damping = random.uniform(0, 3), t.tension_only = random.chance(0.6);
  t.rest = length_of(pair.p0) + random.uniform(-0.6, 0.6);  // slack or taut, and often changing between the two
  return pair;
}

double energy_of(const Tendon& t, const std::vector<Vec3>& p) { return elastic_energy(t, length_of(p) - t.rest); }

std::vector<Vec3> forces_over(const Pair& c, double h) {
  std::vector<Vec3> f(c.p0.size(), Vec3::Zero());
  add_forces(tension_over(c.tendon, c.p0, c.p1, h).value, c.p0, c.p1, f);
  return f;
}

template <class F>
void for_pairs(int usual, double way, F&& law) {
  for (int k = 0; k < cases(usual); ++k) {
    SCOPED_TRACE(k);
    law(draw(seed(4100) + static_cast<std::uint64_t>(k), way));
  }
}

// Forces of at most 20 N/m times 10 m, displacements of a few metres, a handful of terms.
constexpr double kRoundOff = 200 * 10 * 1e-15;

TEST(TendonStep, DrawsExactlyTheEnergyThatTheTendonGains) {
  for_pairs(300, 0.5, [](const Pair& c) {
    const auto f = forces_over(c, kNoDamper);
    double work = 0;
    for (std::size_t k = 0; k < f.size(); ++k) work += f[k].dot(c.p1[k] - c.p0[k]);
    EXPECT_NEAR(-work, energy_of(c.tendon, c.p1) - energy_of(c.tendon, c.p0), kRoundOff);
  });
}

TEST(TendonStep, DrawsWhatTheDamperTakesBesidesAndNeverGivesAny) {
  for_pairs(300, 0.5, [](const Pair& c) {
    const double h = 0.1;
    const Tension T = tension_over(c.tendon, c.p0, c.p1, h);
    const auto f = forces_over(c, h);
    double work = 0;
    for (std::size_t k = 0; k < f.size(); ++k) work += f[k].dot(c.p1[k] - c.p0[k]);
    EXPECT_NEAR(-work, energy_of(c.tendon, c.p1) - energy_of(c.tendon, c.p0) + T.lost, 10 * kRoundOff);
    EXPECT_GE(T.lost, 0);
    EXPECT_TRUE(!c.tendon.tension_only || T.value >= 0);
    if (!c.tendon.tension_only) {
      const double change = length_of(c.p1) - length_of(c.p0);
      EXPECT_NEAR(T.lost, c.tendon.damping * change * change / h, 10 * kRoundOff);
    }
  });
}

TEST(TendonStep, PushesNobodyAndTurnsNothing) {
  for_pairs(300, 0.5, [](const Pair& c) {
    const auto f = forces_over(c, 0.1);
    Vec3 force = Vec3::Zero(), moment = Vec3::Zero();
    for (std::size_t k = 0; k < f.size(); ++k) force += f[k], moment += 0.5 * (c.p0[k] + c.p1[k]).cross(f[k]);
    EXPECT_LE(force.norm(), kRoundOff);
    EXPECT_LE(moment.norm(), kRoundOff);
  });
}

TEST(TendonStep, DoesNotDependOnTheDirectionOfTime) {
  for_pairs(300, 0.5, [](const Pair& c) {
    const Tension there = tension_over(c.tendon, c.p0, c.p1, 0.1), back = tension_over(c.tendon, c.p1, c.p0, -0.1);
    EXPECT_NEAR(there.value, back.value, kRoundOff);
  });
}

TEST(TendonStep, IsTheGradientWhenNothingMoves) {
  for_pairs(100, 0, [](const Pair& c) {
    const auto f = forces_over(c, 0.1);
    const double T = tension_at(c.tendon, c.p0).value;
    EXPECT_NEAR(tension_over(c.tendon, c.p0, c.p1, 0.1).value, T, kRoundOff);
    // Against central differences of the energy: 1e-10 of third derivatives of size 20/0.1², and 1e-16/1e-5 of round-off.
    for (std::size_t k = 0; k < f.size(); ++k)
      for (int i = 0; i < 3; ++i) {
        auto up = c.p0, down = c.p0;
        up[k][i] += 1e-5, down[k][i] -= 1e-5;
        EXPECT_NEAR(f[k][i], -(energy_of(c.tendon, up) - energy_of(c.tendon, down)) / 2e-5, 1e-6);
      }
  });
}

TEST(TendonStep, StaysAccurateForTheSmallestChanges) {
  for_pairs(300, 1e-13, [](const Pair& c) {
    const double T = tension_at(c.tendon, c.p0).value;
    EXPECT_NEAR(tension_over(c.tendon, c.p0, c.p1, kNoDamper).value, T, 20 * 1e-11);
  });
}

TEST(TendonStep, PointsThatCoincidePullInNoDirection) {
  Tendon t;
  t.points.resize(2), t.stiffness = 3, t.rest = 0, t.damping = 0, t.tension_only = false;
  const std::vector<Vec3> p(2, Vec3(1, 2, 3));
  std::vector<Vec3> f(2, Vec3::Zero());
  add_forces(1, p, p, f);
  EXPECT_EQ(f[0], Vec3::Zero());
}

/// Forces as one vector of the later points.
VecX stacked(const Pair& c, double h) {
  const auto f = forces_over(c, h);
  VecX out(3 * static_cast<Eigen::Index>(f.size()));
  for (std::size_t k = 0; k < f.size(); ++k) out.segment<3>(3 * static_cast<Eigen::Index>(k)) = f[k];
  return out;
}

/// d(forces)/d(p1) put together from the pieces that Bend describes.
MatX derivative(const Pair& c, double h) {
  const Tension T = tension_over(c.tendon, c.p0, c.p1, h);
  const auto n = static_cast<Eigen::Index>(c.p0.size());
  MatX B = MatX::Zero(3 * n, 3 * (n - 1));  // segment forces on points
  MatX K = MatX::Zero(3 * (n - 1), 3 * (n - 1));
  VecX u(3 * (n - 1)), e(3 * (n - 1));
  for (Eigen::Index k = 0; k + 1 < n; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const Bend b = bend_over(T.value, c.p0[i + 1] - c.p0[i], c.p1[i + 1] - c.p1[i]);
    B.block<3, 3>(3 * k, 3 * k).setIdentity(), B.block<3, 3>(3 * k + 3, 3 * k) = -Mat3::Identity();
    K.block<3, 3>(3 * k, 3 * k) = b.bend;
    u.segment<3>(3 * k) = b.u, e.segment<3>(3 * k) = b.e;
  }
  K += T.slope * u * e.transpose();
  return -B * K * B.transpose();
}

bool near_a_kink(const Pair& c, double h) {
  const double to = length_of(c.p1) - c.tendon.rest, from = length_of(c.p0) - c.tendon.rest;
  const Tension T = tension_over(c.tendon, c.p0, c.p1, h);
  double shortest = 1;
  for (std::size_t k = 1; k < c.p1.size(); ++k) shortest = std::min(shortest, (c.p1[k] - c.p1[k - 1]).norm());
  return shortest < 0.2 ||
         (c.tendon.tension_only && (std::abs(to) < 0.02 || std::abs(from) < 0.02 || (T.value < 0.1 && to * from < 0)));
}

TEST(TendonStep, BendsAreTheDerivativesOfItsForces) {
  int judged = 0;
  for_pairs(200, 0.5, [&](const Pair& c) {
    const double h = 0.1, step = 1e-6;
    if (near_a_kink(c, h)) return;  // differences across a kink say nothing
    ++judged;
    const MatX K = derivative(c, h);
    for (Eigen::Index k = 0; k < K.cols(); ++k) {
      Pair up = c, down = c;
      up.p1[static_cast<std::size_t>(k / 3)][k % 3] += step, down.p1[static_cast<std::size_t>(k / 3)][k % 3] -= step;
      // 1e-12 of third derivatives of size 200/0.2², 1e-16/1e-6 of round-off times 200 N.
      EXPECT_LE(((stacked(up, h) - stacked(down, h)) / (2 * step) - K.col(k)).norm(), 1e-6);
    }
  });
  EXPECT_GE(judged, cases(200) / 4);
}

TEST(TendonStiffness, IsTheSymmetricDerivativeOfTheGradient) {
  for_pairs(100, 0, [](const Pair& c) {
    if (near_a_kink(c, kNoDamper)) return;
    const auto n = static_cast<Eigen::Index>(3 * c.p0.size());
    MatX K(n, n);
    stiffness_of(c.tendon, c.p0, K);
    EXPECT_LE((K - K.transpose()).norm(), 1e-12);
    for (Eigen::Index k = 0; k < n; ++k) {
      const double step = 1e-6;
      Pair up = c, down = c;
      up.p0[static_cast<std::size_t>(k / 3)][k % 3] += step, down.p0[static_cast<std::size_t>(k / 3)][k % 3] -= step;
      up.p1 = up.p0, down.p1 = down.p0;
      EXPECT_LE(((stacked(up, kNoDamper) - stacked(down, kNoDamper)) / (2 * step) + K.col(k)).norm(), 1e-6);
    }
  });
}

}  // namespace
}  // namespace invar::testing
