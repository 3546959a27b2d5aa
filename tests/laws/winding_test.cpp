// SPDX-License-Identifier: Apache-2.0
//
// Joints turn as often as they like: angles are counted over all turns, and laws between joints hold for what was counted.
//
// A cam wheel a (inertia A) drives a follower wheel b (inertia B) by q_b = p(q_a) and a rack (mass m) by s = r q_a. From rest, a
// constant effort T on a gives  ½ (A + p'(q)² B + r² m) q'² = T (q - q(0)).
#include <gtest/gtest.h>

#include <numbers>

#include "invar/base/largest.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "support/newton_euler.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

constexpr double kUnit = 1.1e-16;
constexpr double kA = 0.3, kB = 0.2, kRack = 0.5, kRadius = 0.25;
const std::vector<double> kCam = {0.2, 0.9, -0.06, 0.0015};

double cam(double q) { return kCam[0] + q * (kCam[1] + q * (kCam[2] + q * kCam[3])); }
double cam_slope(double q) { return kCam[1] + q * (2 * kCam[2] + q * 3 * kCam[3]); }
/// Σ |c_k q^k|: what the polynomial is rounded by, per u.
double cam_size(double q) {
  const double x = std::abs(q);
  return std::abs(kCam[0]) + x * (std::abs(kCam[1]) + x * (std::abs(kCam[2]) + x * std::abs(kCam[3])));
}

JointSpec on_ground(const char* name, JointKind kind, const char* child, const Vec3& axis, const Vec3& p) {
  JointSpec j;
  j.name = name, j.kind = kind, j.child = child, j.axis = axis, j.at_parent.p = p;
  return j;
}

Inertia wheel(double about_axis) {
  Inertia i;
  i.mass = 1, i.I_C = Vec3(about_axis, about_axis, about_axis).asDiagonal();
  return i;
}

ModelSpec cam_drive() {
  ModelSpec spec;
  spec.gravity = Vec3::Zero();
  spec.bodies.push_back({"a", wheel(kA), {}, {}});
  spec.bodies.push_back({"b", wheel(kB), {}, {}});
  spec.bodies.push_back({"rack", solid_box(kRack, {1, 0.1, 0.1}), {}, {}});
  spec.joints = {on_ground("ja", JointKind::Revolute, "a", Vec3(1, 2, 2) / 3, Vec3(0.3, 0, 0)),
                 on_ground("jb", JointKind::Revolute, "b", Vec3(2, -1, 2) / 3, Vec3(-0.4, 0.2, 0)),
                 on_ground("slide", JointKind::Prismatic, "rack", Vec3::UnitY(), Vec3(0, 0, 0.5))};
  CouplingSpec follower, teeth;
  follower.name = "cam", follower.joint = "jb", follower.of = "ja", follower.coefficients = kCam;
  teeth.name = "teeth", teeth.joint = "slide", teeth.of = "ja", teeth.coefficients = {0, kRadius};
  spec.couplings = {follower, teeth};
  return spec;
}

/// Wheels at q_a and p(q_a), at rest.
Bodies start(const Model& model, double q) {
  JointState joints = JointState::initial(model);
  joints.q << q, cam(q), kRadius * q;
  return place(model, joints);
}

class Push final : public Environment {
 public:
  explicit Push(double effort) : effort_(effort) {}
  void add(Instant, const Bodies&, Load& load) const override { load.efforts[0] += effort_; }

 private:
  double effort_;
};

/// Turns wheel a from 0.1 by a constant effort for 5 s; `look(q, v)` after every step.
template <class Look>
void drive(double effort, const char* method, const Look& look) {
  const ModelSpec spec = cam_drive();
  const Model model = build(spec);
  Augmented dynamics(model);
  System system(dynamics);
  const Push push(effort);
  system.add(push);
  State x;
  dynamics.set(start(model, 0.1), x);
  const auto integrator = std::move(*make_integrator(method));
  integrator->reset(system, x, 0.005);
  Evaluation e;
  for (double t = 0; t < 5;) {
    double done = 0;
    ASSERT_TRUE(integrator->step(system, t, std::min(0.005, 5 - t), x, done).ok()) << t;
    t += done;
    ASSERT_TRUE(dynamics.evaluate(x, Load(model), e).ok());
    expect_newton_euler(spec, e, Load(model));
    look(e);
  }
}

