// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numbers>

#include "invar/model/model.hpp"
#include "support/expect_joint.hpp"
#include "support/faces/kinds.hpp"

namespace invar {
namespace {

using testing::expect_joint;

Vec3 random_vector(Random& r) { return {r.uniform(-1, 1), r.uniform(-1, 1), r.uniform(-1, 1)}; }
Vec3 random_direction(Random& r) { return Vec3(r.normal(), r.normal(), r.normal()).normalized(); }
Pose random_pose(Random& r) { return {exp_so3(r.uniform(0, 3) * random_direction(r)), random_vector(r)}; }

TEST(JointFaces, HoldForFixed) { expect_joint<Fixed>(Random(1), 1); }
TEST(JointFaces, HoldForRevolute) { expect_joint<Revolute>(Random(2), 50); }
TEST(JointFaces, HoldForPrismatic) { expect_joint<Prismatic>(Random(3), 50); }
TEST(JointFaces, HoldForCylindrical) { expect_joint<Cylindrical>(Random(4), 50); }
TEST(JointFaces, HoldForUniversal) { expect_joint<Universal>(Random(5), 50); }
TEST(JointFaces, HoldForSpherical) { expect_joint<Spherical>(Random(6), 50); }
TEST(JointFaces, HoldForPlanar) { expect_joint<Planar>(Random(7), 50); }
TEST(JointFaces, HoldForFree) { expect_joint<Free>(Random(8), 50); }
TEST(JointFaces, HoldForScrewsOverManyTurnsOfEitherHand) {
  for (const double pitch : {0.01, -0.2, 3.0}) expect_joint<Screw>(Random(9), 50, pitch, 9.5);
}

TEST(JointKinds, WindingIsWhatReturnsAfterOneTurn) {
  Random random(10);
  for (const JointKind kind : {JointKind::Revolute, JointKind::Prismatic, JointKind::Screw, JointKind::Cylindrical,
                               JointKind::Universal, JointKind::Planar}) {
    for (int k = 0; k < freedoms(kind); ++k) {
      double q[3] = {random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)};
      const auto pose = [&] { return with_kind(kind, [&](auto face) { return decltype(face)::pose(q, 0.1); }); };
      const Pose before = pose();
      q[k] += 2 * std::numbers::pi;
      const Pose after = pose();
      const bool same = (after.p - before.p).norm() < 1e-12 && (after.R() - before.R()).norm() < 1e-12;
      EXPECT_EQ(winds(kind, k), same) << name(kind) << " freedom " << k;
    }
  }
}

TEST(AngleAboutZ, BelongsToTheNearestTurnAboutZ) {
  // Nearest in the angle of the rotation left over: |scalar part| of (turn⁻¹ q) is largest.
  Random random(11);
  for (int i = 0; i < 100; ++i) {
    const Quat q = exp_so3(random.uniform(0, 3) * random_direction(random));
    const auto closeness = [&](double angle) { return std::abs((about_z(-angle) * q).w()); };
    const double best = closeness(angle_about_z(q));
    for (int k = 0; k < 64; ++k) EXPECT_LE(closeness(2 * std::numbers::pi * k / 64), best + 1e-15);
  }
}

/// A model of one body on the ground, hinged as the spec says.
Model single(const JointSpec& joint) {
  ModelSpec spec;
  spec.bodies.resize(1);
  spec.bodies[0].name = "body";
  spec.bodies[0].inertia = solid_sphere(1, 0.1);
  spec.joints = {joint};
  auto model = Model::build(spec);
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().text());
  return std::move(*model);
}

JointSpec joint_of(JointKind kind, Random& random) {
  JointSpec j;
  j.name = "joint", j.kind = kind, j.child = "body";
  j.at_parent = random_pose(random), j.at_child = random_pose(random);
  j.axis = random_direction(random);
  if (kind == JointKind::Screw) j.pitch = random.uniform(0.1, 0.5);
  return j;
}

Pose child_pose(const Joint& j, const double* q) {
  const Pose X_FM = with_kind(j.kind, [&](auto face) { return decltype(face)::pose(q, j.pitch); });
  return j.X_PF * X_FM * j.X_CM.inverse();
}

