// SPDX-License-Identifier: Apache-2.0
//
// The stiffness that a point shows: closed forms, and what really happens when it is pushed.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/mech/minimal/equilibrium.hpp"
#include "invar/mech/minimal/tip_stiffness.hpp"
#include "invar/model/joint/table.hpp"
#include "support/campaign.hpp"
#include "support/natural_samples.hpp"
#include "support/redescribed.hpp"

namespace invar::testing {
namespace {

// Two links of lengths l in a row, hinged about z, with springs k that are at rest at the angles q.
ModelSpec two_links(const Eigen::Vector2d& l, const Eigen::Vector2d& k, const Eigen::Vector2d& q) {
  ModelSpec spec;
  spec.gravity.setZero();
  for (int i = 0; i < 2; ++i) {
    BodySpec body;
    body.name = i == 0 ? "upper" : "lower";
    body.inertia = solid_box(1 + i, Vec3(l[i], 0.1, 0.1));
    body.inertia.p_BC = Vec3(0.5 * l[i], 0, 0);
    spec.bodies.push_back(body);
    JointSpec joint;
    joint.name = i == 0 ? "shoulder" : "elbow";
    joint.kind = JointKind::Revolute;
    joint.parent = i == 0 ? "world" : "upper";
    joint.child = body.name;
    if (i == 1) joint.at_parent.p = Vec3(l[0], 0, 0);
    joint.spring.stiffness = {k[i]}, joint.spring.rest = {q[i]};
    spec.joints.push_back(joint);
  }
  return spec;
}

struct Placed {
  Model model;
  Minimal minimal;
  State x;
  Placed(const ModelSpec& spec, const Bodies& bodies) : model(build(spec)), minimal(model) { minimal.set(bodies, x); }
  Vec3 point(int body, const Vec3& p) const {
    Bodies at;
    minimal.bodies(x, at);
    return body_pose(model, at, body) * p;
  }
};

Bodies two_links_at(const Model& model, const Eigen::Vector2d& l, const Eigen::Vector2d& q) {
  const Quat first = exp_so3(q[0] * Vec3::UnitZ()), second = exp_so3((q[0] + q[1]) * Vec3::UnitZ());
  return at_rest(model, {{first, Vec3::Zero()}, {second, first * Vec3(l[0], 0, 0)}});
}

// C = J diag(1/k) Jᵀ in the plane, rigid along z.
TEST(TipStiffness, OfTwoLinksOnSpringsIsTheTextbooks) {
  for (int i = 0; i < cases(20); ++i) {
    Random random(8100, static_cast<std::uint64_t>(i));
    const Eigen::Vector2d l(random.uniform(0.3, 1), random.uniform(0.3, 1)), k(random.uniform(1, 50), random.uniform(1, 50)),
        q(random.uniform(-3, 3), random.uniform(0.3, 2.8));
    const ModelSpec spec = two_links(l, k, q);
    Placed p(spec, two_links_at(build(spec), l, q));
    TipStiffness tip;
    ASSERT_TRUE(tip_stiffness(p.minimal.tree(), p.x.q, p.x.wound, Load(p.model), 1, Vec3(l[1], 0, 0), tip).ok());
    const double a = q[0], b = q[0] + q[1];
    Eigen::Matrix<double, 3, 2> J;
    J << -l[0] * std::sin(a) - l[1] * std::sin(b), -l[1] * std::sin(b), l[0] * std::cos(a) + l[1] * std::cos(b),
        l[1] * std::cos(b), 0, 0;
    const Mat3 C = J * k.cwiseInverse().asDiagonal() * J.transpose();
    EXPECT_LE((tip.compliance - C).norm(), 1e-13 * C.norm());
    EXPECT_LE(tip.largest, 1e-13 * k.maxCoeff());
    EXPECT_TRUE(std::isinf(tip.stiffness[2]));
    EXPECT_NEAR(std::abs(tip.axes.col(2).z()), 1, 1e-12);
    for (int n = 0; n < 2; ++n) EXPECT_LE((C * tip.axes.col(n) - tip.axes.col(n) / tip.stiffness[n]).norm(), 1e-12 * C.norm());
    EXPECT_LE(tip.stiffness[0], tip.stiffness[1]);
  }
}

// Without the spring at the elbow the point is free across the line from the elbow; along it the shoulder's spring holds it.
TEST(TipStiffness, TellsWhatIsFree) {
  const Eigen::Vector2d l(0.7, 0.5), k(12, 0), q(0.4, 1.1);
  const ModelSpec spec = two_links(l, k, q);
  Placed p(spec, two_links_at(build(spec), l, q));
  TipStiffness tip;
  ASSERT_TRUE(tip_stiffness(p.minimal.tree(), p.x.q, p.x.wound, Load(p.model), 1, Vec3(l[1], 0, 0), tip).ok());
  const double b = q[0] + q[1];
  const Vec3 along(std::cos(b), std::sin(b), 0);
  EXPECT_EQ(tip.stiffness[0], 0);
  EXPECT_NEAR(std::abs(tip.axes.col(0).dot(Vec3(-along.y(), along.x(), 0))), 1, 1e-9);
  // A displacement by s along the lower link turns the shoulder by s over the distance of its axis from that line.
  const double lever = l[0] * std::sin(q[1]);
  EXPECT_NEAR(tip.stiffness[1], k[0] / (lever * lever), 1e-9 * k[0] / (lever * lever));
  EXPECT_TRUE(std::isinf(tip.stiffness[2]));
}

// A point on the axis of the only hinge does not move, and what has no freedom at all moves nowhere.
TEST(TipStiffness, TellsWhatIsRigid) {
  for (const bool locked : {false, true}) {
    ModelSpec spec = two_links({0.7, 0.5}, {12, 3}, {0.4, 1.1});
    spec.bodies.pop_back(), spec.joints.pop_back();
    spec.joints[0].locked = locked;
    if (locked) spec.joints[0].locked_at = {0.4};
    const Quat turned = exp_so3(0.4 * Vec3::UnitZ());
    Placed p(spec, at_rest(build(spec), {{turned, Vec3::Zero()}}));
    TipStiffness tip;
    ASSERT_TRUE(tip_stiffness(p.minimal.tree(), p.x.q, p.x.wound, Load(p.model), 0, Vec3(0, 0, 0.3), tip).ok());
    for (int k = 0; k < 3; ++k) EXPECT_TRUE(std::isinf(tip.stiffness[k])) << locked;
    EXPECT_EQ(tip.compliance.norm(), 0);
  }
}

// Mechanisms on springs and tendons, with weight; k % 2: with a loop.
Mechanism on_springs(std::uint64_t at, int loops) {
  Random random(at, 92);
  MechanismOptions o;
  o.bodies = 4, o.loops = loops, o.passive = false, o.locked = false, o.mass_ratio = 5;
  o.kinds = {JointKind::Revolute, JointKind::Universal, JointKind::Prismatic, JointKind::Spherical};
  Mechanism m = random_mechanism(random, o);
  add_tendons(random, m.spec, 2, 30.0);
  for (TendonSpec& t : m.spec.tendons) t.tension_only = false;
  for (std::size_t j = 0; j < m.spec.joints.size(); ++j) {
    JointSpec& joint = m.spec.joints[j];
    joint.spring.stiffness.assign(static_cast<std::size_t>(freedoms(joint.kind)), random.uniform(80, 300));
    if (joint.kind != JointKind::Spherical) joint.spring.rest = m.coordinates[j];
  }
  return m;
}

Load pushing(const Placed& p, int body, const Vec3& p_BE, const Vec3& f) {
  Load load(p.model);
  Bodies at;
  p.minimal.bodies(p.x, at);
  const Vec3 arm =
      at[static_cast<std::size_t>(body)].q_WB * (p_BE - p.model.bodies()[static_cast<std::size_t>(body)].inertia.p_BC);
  load.port[static_cast<std::size_t>(body)] = {arm.cross(f), f};
  return load;
}

// Pushed to and fro by ±f the point moves by 2 C f + O(f³), and the moment of f about the centre of mass, held as it is, is off
// by O(f²) of no effect on the difference. f moves the point by some 1e-5 m, lengths are 1 m: 1e-10 relative, beside equilibria
// that are found to 1e-12 m.
TEST(TipStiffness, IsHowThePointYieldsWhenItIsPushed) {
  int judged = 0;
  for (int i = 0; i < cases(16); ++i) {
    const Mechanism m = on_springs(seed(8200) + static_cast<std::uint64_t>(i), i % 2);
    Random random(8201, static_cast<std::uint64_t>(i));
    Placed p(m.spec, at_rest(build(m.spec), m.X_WB));
    const std::string what = std::to_string(i) + ": " + describe(m.spec);
    Equilibrium found;
    if (!find_equilibrium(p.minimal, Load(p.model), {}, p.x, found).ok() || !found.found) continue;
    if (found.stability != Stability::Stable) continue;
    const int body = random.below(static_cast<int>(p.model.bodies().size()));
    const Vec3 at = random_vector(random, 0.3);
    TipStiffness tip;
    ASSERT_TRUE(tip_stiffness(p.minimal.tree(), p.x.q, p.x.wound, Load(p.model), body, at, tip).ok()) << what;
    if (!(tip.stiffness[0] > 0) || tip.compliance.norm() == 0) continue;
    const Vec3 f = 1e-5 * random_unit(random) / tip.compliance.norm();
    Vec3 ends[2];
    bool both = true;
    const State rest = p.x;
    for (const int side : {0, 1}) {
      p.x = rest;
      const Load load = pushing(p, body, at, side == 0 ? Vec3(-f) : f);
      both = both && find_equilibrium(p.minimal, load, {}, p.x, found).ok() && found.found;
      ends[side] = p.point(body, at);
    }
    ASSERT_TRUE(both) << what;
    EXPECT_LE((0.5 * (ends[1] - ends[0]) - tip.compliance * f).norm(), 1e-6 * (tip.compliance * f).norm() + 1e-11) << what;
    ++judged;
  }
  EXPECT_GT(judged, cases(16) / 4);
}

// Seen from another World everything turns, and the order of bodies and joints, by which freedoms are chosen, does not matter.
TEST(TipStiffness, TurnsWithWorldAndDoesNotDependOnTheFreedoms) {
  int judged = 0;
  for (int i = 0; i < cases(10); ++i) {
    const Mechanism m = on_springs(seed(8300) + static_cast<std::uint64_t>(i), i % 2);
    Random random(8301, static_cast<std::uint64_t>(i));
    Placed p(m.spec, at_rest(build(m.spec), m.X_WB));
    Equilibrium found;
    if (!find_equilibrium(p.minimal, Load(p.model), {}, p.x, found).ok() || !found.found) continue;
    Sample s{m, build(m.spec), {}, Load(p.model)};
    p.minimal.bodies(p.x, s.bodies);
    const Vec3 at = random_vector(random, 0.3);
    TipStiffness tip;
    ASSERT_TRUE(tip_stiffness(p.minimal.tree(), p.x.q, p.x.wound, Load(p.model), 0, at, tip).ok());
    // At the cusp of a ball's spring, half a turn from its rest, coordinates are found but no balance.
    if (!(tip.stiffness[0] > 0) || tip.largest > 1e-6) continue;
    for (const bool world : {true, false}) {
      Redescribed other = world ? in_another_world(s, random) : in_another_order(s, random);
      const int body = *build(other.spec).find_body(p.model.bodies()[0].name);
      const Pose X = body_pose(build(other.spec), other.bodies, body) * body_pose(s.model, s.bodies, 0).inverse();
      for (TendonSpec& t : other.spec.tendons)
        for (PointSpec& point : t.points)
          if (point.body == "world") point.p = X * point.p;
      Placed there(other.spec, other.bodies);
      const Quat turn =
          world ? other.bodies[static_cast<std::size_t>(body)].q_WB * s.bodies[0].q_WB.conjugate() : Quat::Identity();
      TipStiffness seen;
      ASSERT_TRUE(tip_stiffness(there.minimal.tree(), there.x.q, there.x.wound, Load(there.model), body, at, seen).ok());
      // Conditions of loops up to 1e4, twice.
      const Mat3 R = turn.toRotationMatrix();
      EXPECT_LE((seen.compliance - R * tip.compliance * R.transpose()).norm(), 1e-7 * tip.compliance.norm())
          << i << (world ? " world: " : " order: ") << describe(m.spec);
    }
    ++judged;
  }
  EXPECT_GT(judged, cases(10) / 4);
}

}  // namespace
}  // namespace invar::testing
