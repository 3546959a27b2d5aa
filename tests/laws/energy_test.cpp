// SPDX-License-Identifier: Apache-2.0
//
// A rigid body is a cloud of points that keep their distances. Energies and momenta of the cloud, summed point by point, are
// those of the body.
#include "invar/mech/energy.hpp"

#include <gtest/gtest.h>

#include "invar/mech/kinematics.hpp"
#include "support/dense_kkt.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

struct Point {
  double mass;
  Vec3 p;  // in the body frame
};
using Cloud = std::vector<Point>;

Cloud draw_cloud(Random& random) {
  Cloud cloud;
  const Vec3 offset = random_vector(random, 1.0);
  for (int i = 0; i < 7; ++i) cloud.push_back({random.uniform(0.1, 2.0), offset + random_vector(random, 0.5)});
  return cloud;
}

Inertia inertia_of(const Cloud& cloud) {
  Inertia inertia;
  for (const Point& x : cloud) inertia.mass += x.mass, inertia.p_BC += x.mass * x.p;
  inertia.p_BC /= inertia.mass;
  for (const Point& x : cloud) inertia.I_C -= x.mass * hat(x.p - inertia.p_BC) * hat(x.p - inertia.p_BC);
  return inertia;
}

struct Clouds {
  std::vector<Cloud> clouds;
  Model model;
  Bodies bodies;
};

Clouds draw(std::uint64_t seed) {
  Random random(seed);
  std::vector<Cloud> clouds;
  ModelSpec spec;
  spec.gravity = Vec3(1, -2, -9);
  for (int b = 0; b < 4; ++b) {
    clouds.push_back(draw_cloud(random));
    spec.bodies.push_back({"b" + std::to_string(b), inertia_of(clouds.back()), {}, {}});
  }
  Model model = build(spec);
  std::vector<Pose> poses;
  for (int b = 0; b < 4; ++b) poses.push_back(random_pose(random, 2.0));
  Bodies bodies = at_rest(model, poses);
  draw_velocities(random, model, bodies);
  return {std::move(clouds), std::move(model), std::move(bodies)};
}

/// Calls f(mass, position, velocity) for every point, World.
template <class F>
void for_points(const Clouds& c, F&& f) {
  for (std::size_t b = 0; b < c.bodies.size(); ++b) {
    const Pose X_WB = c.bodies[b].X_WB(c.model.bodies()[b]);
    for (const Point& x : c.clouds[b]) f(x.mass, X_WB * x.p, c.bodies[b].velocity_at(X_WB * x.p));
  }
}

// Sums of 28 terms of size 10 to 100: round-off below 1e-12.
constexpr double kRoundOff = 1e-11;

TEST(Energy, OfACloudOfPointsIsThatOfItsBodies) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Clouds c = draw(seed);
    double kinetic = 0, potential = 0;
    for_points(c, [&](double m, const Vec3& p, const Vec3& v) {
      kinetic += 0.5 * m * v.squaredNorm();
      potential -= m * c.model.gravity().dot(p);
    });
    const Energy e = energy(c.model, c.bodies, VecX(), VecX());
    EXPECT_NEAR(e.kinetic, kinetic, kRoundOff);
    EXPECT_NEAR(e.potential, potential, kRoundOff);
    EXPECT_EQ(e.elastic, 0.0);
    EXPECT_EQ(e.total(), e.kinetic + e.potential + e.elastic);
  }
}

TEST(Momentum, OfACloudOfPointsIsThatOfItsBodies) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Clouds c = draw(seed);
    double mass = 0;
    Vec3 linear = Vec3::Zero(), angular = Vec3::Zero(), first = Vec3::Zero(), about_com = Vec3::Zero();
    for_points(c, [&](double m, const Vec3& p, const Vec3& v) {
      mass += m, first += m * p, linear += m * v, angular += m * p.cross(v);
    });
    for_points(c, [&](double m, const Vec3& p, const Vec3& v) { about_com += m * (p - first / mass).cross(v); });
    const Momentum total = momentum(c.model, c.bodies);
    EXPECT_LT((total.linear - linear).norm(), kRoundOff);
    EXPECT_LT((total.angular - angular).norm(), kRoundOff);
    EXPECT_LT((centre_of_mass(c.model, c.bodies) - first / mass).norm(), kRoundOff);
    EXPECT_LT((angular_momentum_about_com(c.model, c.bodies) - about_com).norm(), kRoundOff);
  }
}

TEST(Momentum, AboutTheCentreOfMassDoesNotSeeHowTheWholeMoves) {
  const Clouds c = draw(3);
  Bodies far = c.bodies;
  for (BodyState& b : far) b.p_WC += Vec3(40, -50, 60), b.v_WC += Vec3(3, 2, -1);
  const Vec3 change = angular_momentum_about_com(c.model, far) - angular_momentum_about_com(c.model, c.bodies);
  EXPECT_LT(change.norm(), 1e-11);  // 28 kg, 100 m, 5 m/s in double precision
}

TEST(Energy, RotorsAddTheirShare) {
  MechanismOptions o;
  o.bodies = 4;
  const Sample s = random_sample(5, o);
  VecX q, v;
  joint_coordinates(s.model, s.bodies, q, v);
  // Rotors as the spec lists them, one per freedom; locked joints have none.
  double rotors = 0;
  for (std::size_t j = 0; j < s.model.joints().size(); ++j) {
    const std::vector<double>& armature = s.mechanism.spec.joints[j].armature;
    const Joint& joint = s.model.joints()[j];
    for (int k = 0; k < joint.nv && !armature.empty(); ++k)
      rotors += 0.5 * armature[static_cast<std::size_t>(k)] * v[joint.v0 + k] * v[joint.v0 + k];
  }
  ASSERT_GT(rotors, 0.0);
  // ½ νᵀ M ν with the judge's M, rotors included, is the kinetic energy.
  const DenseKkt k = assemble(s.model, s.bodies, s.load.port, s.load.efforts);
  const double expected = 0.5 * k.nu.dot(k.M * k.nu);
  EXPECT_NEAR(energy(s.model, s.bodies, q, v).kinetic, expected, 1e-13 * expected);
  EXPECT_NEAR(energy(s.model, s.bodies, q, VecX::Zero(s.model.nv())).kinetic, expected - rotors, 1e-13 * expected);
}

}  // namespace
}  // namespace invar::testing