void expect_same(const Pose& a, const Pose& b) {
  // A dozen products of poses of size 3: below 1e-14.
  EXPECT_LE((a.p - b.p).norm(), 1e-14);
  EXPECT_LE((a.R() - b.R()).norm(), 1e-14);
}

TEST(TurningTheAxisToZ, LeavesTheCoordinatesAsTheyAre) {
  Random random(12);
  for (int i = 0; i < 40; ++i) {
    const double q[2] = {random.uniform(-3, 3), random.uniform(-3, 3)};
    for (const JointKind kind : {JointKind::Revolute, JointKind::Prismatic, JointKind::Screw, JointKind::Cylindrical}) {
      const JointSpec s = joint_of(kind, random);
      // The motion said in the axes of the file: turn about and slide along `axis`.
      const bool turns = kind != JointKind::Prismatic;
      const double advance = kind == JointKind::Prismatic     ? q[0]
                             : kind == JointKind::Screw       ? s.pitch * q[0]
                             : kind == JointKind::Cylindrical ? q[1]
                                                              : 0.0;
      const Pose X_FM{turns ? exp_so3(q[0] * s.axis) : Quat::Identity(), advance * s.axis};
      expect_same(child_pose(single(s).joints()[0], q), s.at_parent * X_FM * s.at_child.inverse());
    }
  }
}

TEST(TurningTheAxisToZ, PutsTheSecondAxisOfAUniversalJointOnX) {
  Random random(13);
  for (int i = 0; i < 40; ++i) {
    const double q[2] = {random.uniform(-3, 3), random.uniform(-3, 3)};
    JointSpec s = joint_of(JointKind::Universal, random);
    s.axis2 = s.axis.cross(random_direction(random)).normalized();
    const Pose X_FM{exp_so3(q[0] * s.axis) * exp_so3(q[1] * s.axis2), Vec3::Zero()};
    expect_same(child_pose(single(s).joints()[0], q), s.at_parent * X_FM * s.at_child.inverse());
  }
}

TEST(PlanarJoint, SlidesAlongTheDocumentedDirections) {
  // docs/model-file.md: normal z: x, y; normal y: x, -z; normal x: -z, y.
  const Vec3 normals[] = {Vec3::UnitZ(), Vec3::UnitY(), Vec3::UnitX()};
  const Vec3 first[] = {Vec3::UnitX(), Vec3::UnitX(), -Vec3::UnitZ()};
  const Vec3 second[] = {Vec3::UnitY(), -Vec3::UnitZ(), Vec3::UnitY()};
  for (int i = 0; i < 3; ++i) {
    JointSpec s;
    s.name = "joint", s.kind = JointKind::Planar, s.child = "body", s.axis = normals[i];
    const double q[3] = {0.7, -0.4, 0.3};
    expect_same(child_pose(single(s).joints()[0], q), {exp_so3(0.3 * normals[i]), 0.7 * first[i] - 0.4 * second[i]});
  }
}

TEST(LockedJoint, HoldsTheChildWhereItsCoordinatesPutIt) {
  Random random(14);
  for (int k = 0; k < kJointKinds; ++k) {
    JointSpec s = joint_of(static_cast<JointKind>(k), random);
    std::vector<double> q;
    for (int i = 0; i < coordinates(s.kind); ++i) q.push_back(random.uniform(-1, 1));
    if (s.kind == JointKind::Spherical) q = {0.5, -0.5, 0.5, -0.5};
    if (s.kind == JointKind::Free) q = {1, 2, 3, 0.5, -0.5, 0.5, -0.5};
    const Pose moving = child_pose(single(s).joints()[0], q.data());

    s.locked = true, s.locked_at = q;
    const Model held = single(s);
    EXPECT_EQ(held.joints()[0].kind, JointKind::Fixed);
    EXPECT_EQ(held.joints()[0].spec_kind, s.kind);
    EXPECT_EQ(held.nv() + held.nq(), 0);
    EXPECT_EQ(held.joints()[0].rows(), 6);
    expect_same(child_pose(held.joints()[0], nullptr), moving);
  }
}

}  // namespace
}  // namespace invar
