// SPDX-License-Identifier: Apache-2.0
//
// Angles are counted over all turns, from the start that was named to the end of any step: springs and couplings feel them.
#include <gtest/gtest.h>

#include <numbers>

#include "invar/integrate/make.hpp"
#include "invar/io/model_file.hpp"
#include "invar/io/state_json.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/energy.hpp"
#include "invar/run/start.hpp"
#include "support/newton_euler.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

/// Two wheels on the ground with their axes along z; `more` follows.
ModelSpec wheels(const std::string& more, const std::string& on_b = "") {
  std::string text = "gravity = [0, 0, 0]\n";
  for (const char* name : {"a", "b"})
    text += std::string("[[body]]\nname = \"") + name + "\"\nmass = 1\ninertia = { xx = 1, yy = 1, zz = 2 }\n";
  text += "[[joint]]\nname = \"ja\"\nkind = \"revolute\"\nparent = \"world\"\nchild = \"a\"\n";
  text += "[[joint]]\nname = \"jb\"\nkind = \"revolute\"\nparent = \"world\"\nchild = \"b\"\nat_parent = { p = [1, 0, 0] }\n";
  auto spec = parse_model(text + on_b + more, "wheels");
  EXPECT_TRUE(spec) << spec.error().what;
  return *spec;
}

Start at(const Model& model, double a, double b) {
  Start start(model);
  start.joints.q << a, b;
  start.joints.known = {true, true};
  return start;
}

const char* const kGear = "[[coupling]]\nname = \"gear\"\njoint = \"jb\"\nof = \"ja\"\nratio = 3\n";

TEST(Turns, AStartOnAnyTurnIsTakenAsNamed) {
  const ModelSpec spec = wheels(kGear);
  const Model model = build(spec);
  for (const double turns : {0.0, 1.0, -4.0}) {
    Augmented dynamics(model);
    const double a = 2 + turns * kTurn;
    const auto x = state_at(dynamics, at(model, a, 3 * a));
    ASSERT_TRUE(x) << x.error().what;
    Evaluation e;
    ASSERT_TRUE(dynamics.evaluate(*x, Load(model), e).ok());
    expect_newton_euler(spec, e, Load(model));
    // The projection leaves a consistent start alone but for rounding: a few units in the last place of 3 a.
    EXPECT_NEAR(e.q[0], a, 1e-13);
    EXPECT_NEAR(e.q[1], 3 * a, 1e-13);
  }
}

TEST(Turns, ADrivenJointThatNobodyNamedFollowsItsCoupling) {
  const ModelSpec spec = wheels("[[coupling]]\nname = \"cam\"\njoint = \"jb\"\nof = \"ja\"\npolynomial = [0.5, 2, -0.25]\n");
  const Model model = build(spec);
  Start start = at(model, 9, 0);
  start.joints.known[1] = false;
  start.joints.v << 0.3, 0;
  Augmented dynamics(model);
  const auto x = state_at(dynamics, start);
  ASSERT_TRUE(x) << x.error().what;
  Evaluation e;
  ASSERT_TRUE(dynamics.evaluate(*x, Load(model), e).ok());
  expect_newton_euler(spec, e, Load(model));
  EXPECT_NEAR(e.q[0], 9, 1e-13);
  EXPECT_NEAR(e.q[1], 0.5 + 2 * 9 - 0.25 * 81, 1e-13);
  EXPECT_NEAR(e.v[1], (2 - 0.5 * 9) * e.v[0], 1e-13);
}

/// A start by joints as a state file says it.
State state_of(Augmented& dynamics, const std::string& json) {
  const auto start = start_from_json(dynamics.model(), json, "state");
  EXPECT_TRUE(start) << start.error().text();
  const auto x = state_at(dynamics, *start);
  EXPECT_TRUE(x) << x.error().text();
  return *x;
}

TEST(Turns, AStateThatNamesTheDrivingJointMovesTheDrivenOne) {
  // Whether [initial] named the driven joint too, or there was no [initial].
  for (const char* initial : {"", "[initial]\nja = 0.1\njb = 0.3\n"}) {
    const Model model = build(wheels(std::string(kGear) + initial));
    Augmented dynamics(model);
    const State x = state_of(dynamics, R"({"joints": {"ja": {"q": 9, "v": 0.5}}})");
    EXPECT_NEAR(x.wound[0], 9, 1e-13) << initial;
    EXPECT_NEAR(x.wound[1], 27, 1e-13) << initial;
    EXPECT_NEAR(x.wound_rate[1], 1.5, 1e-13) << initial;
  }
}

