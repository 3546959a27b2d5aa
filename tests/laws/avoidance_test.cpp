// SPDX-License-Identifier: Apache-2.0
//
// Potentials that keep shapes from obstacles and freedoms from limits: gradients are those of the energy, their rates are
// derivatives along the motion, and what is told about distances is what a search finds.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "invar/control/limit_repulsion.hpp"
#include "invar/control/repulsion.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/system.hpp"
#include "support/campaign.hpp"
#include "support/controlled.hpp"
#include "support/march.hpp"

namespace invar::testing {
namespace {

Sample drawn(std::uint64_t at, int k) {
  MechanismOptions o;
  o.bodies = 2 + k % 4, o.loops = k % 3 == 2 ? 1 : 0, o.floating = k % 4 == 1, o.passive = false, o.mass_ratio = 10;
  return random_sample(at, o);
}

Obstacle drawn_obstacle(Random& random, int k) {
  Obstacle o;
  o.kind = static_cast<Obstacle::Kind>(k % 3);
  o.a = random_vector(random, 1), o.b = o.a + random_vector(random, 1), o.normal = random_unit(random);
  o.radius = o.kind == Obstacle::Kind::HalfSpace ? 0 : random.uniform(0, 0.2);
  o.width = random.uniform(0.2, 0.6);
  if (k % 2 == 0 && o.kind != Obstacle::Kind::HalfSpace) o.shape = Obstacle::Shape::Gaussian;
  return o;
}

double power(const Port& port, const Bodies& bodies) {
  double sum = 0;
  for (std::size_t b = 0; b < port.size(); ++b) sum += port[b].force.dot(bodies[b].v_WC) + port[b].moment.dot(bodies[b].w_WB);
  return sum;
}

/// Bodies at five instants h apart along a motion without loads, or none.
std::vector<Bodies> along(const Sample& s, double h) {
  Augmented formulation(s.model);
  System system(formulation);
  State x;
  formulation.set(s.bodies, x);
  const auto rk4 = std::move(*make_integrator("rk4"));
  std::vector<Bodies> out(5);
  for (int i = 0; i < 5; ++i) {
    if (i > 0 && !march(s.mechanism.spec, system, *rk4, (i - 1) * h, i * h, h / 4, x).verdict.ok()) return {};
    formulation.bodies(x, out[static_cast<std::size_t>(i)]);
  }
  return out;
}

template <class T>
T slope(const T& a, const T& b, const T& c, const T& d, double h) {
  return ((a - d) - 8 * (b - c)) / (12 * h);
}

// The difference formula leaves h⁴ f⁽⁵⁾/30: motions and shapes change with 20 /s at most, so (20 h)⁴ 20/30 = 7e-8 of f per
// second; rounding adds 1e-15/h.
void expect_derivatives(const std::vector<double>& U, const std::vector<Port>& g, const Port& rate, double power_in_middle,
                        double h, const std::string& what) {
  double size = 1e-3;
  for (const Port& port : g)
    for (const Wrench& w : port) size = std::max({size, w.force.norm(), w.moment.norm()});
  EXPECT_NEAR(slope(U[0], U[1], U[3], U[4], h), power_in_middle, 1e-6 * (size + U[2])) << what;
  for (std::size_t b = 0; b < rate.size(); ++b) {
    const auto force = [&](std::size_t i) { return g[i][b].force; };
    const auto moment = [&](std::size_t i) { return g[i][b].moment; };
    EXPECT_LT((slope<Vec3>(force(0), force(1), force(3), force(4), h) - rate[b].force).norm(), 2e-6 * 20 * size) << what;
    EXPECT_LT((slope<Vec3>(moment(0), moment(1), moment(3), moment(4), h) - rate[b].moment).norm(), 2e-6 * 20 * size) << what;
  }
}

void expect_derivatives(const Repulsion& repulsion, const std::vector<Bodies>& bodies, double h, const std::string& what) {
  std::vector<double> U;
  std::vector<Port> g(5, Port(bodies[0].size()));
  Port rate(bodies[0].size());
  for (std::size_t i = 0; i < 5; ++i) {
    U.push_back(repulsion.energy(bodies[i]));
    repulsion.add_gradient(bodies[i], g[i], i == 2 ? &rate : nullptr);
  }
  expect_derivatives(U, g, rate, power(g[2], bodies[2]), h, what);
}

TEST(Repulsion, PushesDownItsPotentialAndSaysHowThatChanges) {
  constexpr double h = 1e-3;
  int judged = 0;
  for (int k = 0; k < cases(60); ++k) {
    const Sample s = drawn(seed(6100) + static_cast<std::uint64_t>(k), k);
    Random random(6101, static_cast<std::uint64_t>(k));
    const Obstacle o = drawn_obstacle(random, std::array{0, 2, 3}[static_cast<std::size_t>(k % 3)]);  // no capsule
    // A ball, or a capsule, on every body.
    std::vector<Guarded> guarded;
    for (int b = 0; b < static_cast<int>(s.bodies.size()); ++b)
      guarded.push_back(
          {b, random_vector(random, 0.3), random.uniform(0, 0.1), b % 2 == 0 ? Vec3(random_vector(random, 0.5)) : Vec3::Zero()});
    const Repulsion repulsion(s.model, {o}, guarded);
    const std::vector<Bodies> bodies = along(s, h);
    if (bodies.empty()) continue;
    ++judged;
    expect_derivatives(repulsion, bodies, h, std::to_string(k));
  }
  EXPECT_GT(judged, cases(60) * 8 / 10);
}

// Beside its axis; where the nearest point reaches an end the second derivative of the distance jumps.
TEST(Repulsion, OfACapsuleBesideItsAxisIsSmooth) {
  constexpr double h = 1e-3;
  int judged = 0;
  for (int k = 0; k < cases(20); ++k) {
    const Sample s = drawn(seed(6120) + static_cast<std::uint64_t>(k), k);
    Random random(6121, static_cast<std::uint64_t>(k));
    Obstacle o = drawn_obstacle(random, 1);
    const Vec3 axis = random_unit(random);
    o.a = -50 * axis + random_vector(random, 1), o.b = o.a + 100 * axis;
    const Repulsion repulsion(s.model, {o}, {{0, random_vector(random, 0.3), 0.05, random_vector(random, 0.5)}});
    const std::vector<Bodies> bodies = along(s, h);
    // On the axis itself a distance has no derivative: within 5 cm of it the difference formula sees the kink.
    if (bodies.empty() || repulsion.clearance(bodies[2]).distance + 0.05 + o.radius < 0.05) continue;
    ++judged;
    expect_derivatives(repulsion, bodies, h, std::to_string(k));
  }
  EXPECT_GT(judged, cases(20) * 8 / 10);
}

// ½ φ + ½ φ at the ends and the integral between them over the width; refining the trapezoids must not change it.
TEST(Repulsion, OfACapsuleIsItsIntegral) {
  MechanismOptions options;
  options.bodies = 1, options.floating = true;
  const Sample s = random_sample(seed(6200), options);
  for (int k = 0; k < cases(30); ++k) {
    Random random(6201, static_cast<std::uint64_t>(k));
    Obstacle o = drawn_obstacle(random, 2 * (k % 2));  // ball, half-space
    o.shape = Obstacle::Shape::Exponential;
    const Vec3 from = random_vector(random, 0.5), axis = random_vector(random, 1);
    const double radius = 0.05, length = axis.norm();
    const double whole = Repulsion(s.model, {o}, {{0, from, radius, axis}}).energy(s.bodies);
    const auto phi = [&](double part) { return Repulsion(s.model, {o}, {{0, from + part * axis, radius}}).energy(s.bodies); };
    constexpr int n = 2000;
    double integral = 0;
    for (int i = 0; i <= n; ++i) integral += (i == 0 || i == n ? 0.5 : 1.0) * phi(double(i) / n) * length / n;
    // Trapezoids of half a width leave (1/2)²/12 of φ's second derivative, at most twice the value over the width squared where
    // the axis does not pass through the centre: five parts in a hundred.
    const double exact = 0.5 * phi(0) + 0.5 * phi(1) + integral / o.width;
    EXPECT_NEAR(whole, exact, 0.05 * exact) << k;
    EXPECT_NEAR(Repulsion(s.model, {o}, {{0, from, radius, 1e-9 * axis}}).energy(s.bodies), phi(0), 1e-7 * phi(0));
  }
}

// A search over points of both axes comes as close as its grid, not closer.
TEST(Repulsion, TellsTheLeastDistance) {
  MechanismOptions options;
  options.bodies = 2, options.floating = true;
  const Sample s = random_sample(seed(6300), options);
  for (int k = 0; k < cases(60); ++k) {
    Random random(6301, static_cast<std::uint64_t>(k));
    Obstacle o = drawn_obstacle(random, k);
    const Pose X = body_pose(s.model, s.bodies, k % 2);
    const Guarded g{k % 2, random_vector(random, 0.5), 0.03,
                    k % 4 == 3 ? Vec3(0.4 * (X.q.conjugate() * (o.b - o.a))) : Vec3(random_vector(random, 1))};
    // Every other capsule crosses what is guarded at some distance: then the nearest points are no ends.
    if (o.kind == Obstacle::Kind::Capsule && (k / 3) % 2 == 0) {
      const Vec3 along = o.b - o.a, middle = X * Vec3(g.p_BQ + random.uniform(0.3, 0.7) * g.axis);
      o.a = middle + 0.1 * along.cross(X.q * g.axis) - random.uniform(0.3, 0.7) * along, o.b = o.a + along;
    }
    const Repulsion::Clearance told = Repulsion(s.model, {o}, {g}).clearance(s.bodies);
    EXPECT_EQ(told.body, g.body);
    constexpr int n = 200;
    double least = 1e300;
    for (int i = 0; i <= n; ++i) {
      const Vec3 P = X * Vec3(g.p_BQ + (double(i) / n) * g.axis);
      if (o.kind == Obstacle::Kind::Sphere) least = std::min(least, (P - o.a).norm());
      if (o.kind == Obstacle::Kind::HalfSpace) least = std::min(least, o.normal.dot(P - o.a));
      for (int j = 0; j <= n && o.kind == Obstacle::Kind::Capsule; ++j)
        least = std::min(least, (P - o.a - (double(j) / n) * (o.b - o.a)).norm());
    }
    least -= o.radius + g.radius;
    const double grid = (g.axis.norm() + (o.b - o.a).norm()) / n;
    EXPECT_LE(told.distance, least + 1e-12) << k;
    EXPECT_GE(told.distance, least - grid) << k;
  }
}

TEST(LimitRepulsion, PushesDownItsPotentialAndSaysHowThatChanges) {
  constexpr double h = 1e-3;
  int judged = 0;
  for (int k = 0; k < cases(60); ++k) {
    const Sample s = drawn(seed(6400) + static_cast<std::uint64_t>(k), k);
    LimitRepulsion limits(s.model, limits_about(s.model, s.bodies, 0.8), 0.5, 0.4);
    const std::vector<Bodies> bodies = along(s, h);
    if (bodies.empty() || limits.empty()) continue;
    ++judged;
    ConstrainedInverse at(s.model);
    std::vector<double> U;
    std::vector<Port> g(5, Port(s.bodies.size())), rates = g;
    for (std::size_t i = 0; i < 5; ++i) {
      ASSERT_TRUE(at.at(bodies[i]).ok());
      U.push_back(limits.energy(at));
      limits.add_gradient(at, g[i], rates[i]);
      // In the middle between limits that are 0.8 away.
      if (i == 0) {
        EXPECT_NEAR(limits.excess(at).amount, -0.8, 1e-9);
      }
    }
    expect_derivatives(U, g, rates[2], power(g[2], bodies[2]), h, std::to_string(k) + ": " + describe(s.mechanism.spec));
  }
  EXPECT_GT(judged, cases(60) * 6 / 10);
}

}  // namespace
}  // namespace invar::testing
