// SPDX-License-Identifier: Apache-2.0
// Small inertia is inertia. A wheel hinged at its own centre on a mechanism that is ten million times larger turns under its
// torque, and so does a rod that is ten million times longer than thick about its axis, whichever equations move them; arms that
// are round-off are no size.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/mech/augmented.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/natural.hpp"
#include "invar/mech/rank.hpp"
#include "invar/mech/scales.hpp"
#include "support/campaign.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

/// The mechanism in other lengths: everything that is one times s, inertias times s².
Mechanism enlarged(Mechanism m, double s) {
  for (BodySpec& body : m.spec.bodies) body.inertia.p_BC *= s, body.inertia.I_C *= s * s;
  for (JointSpec& joint : m.spec.joints) joint.at_parent.p *= s, joint.at_child.p *= s, joint.pitch *= s;
  for (Pose& X : m.X_WB) X.p *= s;
  m.spec.gravity *= s;
  return m;
}

/// Accelerations by one formulation; empty, with a failure of the test, where it refuses.
Accelerations moved_by(const char* formulation, const Model& model, const Bodies& bodies, const Load& load,
                       const std::string& what) {
  State x;
  Evaluation e;
  Verdict verdict;
  if (formulation == std::string("natural")) {
    Natural natural(model);
    natural.set(bodies, x);
    verdict = natural.accelerations(x, load, e.accelerations);
  } else if (formulation == std::string("minimal")) {
    Minimal minimal(model);
    minimal.set(bodies, x);
    verdict = minimal.evaluate(x, load, e);
  } else {
    Augmented augmented(model);
    augmented.set(bodies, x);
    verdict = augmented.evaluate(x, load, e);
  }
  EXPECT_TRUE(verdict.ok()) << what << ", " << formulation << ": " << name(verdict.status) << " body " << verdict.body;
  return verdict.ok() ? e.accelerations : Accelerations{};
}

// At rest the spin of a wheel about its principal axis n obeys I (alpha·n) = torque, whatever carries it. Its alpha is a
// difference of the carrier's and its own: 1e-9 of the larger.
TEST(SmallWheels, HingedAtTheirCentresTurnUnderTheirTorques) {
  int turned = 0;
  for (int k = 0; k < cases(24); ++k) {
    const auto at = seed(98100) + static_cast<std::uint64_t>(k);
    Random random(at);
    MechanismOptions options{.bodies = 3 + k % 3,
                             .loops = 1 + k % 2,
                             .mass_ratio = 10,
                             .passive = false,
                             .locked = false,
                             .kinds = {JointKind::Revolute, JointKind::Spherical, JointKind::Universal, JointKind::Cylindrical}};
    options.planar = k % 3 == 0;
    Mechanism m = enlarged(random_mechanism(random, options), 2000);
    const double radius = std::pow(10.0, random.uniform(-4, 0)), mass = std::pow(10.0, random.uniform(-3, 1));
    const auto carrier = static_cast<std::size_t>(random.below(static_cast<int>(m.spec.bodies.size())));
    // In the plane of planar mechanisms: about the axes of their hinges.
    const Vec3 axis = options.planar ? m.spec.joints[0].axis : random_unit(random);
    JointSpec hinge;
    hinge.name = "hub", hinge.kind = JointKind::Revolute, hinge.parent = m.spec.bodies[carrier].name, hinge.child = "wheel";
    hinge.axis = axis;
    hinge.at_parent.p = m.spec.bodies[carrier].inertia.p_BC + random_vector(random, 100);
    if (options.planar) hinge.at_parent = m.spec.joints[0].parent == hinge.parent ? m.spec.joints[0].at_parent : Pose{};
    BodySpec wheel;
    wheel.name = "wheel";
    wheel.inertia = {mass, Vec3::Zero(), 0.4 * mass * radius * radius * Mat3::Identity()};
    m.spec.bodies.push_back(wheel), m.spec.joints.push_back(hinge);
    m.X_WB.push_back(m.X_WB[carrier] * hinge.at_parent);
    const Model model = build(m.spec);
    const Bodies bodies = at_rest(model, m.X_WB);
    Load load(model);
    const double torque = 0.4 * mass * radius * radius * random.uniform(1, 10);
    load.efforts[model.joints().back().v0] = torque;
    const std::string what = "seed " + std::to_string(at) + ", radius " + std::to_string(radius) + ": " + describe(m.spec);
    const Vec3 n = bodies.back().q_WB * axis.normalized();
    for (const char* formulation : {"augmented", "minimal", "natural"}) {
      const Accelerations a = moved_by(formulation, model, bodies, load, what);
      if (a.empty()) continue;
      ++turned;
      const double wanted = torque / (0.4 * mass * radius * radius);
      EXPECT_NEAR(a.back().alpha_WB.dot(n), wanted, 1e-9 * (wanted + a[carrier].alpha_WB.norm())) << what << ", " << formulation;
    }
  }
  EXPECT_GE(turned, 3 * cases(24) - 3);
}

double u_over(double small, double large) { return 1.1e-16 * large / small; }

