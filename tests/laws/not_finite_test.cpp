// SPDX-License-Identifier: Apache-2.0
// A number that is none must not pass for a small one: maxima keep it, residuals show it, states with it are refused.
#include <gtest/gtest.h>

#include <limits>

#include "invar/base/largest.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/run/tally.hpp"
#include "support/agreement.hpp"
#include "support/newton_euler.hpp"

namespace invar::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(KeepLargest, IsTheMaximumAndKeepsWhatIsNoNumber) {
  double m = 0;
  for (const double x : {1.0, 3.0, 2.0}) keep_largest(m, x);
  EXPECT_EQ(m, 3.0);
  for (const double x : {4.0, kNaN, 5.0, std::numeric_limits<double>::infinity()}) keep_largest(m, x);
  EXPECT_TRUE(std::isnan(m)) << m;
}

/// One arm of the given kind on the ground, beside a body that nothing holds.
Model arm_and_stone(JointKind kind) {
  ModelSpec spec;
  spec.bodies.push_back({"arm", solid_box(1, {0.2, 0.3, 0.4}), {}, {}});
  spec.bodies.push_back({"stone", solid_sphere(1, 0.1), {}, {}});
  JointSpec j;
  j.name = "held", j.kind = kind, j.child = "arm", j.pitch = kind == JointKind::Screw ? 0.1 : 0;
  j.at_child.p = Vec3(0.1, 0, 0), j.at_parent.p = Vec3(0.1, 0, 0);
  spec.joints = {j};
  return build(spec);
}

/// The state with NaN in one entry of each of p, v, w, q in turn.
std::vector<Bodies> poisoned(const Bodies& good, std::size_t body) {
  std::vector<Bodies> bad(4, good);
  bad[0][body].p_WC.y() = bad[1][body].v_WC.z() = bad[2][body].w_WB.x() = bad[3][body].q_WB.z() = kNaN;
  return bad;
}

TEST(ConstraintError, OfAStateWithNaNIsNaNForEveryKind) {
  for (int kind = 0; kind < kJointKinds; ++kind) {
    if (static_cast<JointKind>(kind) == JointKind::Free) continue;  // holds nothing, so nothing can be open
    const Model model = arm_and_stone(static_cast<JointKind>(kind));
    const std::vector<Bodies> bad = poisoned(Bodies(2), 0);
    for (std::size_t i = 0; i < bad.size(); ++i) {
      const ConstraintError e = constraint_error(model, bad[i], VecX::Zero(model.nv()));
      const bool velocity = i == 1 || i == 2;
      EXPECT_TRUE(std::isnan(velocity ? e.velocity : e.position)) << name(static_cast<JointKind>(kind)) << " " << i;
      EXPECT_EQ(e.joint, velocity ? -1 : 0) << name(static_cast<JointKind>(kind)) << " " << i;
    }
  }
}

// The joint after the broken one is closed: its zero must not cover the NaN.
TEST(ConstraintError, KeepsNaNPastTheJointsThatFollow) {
  ModelSpec spec;
  for (const char* body : {"a", "b", "c"}) spec.bodies.push_back({body, solid_sphere(1, 0.1), {}, {}});
  for (const char* body : {"a", "b", "c"}) {
    JointSpec j;
    j.name = std::string("to_") + body, j.kind = JointKind::Revolute, j.child = body;
    spec.joints.push_back(j);
  }
  const Model model = build(spec);
  Bodies bodies(3);
  bodies[1].p_WC.x() = kNaN, bodies[1].v_WC.x() = kNaN;
  bodies[2].p_WC.x() = 0.5, bodies[2].v_WC.x() = 0.5;
  const ConstraintError e = constraint_error(model, bodies, VecX::Zero(model.nv()));
  EXPECT_TRUE(std::isnan(e.position));
  EXPECT_TRUE(std::isnan(e.velocity));
  EXPECT_EQ(e.joint, 1);
}

TEST(StateWithNaN, IsRefusedByNameHeldOrNot) {
  const Model model = arm_and_stone(JointKind::Revolute);
  for (std::size_t body = 0; body < 2; ++body)
    for (const Bodies& bad : poisoned(Bodies(2), body)) {
      const auto given = expect_consistent(model, bad, 1e-6);
      ASSERT_FALSE(given.has_value());
      EXPECT_NE(given.error().what.find("'" + model.bodies()[body].name + "'"), std::string::npos) << given.error().what;
      EXPECT_FALSE(make_consistent(model, bad).has_value());
    }
}

TEST(StateWithNaN, EndsAStepOrAnEvaluationInAName) {
  const Model model = arm_and_stone(JointKind::Revolute);
  for (std::size_t body = 0; body < 2; ++body)
    for (const Bodies& bad : poisoned(Bodies(2), body)) {
      Augmented dynamics(model);
      State x;
      dynamics.set(bad, x);
      Evaluation e;
      EXPECT_EQ(dynamics.evaluate(x, Load(model), e).status, Status::NotFinite);
    }
  for (const std::size_t i : {0u, 3u}) {
    Augmented dynamics(model);
    State x;
    dynamics.set(poisoned(Bodies(2), 0)[i], x);
    EXPECT_EQ(dynamics.settle(x).status, Status::NotFinite) << i;
  }
}

TEST(LoadWithNaN, EndsInANameWhicheverSolverIsUsed) {
  MechanismOptions o;
  o.bodies = 6, o.mass_ratio = 10, o.locked = false;
  for (const int loops : {0, 1, 12}) {  // one elimination, one with closures, fronts
    o.loops = loops, o.bodies = loops > 1 ? 12 : 6;
    if (loops > 1) o.kinds = {JointKind::Spherical, JointKind::Cylindrical, JointKind::Universal};
    const Sample s = random_sample(77, o);
    Augmented dynamics(s.model);
    State x;
    dynamics.set(s.bodies, x);
    Evaluation e;
    ASSERT_TRUE(dynamics.evaluate(x, s.load, e).ok()) << loops;
    expect_newton_euler(s.mechanism.spec, e, s.load);
    Load load = s.load;
    load.port.back().force.y() = kNaN;
    EXPECT_EQ(dynamics.evaluate(x, load, e).status, Status::NotFinite) << loops;
  }
}

TEST(Tally, ReportsANumberThatWasNoneForAMomentOnly) {
  Tally tally;
  Observation at;
  tally.start(at);
  tally.open(at);
  for (int step = 0; step < 3; ++step) {
    at.t = 0.1 * (step + 1);
    at.error.position = step == 1 ? kNaN : 1e-9;
    tally.step(at, false);
  }
  tally.close();
  for (const Metric& m : tally.metrics()) {
    if (m.name != "joint_gap") continue;
    EXPECT_TRUE(std::isnan(m.value)) << m.value;
    EXPECT_EQ(m.reason, "not finite");
  }
}

TEST(Differences, OfAnAnswerWithNaNAreNaN) {
  const Model model = arm_and_stone(JointKind::Revolute);
  const Answer good{Accelerations(2), std::vector<Wrench>(1), VecX()};
  for (const bool first : {true, false}) {
    Answer bad = good;
    bad.accelerations[0].alpha_WB.z() = bad.reactions[0].moment.x() = kNaN;
    const Differences d = first ? differences(model, Load(model), bad, good) : differences(model, Load(model), good, bad);
    EXPECT_TRUE(std::isnan(d.acceleration));
    EXPECT_TRUE(std::isnan(d.reaction));
  }
}

}  // namespace
}  // namespace invar::testing