TEST(Cam, HoldsToRoundOffOverManyTurnsBothWays) {
  for (const char* method : {"rk4", "semi_implicit_euler", "dopri5"})
    for (const double effort : {4.0, -4.0}) {
      double most = 0, before = 0.1;
      drive(effort, method, [&](const Evaluation& e) {
        const double q = e.q[0];
        // Angles are measured within half a turn and counted in turns, each rounded to u of itself, a few times; the polynomial
        // passes its argument's on.
        EXPECT_LT(std::abs(e.q[1] - cam(q)),
                  8 * kUnit * (std::abs(e.q[1]) + cam_size(q) + std::abs(cam_slope(q)) * (3 + std::abs(q))));
        EXPECT_LT(std::abs(e.q[2] - kRadius * q), 8 * kUnit * (1 + std::abs(q)));
        EXPECT_LT(std::abs(e.v[1] - cam_slope(q) * e.v[0]), 1e-14 * (1 + cam_size(q)) * (1 + std::abs(e.v[0]))) << q;
        EXPECT_GT((q - before) * effort, 0);  // onward, never back by a turn
        before = q;
        keep_largest(most, std::abs(q));
      });
      EXPECT_GT(most, 4 * 2 * std::numbers::pi) << method << " " << effort;
    }
}

// dopri5 keeps 1e-9 per step or better; the energy is that of the closed form within some hundred of those, relative to itself.
TEST(Cam, FollowsItsClosedFormOverManyTurns) {
  drive(4.0, "dopri5", [](const Evaluation& e) {
    const double q = e.q[0], slope = cam_slope(q), v = e.v[0];
    const double kinetic = 0.5 * (kA + slope * slope * kB + kRadius * kRadius * kRack) * v * v;
    EXPECT_NEAR(kinetic, 4 * (q - 0.1), 1e-5 * (1 + kinetic)) << q;
  });
}

// A hinge and a screw spun freely: the count is rate times time, at any number of turns.
TEST(FreeSpin, IsCountedOverAllTurns) {
  for (const JointKind kind : {JointKind::Revolute, JointKind::Screw, JointKind::Cylindrical}) {
    ModelSpec spec;
    spec.gravity = Vec3::Zero();
    spec.bodies.push_back({"rotor", wheel(kA), {}, {}});
    spec.joints = {on_ground("bearing", kind, "rotor", Vec3(2, 2, 1) / 3, Vec3(0.1, 0, 0.2))};
    if (kind == JointKind::Screw) spec.joints[0].pitch = 0.02;
    const Model model = build(spec);
    JointState joints = JointState::initial(model);
    joints.v[0] = -7;
    Augmented dynamics(model);
    System system(dynamics);
    State x;
    dynamics.set(place(model, joints), x);
    const auto rk4 = std::move(*make_integrator("rk4"));
    rk4->reset(system, x, 0.01);
    double done = 0;
    for (int k = 0; k < 1000; ++k) ASSERT_TRUE(rk4->step(system, 0.01 * k, 0.01, x, done).ok());
    Evaluation e;
    ASSERT_TRUE(dynamics.evaluate(x, Load(model), e).ok());
    expect_newton_euler(spec, e, Load(model));
    // A thousand steps, each of which rounds an angle and a rate: 70 rad u, 1000 (3 + 0.07) u at random.
    EXPECT_NEAR(e.q[0], -70, 1e-12) << name(kind);
    // A screw tells its turns by how far it went.
    if (kind != JointKind::Screw) {
      EXPECT_EQ(e.q[0], x.wound[0]) << name(kind);
    }
  }
}

}  // namespace
}  // namespace invar::testing