// Uniform rods between the balls of a loop: nothing but their own inertia holds their spin. The moment of inertia about the axis
// is that of a matrix whose other entries are larger by (length / radius)²/3, rounded by them: u times that ratio is known of it.
TEST(SlenderRods, BetweenBallsSpinUnderTheirMoments) {
  for (int k = 0; k < cases(24); ++k) {
    const auto at = seed(98200) + static_cast<std::uint64_t>(k);
    Random random(at);
    const double length = std::pow(10.0, random.uniform(-3, 4)), radius = length * std::pow(10.0, random.uniform(-6.5, -1));
    const Vec3 a(0, 0, 0), b = length * (Vec3(1, 0, 0) + random_vector(random, 0.2));
    const Vec3 u = (b - a).normalized();
    ModelSpec spec;
    spec.gravity.setZero();  // its reactions would round by more than the moments
    const auto add = [&](const std::string& body, const Inertia& inertia) {
      BodySpec made;
      made.name = body, made.inertia = inertia;
      spec.bodies.push_back(made);
    };
    const auto join = [&](const std::string& joint, JointKind kind, const std::string& parent, const Vec3& on_parent,
                          const std::string& child, const Vec3& on_child) {
      JointSpec made;
      made.name = joint, made.kind = kind, made.parent = parent, made.child = child, made.axis = Vec3::UnitZ();
      made.at_parent.p = on_parent, made.at_child.p = on_child;
      spec.joints.push_back(made);
    };
    // A crank and a rocker of ordinary shape, the rod between them; axes of bodies are those of World.
    const double m = 1, across = m * length * length / 12, along = 0.5 * m * radius * radius;
    const Mat3 axis = u * u.transpose();
    add("crank", solid_box(m, {0.3 * length, 0.2 * length, 0.1 * length}));
    add("rod", {m, Vec3::Zero(), (across + 0.25 * m * radius * radius) * (Mat3::Identity() - axis) + along * axis});
    add("rocker", solid_box(m, {0.3 * length, 0.2 * length, 0.1 * length}));
    const Vec3 arm = length * Vec3(0.1, 0.4, 0.05);
    join("left", JointKind::Revolute, "world", a - 2 * arm, "crank", -arm);
    join("first", JointKind::Spherical, "crank", arm, "rod", -0.5 * (b - a));
    join("second", JointKind::Spherical, "rod", 0.5 * (b - a), "rocker", arm);
    join("right", JointKind::Revolute, "world", b - 2 * arm, "rocker", -arm);
    const Model model = build(spec);
    Bodies bodies(3);
    bodies[0].p_WC = a - arm, bodies[1].p_WC = 0.5 * (a + b), bodies[2].p_WC = b - arm;
    Load load(model);
    load.port[1].moment = along * 3 * u;
    const std::string what = "seed " + std::to_string(at) + ", length " + std::to_string(length) + ", radius over it " +
                             std::to_string(std::log10(radius / length));
    EXPECT_EQ(rank_of(model, bodies).freedoms, 2) << what;
    // Natural coordinates refuse what round-off of the inertia makes uncertain by more than 1e-8, and say so.
    if (u_over(along, across) > 1e-9) {
      Natural natural(model);
      State x;
      Accelerations unused;
      natural.set(bodies, x);
      const Verdict verdict = natural.accelerations(x, load, unused);
      EXPECT_TRUE(verdict.ok() || verdict.status == Status::NotConverged) << what << ": " << name(verdict.status);
    }
    for (const char* formulation : {"augmented", "minimal", "natural"}) {
      if (formulation == std::string("natural") && u_over(along, across) > 1e-9) continue;
      const Accelerations out = moved_by(formulation, model, bodies, load, what);
      if (out.empty()) continue;
      EXPECT_NEAR(out[1].alpha_WB.dot(u), 3, 3 * (1e-9 + 50 * 1.1e-16 * across / along)) << what << ", " << formulation;
    }
  }
}

// Joint points that coincide with centres of mass up to the rounding of their coordinates have no distance from them, in the
// model and in its parts, beside whatever arms there are.
TEST(Lengths, DoNotCountArmsThatAreRoundOff) {
  for (int k = 0; k < cases(40); ++k) {
    Random random(seed(98300) + static_cast<std::uint64_t>(k));
    const double size = std::pow(10.0, random.uniform(-4, 4));
    ModelSpec spec;
    for (const char* body : {"wheel", "other"}) {
      BodySpec made;
      made.name = body;
      made.inertia = solid_sphere(1, size);
      made.inertia.p_BC = random_vector(random, size);
      spec.bodies.push_back(made);
      JointSpec hinge;
      hinge.name = std::string("hinge of ") + body, hinge.kind = JointKind::Revolute, hinge.child = body;
      hinge.at_child.p = ((made.inertia.p_BC / 3) * 3) + 1e-16 * size * random_unit(random);
      spec.joints.push_back(hinge);
    }
    const Model round_off = build(spec);
    EXPECT_EQ(round_off.length(), 1.0);
    for (const Scales::Part& part : scales_of(round_off).parts) EXPECT_EQ(part.length, 1.0);
    const Vec3 arm = size * random_unit(random);
    spec.joints[1].at_child.p += arm;
    const Model one = build(spec);
    EXPECT_NEAR(one.length(), size / std::sqrt(2), 1e-12 * size);
    EXPECT_EQ(scales_of(one).parts[0].length, 1.0);
    EXPECT_NEAR(scales_of(one).parts[1].length, size, 1e-12 * size);
  }
}

}  // namespace
}  // namespace invar::testing
