// SPDX-License-Identifier: Apache-2.0
//
// Springs store what they take, dampers and friction only take, stops only push. The printed Euler law (docs/papers.md A4) is the
// exception, and is shown to be one.
#include "invar/mech/passive.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "support/faces/kinds.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

constexpr SpringLaw kConservative[] = {SpringLaw::RotationVector, SpringLaw::Euler};

/// An attitude whose rotation vector is at most `angle` long, so that no law is near its singular place.
Quat mild_attitude(Random& random, double angle) { return exp_so3(random.unit() * angle * random_unit(random)); }

TEST(BallSpring, MomentIsMinusTheGradientOfTheEnergy) {
  Random random(11);
  for (int i = 0; i < 200; ++i)
    for (const SpringLaw law : kConservative) {
      const Vec3 k(random.uniform(1, 10), random.uniform(1, 10), random.uniform(1, 10));
      const Vec3 rest = random_vector(random, 0.3);
      const Quat q = exp_so3(rest) * mild_attitude(random, 1.2);
      const Vec3 w = random_unit(random);
      const auto stored = [&](double t) { return spherical_spring_energy(law, k, rest, turned(q, t * w)); };
      // Richardson on steps of 1e-3: truncation 1e-12 times a fifth derivative, round-off 1e-15 * 10 / 1e-3.
      const double h = 1e-3;
      const double slope = (8 * (stored(h / 2) - stored(-h / 2)) - (stored(h) - stored(-h))) / (6 * h);
      EXPECT_NEAR(slope, -spherical_spring_moment(law, k, rest, q).dot(w), 1e-9) << i;
    }
}

TEST(BallSpring, RotationVectorLawHasTheClosedFormOfIsotropicStiffness) {
  // K = k 1: dexp^-T θ = θ, so the moment is -k θ along the axis of rotation, rest included.
  Random random(12);
  for (int i = 0; i < 100; ++i) {
    const Vec3 rest = random_vector(random, 0.5);
    const Vec3 theta = random.uniform(0, 3) * random_unit(random);
    const Quat q = exp_so3(rest) * exp_so3(theta);
    const Vec3 expected = -4.0 * (exp_so3(rest) * theta);
    const Vec3 moment = spherical_spring_moment(SpringLaw::RotationVector, Vec3::Constant(4.0), rest, q);
    EXPECT_LT((moment - expected).norm(), 1e-13) << i;
  }
}

TEST(BallSpring, VanishesAtRestAndPullsBackNearIt) {
  Random random(13);
  for (const SpringLaw law : {SpringLaw::RotationVector, SpringLaw::Euler, SpringLaw::EulerPrinted})
    for (int i = 0; i < 50; ++i) {
      const Vec3 k(2, 5, 9), rest = random_vector(random, 0.4);
      EXPECT_LT(spherical_spring_moment(law, k, rest, exp_so3(rest)).norm(), 1e-15);
      // To first order every law is -K θ in the rest frame; the next term is of size K θ².
      const Vec3 theta = 1e-6 * random_unit(random);
      const Vec3 expected = -(exp_so3(rest) * Vec3(k.cwiseProduct(theta)));
      const Vec3 moment = spherical_spring_moment(law, k, rest, exp_so3(rest) * exp_so3(theta));
      EXPECT_LT((moment - expected).norm(), 2e-11);
    }
}

TEST(BallSpring, EulerLawsAgreeAboutASingleAxis) {
  // Turned about one of the axes only, the axes of A (10) are orthogonal: printed and reciprocal law are the same spring.
  for (int axis = 0; axis < 3; ++axis) {
    const Vec3 u = 0.7 * Vec3::Unit(axis);
    const Vec3 printed = spherical_spring_moment(SpringLaw::EulerPrinted, Vec3(2, 3, 4), Vec3::Zero(), exp_so3(u));
    const Vec3 right = spherical_spring_moment(SpringLaw::Euler, Vec3(2, 3, 4), Vec3::Zero(), exp_so3(u));
    EXPECT_LT((printed - right).norm(), 1e-15);
    EXPECT_NEAR(right[axis], -0.7 * Vec3(2, 3, 4)[axis], 1e-14);
  }
}

/// Work done on the child along a closed path of rotation vectors.
double work_around(SpringLaw law, int n) {
  double work = 0;
  const auto at = [](double s) {
    const double a = 2 * std::numbers::pi * s;
    return exp_so3(Vec3(0.4 + 0.4 * std::cos(a), 0.5 + 0.3 * std::sin(a), 0.5 * std::cos(a)));
  };
  for (int i = 0; i < n; ++i) {
    const double s = static_cast<double>(i) / n, h = 1.0 / n;
    const Vec3 du = log_so3(at(s + h) * at(s).conjugate());
    work += spherical_spring_moment(law, Vec3(2, 5, 9), Vec3::Zero(), at(s + 0.5 * h)).dot(du);
  }
  return work;
}

