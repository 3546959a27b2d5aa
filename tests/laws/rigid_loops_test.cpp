// SPDX-License-Identifier: Apache-2.0
//
// A triangle of two bars and the ground cannot move, and what slides on it moves along a straight line: nothing bends the motion,
// so the normal velocities of a step are rounding, and nothing else is.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/mech/assemble.hpp"
#include "support/campaign.hpp"
#include "support/linkages.hpp"
#include "support/ride.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

void add_bar(Random& random, const char* name, double length, ModelSpec& spec) {
  BodySpec bar;
  bar.name = name, bar.inertia = solid_box(random.uniform(0.3, 2), {length, 0.1, 0.07});
  bar.inertia.p_BC = {random.uniform(0.3, 0.7) * length, 0, 0};
  spec.bodies.push_back(bar);
}

JointSpec& add_joint(const char* name, JointKind kind, const char* parent, const char* child, const Vec3& axis, ModelSpec& spec) {
  JointSpec joint;
  joint.name = name, joint.kind = kind, joint.parent = parent, joint.child = child, joint.axis = axis;
  spec.joints.push_back(joint);
  return spec.joints.back();
}

/// Bars of length a and b on the ground, at distance d of each other, joined by a ball; a body slides along any line on one of
/// them, on a spring.
ModelSpec triangle_with_slider(Random& random) {
  ModelSpec spec;
  const double a = random.uniform(0.5, 1.5), b = random.uniform(0.8, 1.2) * a, d = random.uniform(0.8, 1.2) * a;
  const double x = (a * a - b * b + d * d) / (2 * d), z = std::sqrt(a * a - x * x);
  add_bar(random, "left", a, spec);
  add_bar(random, "right", b, spec);
  add_bar(random, "slider", 0.4, spec);
  add_joint("foot", JointKind::Revolute, "world", "left", -Vec3::UnitY(), spec);
  add_joint("other_foot", JointKind::Revolute, "world", "right", -Vec3::UnitY(), spec).at_parent.p = {d, 0, 0};
  spec.initial["foot"] = {std::atan2(z, x)};
  spec.initial["other_foot"] = {std::atan2(z, x - d)};
  JointSpec& top = add_joint("top", JointKind::Spherical, "left", "right", Vec3::UnitY(), spec);
  top.at_parent.p = {a, 0, 0}, top.at_child.p = {b, 0, 0}, top.cut = true;
  JointSpec& rail = add_joint("rail", JointKind::Prismatic, "left", "slider", random_vector(random, 1).normalized(), spec);
  rail.at_parent.p = {random.uniform(0, a), 0.1, 0};
  rail.spring.stiffness = {random.uniform(5, 50)};
  spec.gravity = {0, 0, -9.81};
  return spec;
}

// The books of a step are kept to 4e-16 of the terms of the energy, and the observer sums some ten of them: 3e-15 measured over
// 600 drawn ones.
TEST(RigidLoops, KeepTheEnergyOfWhatSlidesOnThem) {
  for (int i = 0; i < cases(40); ++i) {
    Random random(seed(6900) + static_cast<std::uint64_t>(i));
    const ModelSpec spec = triangle_with_slider(random);
    const Model model = build(spec);
    Bodies bodies = place(model, JointState::initial(model));
    draw_velocities(random, model, bodies);
    const Ride r = ride(spec, model, bodies, "conserving", 5e-3, 400);
    ASSERT_TRUE(r.verdict.ok()) << i << " " << name(r.verdict.status);
    EXPECT_EQ(r.divided, 0) << i;
    EXPECT_LE(r.balance, 1e-14 * r.energy) << i;
  }
}

}  // namespace
}  // namespace invar::testing
