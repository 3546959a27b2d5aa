// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "invar/io/model_file.hpp"
#include "invar/model/model.hpp"
#include "support/faces/kinds.hpp"
#include "support/model_texts.hpp"

namespace invar {
namespace {

using testing::model_paths;

Model built(const std::string& text) {
  const auto spec = parse_model(text, "m.toml");
  EXPECT_TRUE(spec) << (spec ? "" : spec.error().text());
  auto model = Model::build(*spec);
  EXPECT_TRUE(model) << (model ? "" : model.error().text());
  return std::move(*model);
}

const std::string kTwoBodies = "body = [{ name = \"a\", mass = 1 }, { name = \"b\", mass = 3 }]\n";

TEST(ShippedModels, AllBuildWithoutWarnings) {
  const auto paths = model_paths();
  EXPECT_GE(paths.size(), 15u);
  for (const std::string& path : paths) {
    const auto spec = read_model_file(path);
    ASSERT_TRUE(spec) << spec.error().text();
    std::vector<std::string> warnings;
    const auto model = Model::build(*spec, &warnings);
    ASSERT_TRUE(model) << model.error().text();
    EXPECT_TRUE(warnings.empty()) << warnings.front();
  }
}

Pose joint_pose_at(const Joint& j, const VecX& q) {
  return with_kind(j.kind, [&](auto face) { return decltype(face)::pose(q.data() + j.q0, j.pitch); });
}

/// World poses of all bodies in the start configuration: along the joints in the order of the file, each body once.
std::vector<Pose> start_poses(const Model& model, std::vector<bool>& in_tree) {
  std::vector<Pose> X_WB(model.bodies().size());
  std::vector<char> placed(model.bodies().size(), 0);
  in_tree.assign(model.joints().size(), false);
  const bool floating =
      std::none_of(model.joints().begin(), model.joints().end(), [](const Joint& j) { return j.parent == kWorld; });
  if (floating) placed[0] = 1;
  for (bool again = true; std::exchange(again, false);) {
    for (std::size_t i = 0; i < model.joints().size(); ++i) {
      const Joint& j = model.joints()[i];
      const auto child = static_cast<std::size_t>(j.child), parent = static_cast<std::size_t>(std::max(j.parent, 0));
      const bool parent_placed = j.parent == kWorld || placed[parent] != 0;
      if ((placed[child] != 0) == parent_placed) continue;
      const Pose X_FM = joint_pose_at(j, model.initial_q());
      if (parent_placed) {
        X_WB[child] = (j.parent == kWorld ? Pose{} : X_WB[parent]) * j.X_PF * X_FM * j.X_CM.inverse();
      } else {
        X_WB[parent] = X_WB[child] * j.X_CM * X_FM.inverse() * j.X_PF.inverse();
      }
      (parent_placed ? placed[child] : placed[parent]) = 1;
      again = in_tree[i] = true;
    }
  }
  EXPECT_EQ(std::count(placed.begin(), placed.end(), 0), 0);
  return X_WB;
}

TEST(ShippedModels, CloseTheirLoopsAtTheStart) {
  int closures = 0;
  for (const std::string& path : model_paths()) {
    SCOPED_TRACE(path);
    const auto spec = read_model_file(path);
    const auto model = Model::build(*spec);
    ASSERT_TRUE(model);
    std::vector<bool> in_tree;
    const std::vector<Pose> X_WB = start_poses(*model, in_tree);
    for (std::size_t i = 0; i < in_tree.size(); ++i) {
      if (in_tree[i]) continue;
      ++closures;
      const Joint& j = model->joints()[i];
      const Pose X_WP = j.parent == kWorld ? Pose{} : X_WB[static_cast<std::size_t>(j.parent)];
      const Pose X_FM = (X_WP * j.X_PF).inverse() * X_WB[static_cast<std::size_t>(j.child)] * j.X_CM;
      // The pose that the joint allows nearest to the one it has. Rounding over 50 links of 0.3 m: below 1e-13.
      VecX q = VecX::Zero(model->nq());
      with_kind(j.kind, [&](auto face) { decltype(face)::measure(X_FM, j.pitch, q.data() + j.q0); });
      const Pose gap = joint_pose_at(j, q).inverse() * X_FM;
      EXPECT_LE(gap.p.norm(), 1e-13) << j.name;
      EXPECT_LE(log_so3(gap.q).norm(), 1e-13) << j.name;
    }
  }
  EXPECT_GE(closures, 6 + 5 + 3);  // Stewart; rings, four-bar, Bricard; table
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }
bool same_bits(const Vec3& a, const Vec3& b) {
  return same_bits(a.x(), b.x()) && same_bits(a.y(), b.y()) && same_bits(a.z(), b.z());
}
bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}
bool same_bits(const Pose& a, const Pose& b) {
  return same_bits(a.p, b.p) && same_bits(Vec3(a.q.vec()), Vec3(b.q.vec())) && same_bits(a.q.w(), b.q.w());
}

void expect_same_spec(const ModelSpec& a, const ModelSpec& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_TRUE(same_bits(a.gravity, b.gravity));
  ASSERT_EQ(a.bodies.size(), b.bodies.size());
  for (std::size_t i = 0; i < a.bodies.size(); ++i) {
    const BodySpec &x = a.bodies[i], &y = b.bodies[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_TRUE(same_bits(x.inertia.mass, y.inertia.mass) && same_bits(x.inertia.p_BC, y.inertia.p_BC));
    for (int k = 0; k < 9; ++k) EXPECT_TRUE(same_bits(x.inertia.I_C(k), y.inertia.I_C(k)));
    ASSERT_EQ(x.shapes.size(), y.shapes.size());
    for (std::size_t k = 0; k < x.shapes.size(); ++k) {
      const ShapeSpec &s = x.shapes[k], &t = y.shapes[k];
      EXPECT_TRUE(s.kind == t.kind && s.axis == t.axis && s.file == t.file && same_bits(s.at, t.at));
      EXPECT_TRUE(same_bits(s.size, t.size) && same_bits(s.radius, t.radius) && same_bits(s.length, t.length));
    }
  }
  ASSERT_EQ(a.joints.size(), b.joints.size());
  for (std::size_t i = 0; i < a.joints.size(); ++i) {
    const JointSpec &x = a.joints[i], &y = b.joints[i];
    EXPECT_TRUE(x.name == y.name && x.kind == y.kind && x.parent == y.parent && x.child == y.child) << x.name;
    EXPECT_TRUE(same_bits(x.at_parent, y.at_parent) && same_bits(x.at_child, y.at_child)) << x.name;
    EXPECT_TRUE(same_bits(x.axis, y.axis) && same_bits(x.axis2, y.axis2) && same_bits(x.pitch, y.pitch)) << x.name;
    EXPECT_TRUE(x.spring.law == y.spring.law && same_bits(x.spring.stiffness, y.spring.stiffness) &&
                same_bits(x.spring.rest, y.spring.rest))
        << x.name;
    EXPECT_TRUE(same_bits(x.limits.lower, y.limits.lower) && same_bits(x.limits.upper, y.limits.upper)) << x.name;
    EXPECT_TRUE(same_bits(x.limits.stiffness, y.limits.stiffness) && same_bits(x.limits.damping, y.limits.damping)) << x.name;
    EXPECT_TRUE(same_bits(x.damping, y.damping) && same_bits(x.friction, y.friction) && same_bits(x.armature, y.armature))
        << x.name;
    EXPECT_TRUE(same_bits(x.friction_velocity, y.friction_velocity) && x.locked == y.locked && x.cut == y.cut) << x.name;
    EXPECT_TRUE(same_bits(x.locked_at, y.locked_at)) << x.name;
  }
  ASSERT_EQ(a.couplings.size(), b.couplings.size());
  for (std::size_t i = 0; i < a.couplings.size(); ++i) {
    const CouplingSpec &x = a.couplings[i], &y = b.couplings[i];
    EXPECT_TRUE(x.name == y.name && x.joint == y.joint && x.of == y.of && x.freedom == y.freedom && x.of_freedom == y.of_freedom);
    EXPECT_TRUE(same_bits(x.coefficients, y.coefficients));
  }
  ASSERT_EQ(a.frames.size(), b.frames.size());
  for (std::size_t i = 0; i < a.frames.size(); ++i)
    EXPECT_TRUE(a.frames[i].name == b.frames[i].name && a.frames[i].body == b.frames[i].body &&
                same_bits(a.frames[i].at, b.frames[i].at));
  ASSERT_EQ(a.payloads.size(), b.payloads.size());
  for (std::size_t i = 0; i < a.payloads.size(); ++i)
    EXPECT_TRUE(a.payloads[i].name == b.payloads[i].name && a.payloads[i].body == b.payloads[i].body &&
                a.payloads[i].inertia.mass == b.payloads[i].inertia.mass &&
                a.payloads[i].inertia.p_BC == b.payloads[i].inertia.p_BC &&
                a.payloads[i].inertia.I_C == b.payloads[i].inertia.I_C);
  ASSERT_EQ(a.initial.size(), b.initial.size());
  for (const auto& [joint, q] : a.initial) EXPECT_TRUE(b.initial.count(joint) && same_bits(q, b.initial.at(joint))) << joint;
}

TEST(WriteModel, GivesShippedModelsBackBitForBit) {
  for (const std::string& path : model_paths()) {
    SCOPED_TRACE(path);
    const auto spec = read_model_file(path);
    ASSERT_TRUE(spec);
    const auto again = parse_model(write_model(*spec), "again");
    ASSERT_TRUE(again) << again.error().text();
    expect_same_spec(*spec, *again);
  }
}

TEST(WriteModel, KeepsEverythingThatASpecCanSay) {
  ModelSpec s;
  s.name = "quotes \" and \\ and\nlines";
  s.gravity = Vec3(-0.0, 1e-320, 0.1 + 0.2);
  s.bodies.resize(2);
  s.bodies[0].name = "a.b c", s.bodies[0].inertia = solid_box(1.0 / 3, {1, 2, 3});
  s.bodies[0].inertia.I_C(0, 1) = s.bodies[0].inertia.I_C(1, 0) = 1e-17;
  for (const auto kind : {ShapeSpec::Kind::Box, ShapeSpec::Kind::Cylinder, ShapeSpec::Kind::Capsule, ShapeSpec::Kind::Sphere,
                          ShapeSpec::Kind::Mesh}) {
    ShapeSpec shape;
    shape.kind = kind;
    if (kind == ShapeSpec::Kind::Box) shape.size = Vec3(0.1, 0.2, 0.3);
    if (kind == ShapeSpec::Kind::Cylinder || kind == ShapeSpec::Kind::Capsule)
      shape.radius = 0.7, shape.length = 1.1, shape.axis = 1;
    if (kind == ShapeSpec::Kind::Sphere) shape.radius = 1e-3;
    if (kind == ShapeSpec::Kind::Mesh) shape.file = "part \"1\".stl";
    shape.at = {exp_so3({0.1, 0.2, 0.3}), Vec3(1, 0, -1)};
    s.bodies[0].shapes.push_back(shape);
  }
  s.bodies[1].name = "é";
  JointSpec j;
  j.name = "j 1", j.kind = JointKind::Cylindrical, j.parent = "a.b c", j.child = "é";
  j.at_parent = {exp_so3({1, 2, 0.5}), Vec3(0.1, 0.2, 0.3)}, j.at_child = {exp_so3({-1, 0.3, 0}), Vec3(1e9, 0, 0)};
  j.axis = Vec3(1, 1, 1).normalized();
  j.spring = {SpringLaw::EulerPrinted, {1.1, 2.2}, {-0.3, 0.7}};
  j.limits = {{-std::numeric_limits<double>::infinity(), -1}, {2, std::numeric_limits<double>::infinity()}, 12345.678, 0.25};
  j.damping = {0.1, 0.2}, j.friction = {0.3, 0.4}, j.friction_velocity = 0.02, j.armature = {0.5, 0.6};
  j.locked_at = {0.7, 0.8}, j.cut = true;
  s.joints.push_back(j);
  j.name = "j 2", j.kind = JointKind::Screw, j.pitch = 1.0 / 7, j.spring = {}, j.limits = {}, j.locked = true,
  j.locked_at = {0.1};
  j.damping = j.friction = j.armature = {};
  s.joints.push_back(j);
  s.couplings.push_back({"c", "j 1", 1, "j 2", 0, {0.1, 0.2, 0.3}, {}});
  s.frames.push_back({"f", "é", {exp_so3({0, 0, 3}), Vec3(1, 2, 3)}, {}});
  s.payloads.push_back({"bag", "é", solid_box(1.0 / 3, {0.1, 0.2, 0.3}), {}});
  s.payloads[0].inertia.p_BC = Vec3(0.1, 1.0 / 7, -2);
  s.initial = {{"j 1", {0.25, -1.0 / 3}}, {"j.2", {1e-5}}};

  const auto again = parse_model(write_model(s), "again");
  ASSERT_TRUE(again) << again.error().text() << "\n" << write_model(s);
  expect_same_spec(s, *again);
}

// Two halves of a box are a box: m/2 each, half as long, a quarter of the length from the middle.
TEST(Payload, CountsWithItsBody) {
  const std::string half =
      "[[body]]\nname = 'b'\nmass = 1\nshape = { kind = 'box', size = [1, 0.2, 0.3], at = { p = [-0.5, 0, 0] } }\n"
      "[[payload]]\nname = 'p'\nbody = 'b'\nmass = 1\nshape = { kind = 'box', size = [1, 0.2, 0.3], at = { p = [0.5, 0, 0] } }\n";
  const Model m = built(half);
  const Inertia whole = solid_box(2, {2, 0.2, 0.3}), &got = m.bodies()[0].inertia;
  EXPECT_EQ(got.mass, 2);
  EXPECT_EQ(got.p_BC, Vec3(0, 0, 0));
  EXPECT_LT((got.I_C - whole.I_C).norm(), 1e-15);
  auto wrong = parse_model(half + "[[payload]]\nname = 'p'\nbody = 'b'\nmass = 1\n", "x");
  ASSERT_TRUE(wrong);
  EXPECT_NE(Model::build(*wrong).error().what.find("used twice"), std::string::npos);
  wrong->payloads[1].name = "q", wrong->payloads[1].body = "world";
  EXPECT_NE(Model::build(*wrong).error().what.find("ground"), std::string::npos);
}

TEST(BodyShape, GivesTheSolidAtItsPlace) {
  const Model m = built(
      "[[body]]\nname = \"b\"\nmass = 2\ncom = [1, 2, 3]\nshape = { kind = \"cylinder\", axis = \"x\", radius = 0.1, length = 1 "
      "}\n"
      "[[body]]\nname = \"c\"\nmass = 2\nshape = { kind = \"cylinder\", radius = 0.1, length = 1, at = { p = [1, 2, 3], rpy = "
      "[0, 1.5707963267948966, 0] } }\n");
  const Inertia expected = solid_cylinder(2, 0.1, 1, 0);
  for (const Body& b : m.bodies()) {
    EXPECT_EQ(b.inertia.p_BC, Vec3(1, 2, 3));
    EXPECT_LE((b.inertia.I_C - expected.I_C).cwiseAbs().maxCoeff(), 1e-16);
    EXPECT_EQ(b.inertia.I_C, b.inertia.I_C.transpose());
    ASSERT_EQ(b.shapes.size(), 1u);
    EXPECT_EQ(b.shapes[0].at.p, Vec3(1, 2, 3));
  }
}

TEST(IdealBodies, AreAccepted) {
  const Model m = built(
      "[[body]]\nname = \"massless\"\nmass = 0\n[[body]]\nname = \"point\"\nmass = 1\n"
      "[[body]]\nname = \"rod\"\nmass = 1\ninertia = { xx = 0, yy = 1, zz = 1 }\n");
  EXPECT_EQ(m.bodies().size(), 3u);
  EXPECT_DOUBLE_EQ(m.mean_mass(), 2.0 / 3);
  EXPECT_EQ(m.length(), 1.0);
}

TEST(ModelNumbers, AreStackedInTheOrderOfTheJoints) {
  const Model m = built(kTwoBodies +
                        "[[joint]]\nname = \"ball\"\nkind = \"spherical\"\nchild = \"a\"\n"
                        "[[joint]]\nname = \"held\"\nkind = \"planar\"\nchild = \"a\"\nlocked = true\n"
                        "[[joint]]\nname = \"tube\"\nkind = \"cylindrical\"\nparent = \"a\"\nchild = \"b\"\n"
                        "[[joint]]\nname = \"loose\"\nkind = \"free\"\nchild = \"b\"\n"
                        "[initial]\nball = [0, 0, 1.5707963267948966]\ntube = [0.5, -2]\n");
  EXPECT_EQ(m.nq(), 4 + 0 + 2 + 7);
  EXPECT_EQ(m.nv(), 3 + 0 + 2 + 6);
  EXPECT_EQ(m.joints()[2].q0, 4);
  EXPECT_EQ(m.joints()[2].v0, 3);
  EXPECT_EQ(m.joints()[3].q0, 6);
  EXPECT_EQ(m.joints()[3].v0, 5);
  EXPECT_EQ(*m.find_joint("loose"), 3);
  EXPECT_FALSE(m.find_joint("lose"));
  EXPECT_EQ(*m.find_body("world"), kWorld);
  EXPECT_EQ(*m.find_body("b"), 1);
  EXPECT_EQ(m.body_name(kWorld), "world");
  // A quarter turn about z from its rotation vector; identity where the file says nothing.
  VecX q(13);
  q << std::sqrt(0.5), 0, 0, std::sqrt(0.5), 0.5, -2, 0, 0, 0, 1, 0, 0, 0;
  EXPECT_LE((m.initial_q() - q).cwiseAbs().maxCoeff(), 1e-15);
}

TEST(ModelNumbers, PassivePartsGoToTheirFreedoms) {
  const Model m = built(
      kTwoBodies +
      "[[joint]]\nname = \"tube\"\nkind = \"cylindrical\"\nchild = \"a\"\nspring = { stiffness = [0, 7], rest = [0, 0.1] }\n"
      "limits = { lower = [-1, -1e308], upper = [2, 1e308], stiffness = 50, damping = 0.3 }\n"
      "[[joint]]\nname = \"bare\"\nkind = \"revolute\"\nparent = \"a\"\nchild = \"b\"\narmature = 0.2\n");
  const Joint& tube = m.joints()[0];
  ASSERT_EQ(tube.passive.size(), 2u);
  EXPECT_TRUE(tube.has_spring && tube.has_passive);
  EXPECT_EQ(tube.passive[1].stiffness, 7);
  EXPECT_EQ(tube.passive[1].rest, 0.1);
  EXPECT_EQ(tube.passive[0].lower, -1);
  EXPECT_EQ(tube.passive[0].stop_stiffness, 50);
  EXPECT_EQ(tube.passive[0].stop_damping, 0.3);
  EXPECT_TRUE(std::isinf(tube.passive[1].lower) && std::isinf(tube.passive[1].upper));
  EXPECT_EQ(tube.passive[1].stop_stiffness, 0);
  const Joint& bare = m.joints()[1];
  EXPECT_FALSE(bare.has_spring || bare.has_passive);
  EXPECT_EQ(bare.passive[0].armature, 0.2);
}

TEST(ModelLength, IsTheRootMeanSquareArmOfTheJoints) {
  // Arms: a's joint 3 m from its centre of mass, then 4 m on a and 0 m on b.
  const std::string joints =
      "[[joint]]\nname = \"j\"\nkind = \"revolute\"\nchild = \"a\"\nat_child = { p = [3, 0, 0] }\n"
      "[[joint]]\nname = \"k\"\nkind = \"revolute\"\nparent = \"a\"\nchild = \"b\"\nat_parent = { p = [0, 4, 0] }\n";
  EXPECT_DOUBLE_EQ(built(kTwoBodies + joints).length(), std::sqrt((9.0 + 16 + 0) / 3));
  // A free joint carries no reaction: saying that b floats changes nothing.
  EXPECT_DOUBLE_EQ(
      built(kTwoBodies + joints + "[[joint]]\nname = \"f\"\nkind = \"free\"\nchild = \"b\"\nat_child = { p = [9, 9, 9] }\n")
          .length(),
      std::sqrt((9.0 + 16 + 0) / 3));
}

TEST(Couplings, ReadGearsAndPolynomials) {
  const Model m = built(kTwoBodies +
                        "[[joint]]\nname = \"j\"\nkind = \"revolute\"\nchild = \"a\"\n[[joint]]\nname = \"k\"\nkind = "
                        "\"cylindrical\"\nchild = \"b\"\n"
                        "[[coupling]]\nname = \"gear\"\njoint = \"k\"\nof = \"j\"\nratio = -2\noffset = 0.5\n"
                        "[[coupling]]\nname = \"cam\"\njoint = \"k\"\nfreedom = 1\nof = \"j\"\npolynomial = [1, 2, 3]\n");
  EXPECT_EQ(m.couplings()[0].coefficients, (std::vector<double>{0.5, -2}));
  EXPECT_EQ(m.couplings()[1].coefficients, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(m.couplings()[1].joint, 1);
  EXPECT_EQ(m.couplings()[1].freedom, 1);
  EXPECT_EQ(m.couplings()[1].of, 0);
}

TEST(InitialOfAFreeJoint, ReadsPositionAndAttitude) {
  const Model m =
      built(kTwoBodies +
            "[[joint]]\nname = \"f\"\nkind = \"free\"\nchild = \"a\"\n[initial]\nf = { p = [1, 2, 3], rpy = [0, 0, 1] }\n");
  VecX q(7);
  q << 1, 2, 3, std::cos(0.5), 0, 0, std::sin(0.5);
  EXPECT_LE((m.initial_q() - q).cwiseAbs().maxCoeff(), 1e-16);
}

}  // namespace
}  // namespace invar