TEST(BallSpring, PrintedLawPumpsEnergyAroundAClosedPathAndTheOthersDoNot) {
  // Midpoint sums over a smooth closed path: error of order n^-2 of a work of some joules.
  EXPECT_LT(std::abs(work_around(SpringLaw::RotationVector, 4000)), 1e-5);
  EXPECT_LT(std::abs(work_around(SpringLaw::Euler, 4000)), 1e-5);
  EXPECT_GT(std::abs(work_around(SpringLaw::EulerPrinted, 4000)), 1e-2);
}

TEST(BallSpring, RotationVectorLawIsTheSameInEveryFrame) {
  // F and M turned alike, stiffness isotropic: the moment turns with them. The Euler law depends on the frame.
  Random random(14);
  const Quat turn = random_attitude(random), q = exp_so3(Vec3(0.3, -0.5, 0.8));
  const Vec3 k = Vec3::Constant(3.0);
  const auto moved = [&](SpringLaw law) {
    return (spherical_spring_moment(law, k, Vec3::Zero(), turn * q * turn.conjugate()) -
            turn * spherical_spring_moment(law, k, Vec3::Zero(), q))
        .norm();
  };
  EXPECT_LT(moved(SpringLaw::RotationVector), 1e-14);
  EXPECT_GT(moved(SpringLaw::Euler), 1e-2);
}

/// One joint of a kind on a body, with every passive part, drawn.
Model one_joint(Random& random, JointKind kind, double stop_damping) {
  ModelSpec spec;
  BodySpec body;
  body.name = "b";
  body.inertia = random_inertia(random, 1.0, 0.5);
  spec.bodies.push_back(body);
  JointSpec joint;
  joint.name = "j", joint.kind = kind, joint.child = "b";
  joint.pitch = kind == JointKind::Screw ? 0.2 : 0.0;
  joint.friction_velocity = 0.1;
  for (int k = 0; k < freedoms(kind); ++k) {
    joint.spring.stiffness.push_back(random.uniform(1, 9));
    joint.spring.rest.push_back(random.uniform(-0.3, 0.3));
    joint.damping.push_back(random.uniform(0, 1));
    joint.friction.push_back(random.uniform(0, 1));
    if (kind == JointKind::Spherical || kind == JointKind::Free) continue;
    joint.limits.lower.push_back(-0.4);
    joint.limits.upper.push_back(0.4);
  }
  joint.limits.stiffness = 50;
  joint.limits.damping = stop_damping;
  spec.joints.push_back(joint);
  return build(spec);
}

/// Coordinates moved along rates for a time: scalars add, quaternions turn from the left.
VecX moved_along(const Joint& joint, const VecX& q, const VecX& v, double t) {
  VecX out = q;
  const int ball = joint.kind == JointKind::Spherical ? 0 : (joint.kind == JointKind::Free ? 3 : joint.nv);
  for (int k = 0; k < ball; ++k) out[k] += t * v[k];
  if (ball == joint.nv) return out;
  const Quat turned_q = turned(Quat(q[ball], q[ball + 1], q[ball + 2], q[ball + 3]), t * Vec3(v.segment<3>(ball)));
  out.segment<4>(ball) << turned_q.w(), turned_q.x(), turned_q.y(), turned_q.z();
  return out;
}

TEST(PassiveEfforts, ElasticEnergyChangesByTheirPowerLessTheDissipation) {
  Random random(15);
  for (int i = 0; i < 300; ++i) {
    const Model model = one_joint(random, static_cast<JointKind>(1 + i % 8), 3.0);
    const Joint& joint = model.joints()[0];
    VecX q = model.initial_q(), v = VecX::Zero(model.nv());
    for (double& x : v) x = random.normal();
    q = moved_along(joint, q, v, random.uniform(-1, 1));
    VecX efforts = VecX::Zero(model.nv());
    double dissipation = -1;
    add_passive_efforts(model, q, v, efforts, dissipation);
    const auto stored = [&](double t) { return elastic_energy(model, moved_along(joint, q, v, t)); };
    // Steps of 1e-4 where the energy is C¹ with kinks of size 50 in its second derivative at the stops: error 50 * 1e-4 there
    // only if the edge lies in the step, which the draw is moved away from; elsewhere 1e-8 of a third derivative.
    bool edge = false;
    for (int k = 0; k < joint.nv && joint.kind != JointKind::Spherical && joint.kind != JointKind::Free; ++k)
      edge = edge || std::abs(std::abs(q[k]) - 0.4) < 1e-3;
    if (edge) continue;
    const double slope = (stored(1e-4) - stored(-1e-4)) / 2e-4;
    EXPECT_NEAR(slope, -efforts.dot(v) - dissipation, 1e-6 * (1 + std::abs(slope))) << name(joint.kind) << " " << i;
    EXPECT_GE(dissipation, 0.0) << name(joint.kind);
  }
}