TEST(Turns, OneFreedomOfSeveralFollowsItsCoupling) {
  const ModelSpec spec = wheels(
      "[[body]]\nname = \"c\"\nmass = 1\ninertia = { xx = 1, yy = 1, zz = 1 }\n[[joint]]\nname = \"jc\"\nkind = "
      "\"cylindrical\"\nchild = \"c\"\n[[coupling]]\nname = \"thread\"\njoint = \"jc\"\nfreedom = 1\nof = \"ja\"\nratio = 0.1\n"
      "[[coupling]]\nname = \"gear\"\njoint = \"jc\"\nfreedom = 0\nof = \"jb\"\nratio = -2\n");
  const Model model = build(spec);
  Augmented dynamics(model);
  const State x = state_of(dynamics, R"({"joints": {"ja": {"q": 20}, "jb": {"q": 11}}})");
  Evaluation e;
  ASSERT_TRUE(dynamics.evaluate(x, Load(model), e).ok());
  expect_newton_euler(spec, e, Load(model));
  EXPECT_NEAR(e.q[2], -22, 1e-13);
  EXPECT_NEAR(e.q[3], 2, 1e-13);
}

TEST(Turns, AJointThatCannotStartAsNamedIsTold) {
  const Model model = build(wheels(kGear));
  Augmented dynamics(model);
  const auto start = start_from_json(model, R"({"joints": {"ja": {"q": 0.1}, "jb": {"q": 0.2}}})", "state");
  ASSERT_TRUE(start);
  const auto x = state_at(dynamics, *start);
  ASSERT_TRUE(x);
  EXPECT_EQ(displaced(dynamics, *start, *x).size(), 2u);
}

TEST(Turns, BodiesAloneLieOnTheTurnThatTheCouplingAsksFor) {
  // Bodies know angles within half a turn only: 2 and 6 - 2 pi. The gear tells which turn the second is on.
  const Model model = build(wheels(kGear));
  const Bodies bodies = place(model, at(model, 2, 6).joints);
  EXPECT_TRUE(expect_consistent(model, bodies, 1e-12));
  Augmented dynamics(model);
  State x;
  dynamics.set(bodies, x);
  EXPECT_NEAR(x.wound[0], 2, 1e-14);
  EXPECT_NEAR(x.wound[1], 6, 1e-14);
}

TEST(Turns, ASpringIsStrainedByEveryTurn) {
  // k q²/2 with k = 2 at 7 rad, more than a turn: 49 J, and 14 N m pull back.
  const ModelSpec spec = wheels("", "spring = { stiffness = 2 }\n");
  const Model model = build(spec);
  Augmented dynamics(model);
  const auto x = state_at(dynamics, at(model, 0, 7));
  ASSERT_TRUE(x);
  Evaluation e;
  ASSERT_TRUE(dynamics.evaluate(*x, Load(model), e).ok());
  expect_newton_euler(spec, e, Load(model));
  EXPECT_NEAR(energy(model, e.bodies, e.q, e.v).elastic, 49, 1e-12);
  EXPECT_NEAR(e.efforts[1], -14, 1e-12);
}

TEST(Turns, AreCountedAtAnyRate) {
  // A free wheel under rk4 with steps of 0.1 to 40 rad: no acceleration, so the rate tells the angle exactly.
  const Model model = build(wheels(""));
  for (const double rate : {1.0, 40.0, -63.0, 400.0}) {
    Augmented dynamics(model);
    System system(dynamics);
    Start start = at(model, 0, 0);
    start.joints.v << rate, 0;
    auto x = state_at(dynamics, start);
    ASSERT_TRUE(x);
    const auto method = std::move(*make_integrator("rk4"));
    method->reset(system, *x, 0.1);
    system.enter(0, 10);
    double done = 0;
    for (int k = 0; k < 100; ++k) ASSERT_TRUE(method->step(system, 0.1 * k, 0.1, *x, done).ok());
    // Rounding of a hundred rotations, each a few u, plus u times the angle itself.
    EXPECT_NEAR(x->wound[0], 10 * rate, 1e-13 * (1 + std::abs(10 * rate))) << rate;
  }
}

}  // namespace
}  // namespace invar::testing
