// SPDX-License-Identifier: Apache-2.0
//
// Which mechanisms cannot leave a plane, and that the plane found is the one in which they move.
#include "invar/mech/plane.hpp"

#include <gtest/gtest.h>

#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "support/campaign.hpp"
#include "support/places.hpp"
#include "support/redescribed.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

ModelSpec shipped(const std::string& name) { return *read_model_file(source_path("models/") + name + ".toml"); }
std::string reason(const ModelSpec& spec) { return why_not_planar(build(spec)); }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Sample planar_sample(std::uint64_t seed) {
  MechanismOptions options;
  options.bodies = 2 + static_cast<int>(seed % 5), options.loops = static_cast<int>(seed % 3);
  options.planar = true, options.locked = false;
  Sample s = random_sample(seed, options);
  return s;
}

/// The same without gravity out of the plane of z (the plane of random planar mechanisms).
ModelSpec level(ModelSpec spec) {
  spec.gravity.z() = 0;
  return spec;
}

// Angles between directions that agree: round-off of a handful of products of rotations.
constexpr double kRoundOff = 1e-13;

void expect_plane_of_motion(const Model& model, const Bodies& bodies) {
  const auto plane = plane_of(model);
  ASSERT_TRUE(plane) << why_not_planar(model);
  EXPECT_LE((plane->e1.cross(plane->e2) - plane->normal).norm(), kRoundOff);
  EXPECT_LE(std::abs(plane->e1.dot(plane->e2)), kRoundOff);
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const Plane::InBody& in = plane->bodies[b];
    EXPECT_LE((bodies[b].q_WB * in.n_B - plane->normal).norm(), kRoundOff) << model.bodies()[b].name;
    EXPECT_LE((in.n_B.cross(in.b1) - in.b2).norm(), kRoundOff);
    EXPECT_LE(std::abs(in.n_B.dot(in.b1)), kRoundOff);
  }
}

TEST(Plane, ShippedPlanarMechanismsLieInTheirs) {
  for (const char* name : {"four_bar", "slider_crank", "parallelogram", "double_pendulum", "pendulum", "paper_c_pendulum",
                           "paper_c_springs", "paper_c_tendon"}) {
    SCOPED_TRACE(name);
    const Model model = build(shipped(name));
    expect_plane_of_motion(model, place(model, JointState::initial(model)));
  }
}

TEST(Plane, PaperCHasItsOwnAxes) {
  const auto plane = plane_of(build(shipped("paper_c_springs")));
  ASSERT_TRUE(plane);
  EXPECT_LE((plane->e1 - Vec3::UnitX()).norm() + (plane->e2 - Vec3::UnitY()).norm(), kRoundOff);
}

TEST(Plane, SpatialMechanismsHaveNone) {
  for (const char* name : {"bricard", "ring7", "stewart", "door", "all_joints", "paper_a_chain"})
    EXPECT_FALSE(plane_of(build(shipped(name)))) << name;
}

TEST(Plane, RandomPlanarGraphsMoveInIt) {
  for (int k = 0; k < cases(40); ++k) {
    SCOPED_TRACE(k);
    const Sample s = planar_sample(seed(900) + static_cast<std::uint64_t>(k));
    expect_plane_of_motion(build(level(s.mechanism.spec)), s.bodies);
  }
}

TEST(Plane, DoesNotDependOnHowWorldIsTurned) {
  for (int k = 0; k < cases(40); ++k) {
    SCOPED_TRACE(k);
    Sample s = planar_sample(seed(1700) + static_cast<std::uint64_t>(k));
    s.mechanism.spec = level(s.mechanism.spec);
    Random random(seed(1) + static_cast<std::uint64_t>(k), 7);
    const Redescribed other = in_another_world(s, random);
    expect_plane_of_motion(build(other.spec), other.bodies);
  }
}

TEST(Plane, ATwistedAxisLeavesIt) {
  ModelSpec spec = shipped("paper_c_pendulum");
  spec.joints[1].axis = Vec3(0, 1e-6, 1).normalized();
  EXPECT_TRUE(has(reason(spec), "joint2")) << reason(spec);
}

TEST(Plane, ABallLeavesIt) {
  ModelSpec spec = shipped("paper_c_pendulum");
  spec.joints[2].kind = JointKind::Spherical;
  EXPECT_TRUE(has(reason(spec), "'joint3' is spherical")) << reason(spec);
}

TEST(Plane, ABallMayPinALoopUnlessItHasASpring) {
  ModelSpec spec = shipped("four_bar");
  JointSpec& closure = spec.joints.back();
  ASSERT_EQ(closure.kind, JointKind::Spherical);
  EXPECT_EQ(reason(spec), "");
  closure.spring.stiffness = {1, 1, 1};
  EXPECT_TRUE(has(reason(spec), "'closure' is spherical")) << reason(spec);
}

TEST(Plane, GravityAlongTheNormalLeavesIt) {
  ModelSpec spec = shipped("paper_c_pendulum");
  spec.gravity = Vec3(0, -1, 0.1);
  EXPECT_TRUE(has(reason(spec), "gravity")) << reason(spec);
  spec.gravity.setZero();
  EXPECT_EQ(reason(spec), "");
}

TEST(Plane, AFloatingBodyLeavesIt) {
  ModelSpec spec = shipped("paper_c_pendulum");
  BodySpec body = spec.bodies[0];
  body.name = "afloat";
  spec.bodies.push_back(body);
  EXPECT_TRUE(has(reason(spec), "'afloat' is not joined to the ground")) << reason(spec);
}

TEST(Plane, BodiesMayLieAtDifferentOffsetsButLoopsMustClose) {
  ModelSpec spec = shipped("four_bar");
  const Vec3 normal = build(spec).joints()[0].X_PF.q * Vec3::UnitZ();
  int moved = 0;
  for (JointSpec& joint : spec.joints)  // the coupler moves aside as a whole: both its pins
    if (joint.child == "coupler")
      joint.at_parent.p += 0.2 * normal, ++moved;
    else if (joint.parent == "coupler")
      joint.at_child.p += 0.2 * normal, ++moved;
  ASSERT_EQ(moved, 2);
  EXPECT_EQ(reason(spec), "");
  spec.joints[0].at_parent.p += 1e-6 * normal;
  EXPECT_TRUE(has(reason(spec), "gap")) << reason(spec);
}

TEST(Plane, ASliderAcrossTheNormalStaysAndOneAlongItLeaves) {
  ModelSpec spec = shipped("paper_c_pendulum");
  spec.joints[1].kind = JointKind::Prismatic, spec.joints[1].axis = Vec3(0.6, 0.8, 0);
  EXPECT_EQ(reason(spec), "");
  spec.joints[1].axis = Vec3::UnitZ();
  EXPECT_TRUE(has(reason(spec), "'joint2' slides")) << reason(spec);
}

TEST(Plane, SlidersAloneFindTheirPlane) {
  ModelSpec spec = shipped("paper_c_pendulum");
  for (JointSpec& joint : spec.joints) joint.kind = JointKind::Prismatic;
  spec.gravity = Vec3(0, 0, -9.81);
  spec.joints[0].axis = Vec3::UnitX(), spec.joints[1].axis = Vec3::UnitZ(), spec.joints[2].axis = Vec3(0.6, 0, 0.8);
  EXPECT_EQ(reason(spec), "");
  spec.joints[2].axis = Vec3(0.6, 0.8, 0);
  EXPECT_TRUE(has(reason(spec), "'joint3' slides")) << reason(spec);
}

}  // namespace
}  // namespace invar::testing