TEST(PassiveEfforts, AddToWhatIsThere) {
  Random random(16);
  const Model model = one_joint(random, JointKind::Universal, 0.0);
  const VecX q = VecX::Constant(2, 0.3), v = VecX::Constant(2, -0.7);
  VecX once = VecX::Zero(2), onto = VecX::Constant(2, 5.0);
  double dissipation = 0;
  add_passive_efforts(model, q, v, once, dissipation);
  add_passive_efforts(model, q, v, onto, dissipation);
  EXPECT_LT((onto - once - VecX::Constant(2, 5.0)).norm(), 1e-14);
}

/// Effort of stops alone on a slider at q with rate v; limits ±0.4, stiffness 50 N/m, damping in s/m.
double stop_effort(double q, double v, double damping, double* dissipation = nullptr) {
  ModelSpec spec;
  spec.bodies.push_back({"b", solid_sphere(1, 0.1), {}, {}});
  JointSpec joint;
  joint.name = "j", joint.kind = JointKind::Prismatic, joint.child = "b";
  joint.limits = {{-0.4}, {0.4}, 50, damping};
  spec.joints.push_back(joint);
  const Model model = build(spec);
  VecX efforts = VecX::Zero(1);
  double lost = 0;
  add_passive_efforts(model, VecX::Constant(1, q), VecX::Constant(1, v), efforts, lost);
  if (dissipation) *dissipation = lost;
  return efforts[0];
}

TEST(Stops, PushInwardInProportionToDepthAndNeverPull) {
  EXPECT_EQ(stop_effort(0.39, 1.0, 2.0), 0.0);
  EXPECT_NEAR(stop_effort(0.5, 0.0, 2.0), -5.0, 1e-14);
  EXPECT_NEAR(stop_effort(-0.5, 0.0, 2.0), 5.0, 1e-14);
  EXPECT_NEAR(stop_effort(0.5, 0.25, 2.0), -7.5, 1e-14);
  EXPECT_NEAR(stop_effort(-0.5, -0.25, 2.0), 7.5, 1e-14);
  EXPECT_EQ(stop_effort(0.5, -10.0, 2.0), 0.0);
  EXPECT_EQ(stop_effort(-0.5, 10.0, 2.0), 0.0);
}

TEST(Stops, LoseNothingWithoutDampingAndOnlyLoseWithIt) {
  double lost = -1;
  stop_effort(0.5, 3.0, 0.0, &lost);
  EXPECT_EQ(lost, 0.0);
  for (const double v : {-9.0, -0.3, 0.2, 4.0})
    for (const double q : {-0.6, 0.6}) {
      stop_effort(q, v, 1.5, &lost);
      EXPECT_GT(lost, 0.0);
    }
}

// Secants: their work over a step is the change of energy, whatever the ends are. Energies are below 100 J here: rounding 1e-14,
// divided by nothing but the change itself.
TEST(Stops, SecantTimesTheChangeIsTheChangeOfEnergy) {
  Random random(31);
  Passive p;
  p.stiffness = 3, p.rest = 0.2, p.stop_stiffness = 40, p.lower = -0.5, p.upper = 0.7;
  for (int i = 0; i < 500; ++i) {
    const double q0 = random.uniform(-1.5, 1.5), q1 = i % 10 == 0 ? q0 : q0 + random.uniform(-2, 2) * std::pow(10.0, -(i % 8));
    const double change = spring_and_stop_energy(p, q1) - spring_and_stop_energy(p, q0);
    EXPECT_NEAR(spring_and_stop_secant(p, q0, q1) * (q1 - q0), change, 1e-13) << q0 << " to " << q1;
    const PassiveStep step = passive_over_step(p, q0, q1, 0.01);
    EXPECT_NEAR(step.effort * (q1 - q0), -change, 1e-13) << q0 << " to " << q1;
    EXPECT_EQ(step.lost, 0);
  }
}

// Turns of 5e-7 to 0.5 rad: above the turn from which on moments are corrected the work is exact, below it the moment halfway
// does it up to the third order, 1e-15 rad³ times a stiffness of 10. Energies below 10 J are rounded at 1e-15.
TEST(BallSpring, ExactMomentDoesTheWorkOfTheChangeOfEnergy) {
  Random random(32);
  for (int i = 0; i < 200; ++i)
    for (const SpringLaw law : kConservative) {
      const Vec3 k(random.uniform(1, 10), random.uniform(1, 10), random.uniform(1, 10));
      const Vec3 rest = random_vector(random, 0.3);
      const Quat q0 = exp_so3(rest) * mild_attitude(random, 0.6);
      const Vec3 turn = std::pow(10.0, -6.0 * random.unit()) * random_unit(random);
      const Quat q1 = exp_so3(0.5 * turn) * q0;
      const Vec3 halfway = spherical_spring_halfway(law, k, rest, q0, q1);
      const Vec3 moment = spherical_spring_exact(law, k, rest, q0, q1, halfway, 0.5 * turn);
      const double change = spherical_spring_energy(law, k, rest, q1) - spherical_spring_energy(law, k, rest, q0);
      EXPECT_NEAR(moment.dot(0.5 * turn), -change, 2e-14) << turn.norm();
    }
}

}  // namespace
}  // namespace invar::testing
