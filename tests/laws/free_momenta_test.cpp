// SPDX-License-Identifier: Apache-2.0
//
// A mechanism that the ground holds by one joint keeps the momenta of the motions which that joint and gravity leave free. Forces
// inside it, loops and dampers among them, do not change them.
#include <gtest/gtest.h>

#include "invar/base/largest.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/cayley/skeleton.hpp"
#include "invar/mech/energy.hpp"
#include "support/campaign.hpp"
#include "support/march.hpp"
#include "support/natural_samples.hpp"

namespace invar::testing {
namespace {

struct Hold {
  const char* name;
  JointKind kind;
  Vec3 axis;                  // of the joint, World
  Vec3 gravity;               // m/s²
  std::vector<Vec3> linear;   // directions along which momentum stays
  std::vector<Vec3> angular;  // about the joint point, where that stays
};

std::vector<Hold> holds() {
  const Vec3 x = Vec3::UnitX(), y = Vec3::UnitY(), z = Vec3::UnitZ(), down = -9.81 * z, none = Vec3::Zero();
  return {
      {"rail", JointKind::Prismatic, x, down, {x}, {}},
      {"rail without gravity", JointKind::Prismatic, z, none, {z}, {}},
      {"table", JointKind::Planar, z, down, {x, y}, {z}},
      {"wall", JointKind::Planar, y, down, {x}, {}},
      {"post", JointKind::Revolute, z, down, {}, {z}},
      {"sleeve", JointKind::Cylindrical, z, down, {}, {z}},
      {"sleeve across", JointKind::Cylindrical, x, down, {x}, {}},
      {"ball", JointKind::Spherical, z, down, {}, {z}},
      {"ball without gravity", JointKind::Spherical, z, none, {}, {x, y, z}},
  };
}

// A floating mechanism, its first body joined to the ground where it is.
Mechanism held(Random& random, const Hold& hold) {
  MechanismOptions options;
  options.bodies = 5, options.loops = 1, options.floating = true, options.mass_ratio = 10, options.locked = false;
  Mechanism out = random_mechanism(random, options);
  std::erase_if(out.spec.joints, [](const JointSpec& j) { return j.kind == JointKind::Free; });
  out.spec.gravity = hold.gravity;
  JointSpec joint;
  joint.name = "ground", joint.kind = hold.kind, joint.child = out.spec.bodies[0].name, joint.axis = hold.axis;
  joint.at_parent.p = out.X_WB[0].p;
  joint.at_child.q = out.X_WB[0].q.conjugate();
  out.spec.joints.push_back(joint);
  for (JointSpec& j : out.spec.joints) {
    if (j.spring.law == SpringLaw::EulerPrinted) j.spring.law = SpringLaw::Euler;
    if (j.kind == JointKind::Spherical) j.armature.clear();
  }
  return out;
}

TEST(HeldByOneJoint, KeepsTheMomentaThatTheGroundLeavesFree) {
  constexpr double h = 5e-3;
  constexpr int steps = 200;
  for (const Hold& hold : holds()) {
    int seen = 0;
    for (int i = 0; i < cases(4); ++i) {
      Random random(seed(1200) + static_cast<std::uint64_t>(i), 81);
      const Mechanism mechanism = held(random, hold);
      const Model model = build(mechanism.spec);
      if (!cayley::why_not_conserving(model).empty()) continue;
      ++seen;
      Bodies bodies = at_rest(model, mechanism.X_WB);
      draw_velocities(random, model, bodies);
      Natural natural(model);
      System system(natural);
      State x;
      natural.set(bodies, x, {});
      natural.bodies(x, bodies);
      const Vec3 about = mechanism.X_WB[0].p;
      const auto seen_from = [&](const Bodies& all) {
        const Momentum m = momentum(model, all);
        VecX out(static_cast<Eigen::Index>(hold.linear.size() + hold.angular.size()));
        Eigen::Index k = 0;
        for (const Vec3& d : hold.linear) out[k++] = d.dot(m.linear);
        for (const Vec3& d : hold.angular) out[k++] = d.dot(m.angular - about.cross(m.linear));
        return out;
      };
      const VecX first = seen_from(bodies);
      double drift = 0, size = 0, reach = 0;
      auto integrator = std::move(*make_integrator("conserving"));
      const March ended = march(mechanism.spec, system, *integrator, 0, h * steps, h, x, [&](double, double) {
        natural.bodies(x, bodies);
        keep_largest(drift, (seen_from(bodies) - first).cwiseAbs().maxCoeff());
        double sum = 0;
        for (std::size_t b = 0; b < bodies.size(); ++b) {
          const Inertia& inertia = model.bodies()[b].inertia;
          keep_largest(reach, (bodies[b].p_WC - about).norm());
          sum += inertia.mass * bodies[b].v_WC.norm() + inertia.I_C.norm() * bodies[b].w_WB.norm() / model.length();
        }
        keep_largest(size, sum);
      });
      ASSERT_TRUE(ended.verdict.ok()) << hold.name << " " << i << " " << name(ended.verdict.status);
      // Rounding of every step, with the noise of closures over h, on every body at its distance.
      EXPECT_LE(drift, steps * (1e-15 + 4e-16 * (1 + reach) / h) * size * (1 + reach))
          << hold.name << " " << i << " size " << size;
    }
    EXPECT_GE(2 * seen, cases(4)) << hold.name << ": the others are refused";
  }
}

}  // namespace
}  // namespace invar::testing
