// SPDX-License-Identifier: Apache-2.0
//
// Motions, not only single evaluations, are the same in every World and at every distance from its origin. The measure is what
// rounding does anyway: the same motion from an initial state changed by 1e-15 of itself. Ten times that is allowed.
#include <gtest/gtest.h>

#include <optional>

#include "invar/integrate/make.hpp"
#include "invar/mech/augmented.hpp"
#include "support/dense_kkt.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

/// Nothing where a loop runs into a dead point on the way: there the motion has no continuation to compare.
std::optional<Bodies> after_one_second(const ModelSpec& spec, const Bodies& start) {
  const Model model = build(spec);
  Augmented dynamics(model);
  System system(dynamics);
  State x;
  dynamics.set(start, x);
  const auto rk4 = std::move(*make_integrator("rk4"));
  rk4->reset(x);
  for (int k = 0; k < 200; ++k) {
    double done = 0;
    if (!rk4->step(system, 0.005 * k, 0.005, x, done).ok()) return {};
  }
  Bodies out;
  dynamics.bodies(x, out);
  return out;
}

double apart(const Bodies& a, const Bodies& b) {
  double d = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    d = std::max({d, (a[k].p_WC - b[k].p_WC).norm(), (a[k].v_WC - b[k].v_WC).norm(), (a[k].w_WB - b[k].w_WB).norm()});
    d = std::max(d, log_so3(a[k].q_WB.conjugate() * b[k].q_WB).norm());
  }
  return d;
}

Bodies nudged(Random& random, const Bodies& bodies) {
  Bodies out = bodies;
  for (BodyState& b : out) {
    for (Vec3* v : {&b.p_WC, &b.v_WC, &b.w_WB}) *v += 1e-15 * v->norm() * random_unit(random);
    b.q_WB = turned(b.q_WB, 1e-15 * random_unit(random));
  }
  return out;
}

TEST(Motion, IsTheSameInEveryWorld) {
  int compared = 0;
  for (int i = 0; i < 12; ++i) {
    MechanismOptions o;
    o.bodies = 2 + i % 6, o.floating = i % 3 == 1, o.loops = i % 2, o.mass_ratio = 10, o.passive = false;
    o.kinds = {JointKind::Revolute, JointKind::Spherical, JointKind::Universal, JointKind::Cylindrical};
    const Sample s = random_sample(900 + static_cast<std::uint64_t>(i), o);
    Random random(static_cast<std::uint64_t>(i), 11);
    const auto here = after_one_second(s.mechanism.spec, s.bodies);
    if (!here) continue;
    // The largest of a few nudges: one of them may happen to lie in a quiet direction.
    double noise = 0;
    for (int n = 0; n < 6; ++n) {
      const auto beside = after_one_second(s.mechanism.spec, nudged(random, s.bodies));
      ASSERT_TRUE(beside) << describe(s.mechanism.spec);
      noise = std::max(noise, apart(*here, *beside));
    }

    const Pose X = random_pose(random, 2.0);
    ModelSpec spec = s.mechanism.spec;
    Bodies start = s.bodies;
    spec.gravity = X.q * spec.gravity;
    for (JointSpec& j : spec.joints)
      if (j.parent == "world") j.at_parent = X * j.at_parent;
    for (BodyState& b : start) b = {X * b.p_WC, X.q * b.v_WC, X.q * b.w_WB, normalized(X.q * b.q_WB)};
    const auto moved_there = after_one_second(spec, start);
    ASSERT_TRUE(moved_there) << describe(s.mechanism.spec);
    Bodies there = *moved_there;
    const Pose back = X.inverse();
    for (BodyState& b : there) b = {back * b.p_WC, back.q * b.v_WC, back.q * b.w_WB, normalized(back.q * b.q_WB)};
    EXPECT_LT(apart(*here, there), 10 * noise) << describe(s.mechanism.spec);
    ++compared;
  }
  EXPECT_GE(compared, 10);
}

// Hinges and balls: positions enter through orientations alone, so a thousand kilometres make no difference at all.
TEST(Evaluation, IsAsExactFarFromTheOrigin) {
  for (int i = 0; i < 12; ++i) {
    MechanismOptions o;
    o.bodies = 3 + i % 10, o.mass_ratio = 100, o.passive = false;
    o.kinds = {JointKind::Revolute, JointKind::Spherical, JointKind::Universal};
    const Sample s = random_sample(950 + static_cast<std::uint64_t>(i), o);
    const Vec3 far(1e6, -2e6, 3e5);
    ModelSpec spec = s.mechanism.spec;
    Bodies bodies = s.bodies;
    for (JointSpec& j : spec.joints)
      if (j.parent == "world") j.at_parent.p += far;
    for (BodyState& b : bodies) b.p_WC += far;
    const auto accelerations = [](const Model& model, const Bodies& at, const Load& load) {
      Accelerations a(model.bodies().size());
      std::vector<Wrench> unused(model.joints().size());
      EXPECT_TRUE(Augmented(model).solve(at, load, a, unused).ok());
      return a;
    };
    const Accelerations near_by = accelerations(s.model, s.bodies, s.load), away = accelerations(build(spec), bodies, s.load);
    double size = 0, error = 0;
    for (std::size_t b = 0; b < near_by.size(); ++b) {
      size = std::max({size, near_by[b].a_WC.norm(), near_by[b].alpha_WB.norm()});
      error = std::max({error, (near_by[b].a_WC - away[b].a_WC).norm(), (near_by[b].alpha_WB - away[b].alpha_WB).norm()});
    }
    EXPECT_LT(error, 1e-12 * size) << describe(s.mechanism.spec);
  }
}

}  // namespace
}  // namespace invar::testing
