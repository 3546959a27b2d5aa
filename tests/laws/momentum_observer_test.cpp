// SPDX-License-Identifier: Apache-2.0
//
// The momentum observer: it finds what acts beyond the model with a first-order lag, nothing where nothing does, through loops,
// delay, lag and actuators.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/control/body_law.hpp"
#include "invar/control/disturbance.hpp"
#include "invar/control/joint_law.hpp"
#include "invar/mech/assemble.hpp"
#include "support/campaign.hpp"
#include "support/controlled.hpp"
#include "support/joint_cases.hpp"

namespace invar::testing {
namespace {

/// A heavy arm on one hinge, about an axis that is not vertical.
ModelSpec hinged() {
  ModelSpec spec;
  spec.bodies.push_back({"arm", solid_box(2, {0.8, 0.1, 0.2}), {}, {}});
  JointSpec j;
  j.name = "hinge", j.kind = JointKind::Revolute, j.child = "arm", j.axis = Vec3(0, 1, 0.3).normalized();
  j.at_child.p = Vec3(-0.4, 0.05, 0);
  spec.joints.push_back(j);
  return spec;
}

JointLawSpec swinging(const Model& model, double observer) {
  JointLawSpec law;
  law.rate = 8, law.observer = observer;
  JointAim aim;
  aim.joint = 0, aim.gain = 0, aim.rate = 4;
  aim.path = [](Instant at) { return Jet{std::sin(2 * at.t), 2 * std::cos(2 * at.t), -4 * std::sin(2 * at.t)}; };
  law.aims = {aim};
  (void)model;
  return law;
}

ControllerSpec with(const JointLawSpec& law) {
  ControllerSpec c;
  c.law = [law](const Model& m) { return std::make_unique<JointLaw>(m, law); };
  return c;
}

Bodies start_of(const Model& model, double rate) {
  JointState q = JointState::initial(model);
  q.v[0] = rate;
  return place(model, q);
}

// Γ of a hinge is constant, so r' = k (d - r) exactly however it swings: r = d (1 - e^(-kt)), in units of 1/sqrt(Γ). Trapezoids
// in steps of 1 ms leave some (k h)²/12 = 5e-5 of it.
TEST(MomentumObserver, FollowsAConstantEffortOnASwingingHingeWithItsLag) {
  const Model model = build(hinged());
  const double k = 25, effort = 3;
  Scenario s = controlled(hinged(), start_of(model, 2), 0.4, 1e-3, with(swinging(model, k)));
  EffortSpec push;
  push.joint = "hinge", push.signal = Constant{effort};
  s.environments.push_back(std::make_shared<const EffortSignal>(*EffortSignal::build(*s.model, push)));
  Watched w;
  ASSERT_TRUE(watch(s, w));
  JointLaw law(model, swinging(model, 0));
  ASSERT_EQ(law.objection(0.0, start_of(model, 2)), "");
  const double size = effort * std::sqrt(law.mobility()(0, 0));
  for (std::size_t i = 0; i < w.readings.t().size(); ++i) {
    const double left = std::exp(-k * w.readings.t()[i]);
    ASSERT_NEAR(w.readings.of("observed")[i], size * (1 - left), 1e-4 * size) << i;
    ASSERT_NEAR(w.readings.of("unobserved")[i], size * left, 1e-4 * size) << i;
  }
  for (const char* name : {"V_dot_as_promised", "observer_is_resolved", "law_is_defined"})
    EXPECT_TRUE(clause(w.outcome, name).held()) << clause(w.outcome, name).text();
}

// One look per 1/k is the limit that the clause allows; times of ticks are rounded, and must not break it.
TEST(MomentumObserver, IsResolvedByLooksAtItsOwnRate) {
  const Model model = build(hinged());
  for (const double period : {0.1, 0.01, 0.003, 0.07})
    for (const double start : {0.0, 1000.0}) {
      ControllerSpec controller = with(swinging(model, 1 / period));
      controller.period = period;
      Scenario s = controlled(hinged(), start_of(model, 0.1), start + 30 * period, period, controller);
      s.start_time = start;
      Watched w;
      ASSERT_TRUE(watch(s, w));
      EXPECT_TRUE(clause(w.outcome, "observer_is_resolved").held())
          << period << ' ' << clause(w.outcome, "observer_is_resolved").text();
    }
}

/// Laws on all bodies that rest where they are, and in freedoms.
Scenario held(const JointCase& c, bool bodies, double observer, double h, int steps) {
  const Model model = build(c.spec);
  ControllerSpec controller;
  if (bodies) {
    BodyLawSpec law;
    law.gains = {0, 0, 6};
    law.gains.observer = observer;
    for (std::size_t b = 0; b < c.start.size(); ++b) {
      const Pose X = c.start[b].X_WB(model.bodies()[b]);
      law.paths.push_back([X](Instant) {
        PoseJet j;
        j.p = X.p, j.q = X.q;
        return j;
      });
    }
    controller.law = [law](const Model& m) { return std::make_unique<BodyLaw>(m, law); };
  } else {
    JointLawSpec law;
    law.rate = 6, law.observer = observer;
    law.aims = aims_from(model, c.start, false);
    for (JointAim& aim : law.aims) aim.gain = 0, aim.rate = 4;
    if (law.aims.empty()) return {};
    controller.law = [law](const Model& m) { return std::make_unique<JointLaw>(m, law); };
  }
  return controlled(c.spec, c.start, steps * h, h, controller);
}

DisturbanceSpec steady(const Model& model, double of_weight) {
  double mass = 0;
  for (const Body& b : model.bodies()) mass += b.inertia.mass;
  DisturbanceSpec push;
  push.body = model.bodies().back().name;
  push.force = of_weight * 9.81 * mass * Vec3(1, 2, -3).normalized();
  return push;
}

// At rest where its joints are closed, so that a law that holds it there has nothing to do.
JointCase resting_case(int k) {
  JointCase c = drawn_joint_case(k, false);
  for (BodyState& b : c.start) b.v_WC = b.w_WB = Vec3::Zero();
  if (const auto closed = make_consistent(build(c.spec), c.start, 1e-13)) c.start = *closed;
  return c;
}

// A force of 1e-4 of the weight moves a mechanism by about as little, so that its configuration stays and d is constant along the
// motion: |d - r|_A = |d|_A e^(-kt). The rest are trapezoids, (k h)²/12 = 3e-5, and the motion, some 1e-4 for the lightest
// bodies.
TEST(MomentumObserver, FindsASmallConstantForceOnAnyMechanismLoopsIncluded) {
  int judged = 0;
  for (int k = 0; k < cases(24); ++k) {
    const JointCase c = resting_case(k);
    for (const bool bodies : {true, false}) {
      const double rate = 20;
      Scenario s = held(c, bodies, rate, 1e-3, 200);
      if (!s.model) continue;
      s.environments.push_back(std::make_shared<const Disturbance>(*Disturbance::build(*s.model, steady(*s.model, 1e-4))));
      Watched w;
      if (!watch(s, w)) continue;
      const double size = w.readings.of("unobserved")[0];
      if (!(size > 1e-9)) continue;  // held by the joints
      const std::size_t last = w.readings.t().size() - 1;
      for (const std::size_t i : {last / 4, last / 2, last}) {
        const double left = std::exp(-rate * w.readings.t()[i]);
        EXPECT_NEAR(w.readings.of("unobserved")[i] / size, left, 1e-3) << c.what << (bodies ? " bodies" : " freedoms");
        EXPECT_NEAR(w.readings.of("observed")[i] / size, 1 - left, 1e-3) << c.what << (bodies ? " bodies" : " freedoms");
      }
      EXPECT_TRUE(clause(w.outcome, "V_dot_as_promised").held()) << c.what << clause(w.outcome, "V_dot_as_promised").text();
      ++judged;
    }
  }
  EXPECT_GT(judged, cases(24));
}

// With the plant as its model it finds nothing but what its steps leave, which is of second order.
TEST(MomentumObserver, FindsNothingWhereTheModelIsPerfect) {
  int judged = 0;
  for (int k = 0; k < cases(12); ++k) {
    const JointCase c = drawn_joint_case(k, false);
    const Model model = build(c.spec);
    JointLawSpec law;
    law.rate = 6, law.observer = 20;
    law.aims = aims_from(model, c.start, true);
    for (JointAim& aim : law.aims) aim.gain = 0, aim.rate = 4;
    if (law.aims.empty()) continue;
    double found[2] = {}, weight = 0;
    for (const Body& b : model.bodies()) weight += 9.81 * b.inertia.mass;
    bool done = true;
    for (int i = 0; i < 2; ++i) {
      Watched w;
      done = done && watch(controlled(c.spec, c.start, 0.1, 2e-3 / (1 + i), with(law)), w);
      if (done)
        for (const double r : w.readings.of("observed")) found[i] = std::max(found[i], r);
    }
    if (!done) continue;
    // Of forces of the size of the weight, per root of the mass.
    EXPECT_LT(found[1], 1e-3 * std::sqrt(9.81 * weight)) << c.what;
    EXPECT_LT(found[1], 0.4 * found[0] + 1e-10 * std::sqrt(9.81 * weight)) << c.what << ": " << found[0] << " " << found[1];
    ++judged;
  }
  EXPECT_GT(judged, cases(12) / 2);
}

// Without it a steady force leaves s at |d|/κ; with it nothing is left once it has found it.
TEST(MomentumObserver, TakesAwayWhatASteadyForceLeaves) {
  const Model model = build(hinged());
  double V[2];
  for (int i = 0; i < 2; ++i) {
    Scenario s = controlled(hinged(), start_of(model, 2), 3, 2e-3, with(swinging(model, i == 0 ? 0 : 25)));
    EffortSpec push;
    push.joint = "hinge", push.signal = Constant{3};
    s.environments.push_back(std::make_shared<const EffortSignal>(*EffortSignal::build(*s.model, push)));
    Watched w;
    ASSERT_TRUE(watch(s, w));
    V[i] = w.readings.of("V").back();
  }
  EXPECT_GT(V[0], 1e-3);
  EXPECT_LT(V[1], 1e-8 * V[0]);
}

// In a sampled loop commands are held, late and filtered. Told what acted, the observer still finds the effort alone: what
// remains are trapezoids over ticks of 5 ms, (rates of 8 /s times the tick)²/12 = 1e-4 of the commands of some 20 N m. Through
// motors with the same lag it is the same loop.
TEST(MomentumObserver, KnowsDelayAndLag) {
  const Model model = build(hinged());
  double ends[2];
  for (const bool motor : {false, true}) {
    ControllerSpec c = with(swinging(model, 20));
    c.period = 0.005, c.delay = 0.005;
    if (motor) {
      ActuatorSpec a;
      a.joint = "hinge", a.lag = 0.01;
      c.actuators = {a};
    } else {
      c.lag = 0.01;
    }
    Scenario s = controlled(hinged(), start_of(model, 2), 2, 1e-3, c);
    EffortSpec push;
    push.joint = "hinge", push.signal = Constant{3};
    s.environments.push_back(std::make_shared<const EffortSignal>(*EffortSignal::build(*s.model, push)));
    Watched w;
    ASSERT_TRUE(watch(s, w)) << w.outcome.words;
    JointLaw law(model, swinging(model, 0));
    ASSERT_EQ(law.objection(0.0, start_of(model, 2)), "");
    const double size = 3 * std::sqrt(law.mobility()(0, 0));
    for (std::size_t i = w.readings.t().size() / 2; i < w.readings.t().size(); ++i)
      ASSERT_NEAR(w.readings.of("observed")[i], size, 2e-3 * size) << w.readings.t()[i];
    ends[motor ? 1 : 0] = w.readings.of("V").back();
  }
  EXPECT_NEAR(ends[0], ends[1], 1e-9);
}

// Wrenches on the bodies of a floating chain under a steady force, late, filtered, held in the axes of the bodies: the observer
// finds the force. Ticks of 5 ms leave (8 /s times the tick)²/12 = 1e-4 of commands of some 10 N, and the force turns with
// nothing, while r is followed along a motion of at most 0.2 rad/s, 0.2/20 of it.
TEST(MomentumObserver, SeesWrenchesThatArriveLate) {
  int judged = 0;
  for (int k = 0; k < cases(6); ++k) {
    MechanismOptions o;
    o.bodies = 2 + k % 3, o.floating = true, o.passive = false, o.locked = false, o.mass_ratio = 5;
    o.kinds = {JointKind::Spherical, JointKind::Revolute};
    Sample s = random_sample(seed(12500) + static_cast<std::uint64_t>(k), o);
    for (BodyState& b : s.bodies) b.v_WC = b.w_WB = Vec3::Zero();
    s.mechanism.spec.gravity = Vec3::Zero();
    Scenario run = held({s.mechanism.spec, s.bodies, ""}, true, 20, 1e-3, 1500);
    run.controllers[0].period = 0.005, run.controllers[0].delay = 0.005, run.controllers[0].lag = 0.01;
    run.controllers[0].with_body = k % 2 == 0;
    double mass = 0;
    for (const Body& b : run.model->bodies()) mass += b.inertia.mass;
    DisturbanceSpec push;
    push.body = run.model->bodies().back().name, push.force = 0.05 * mass * Vec3(1, 2, -3).normalized();
    run.environments.push_back(std::make_shared<const Disturbance>(*Disturbance::build(*run.model, push)));
    Watched w;
    if (!watch(run, w)) continue;
    const double size = w.readings.of("unobserved")[0];
    EXPECT_GT(size, 1e-3);
    EXPECT_LT(w.readings.of("unobserved").back(), 0.02 * size) << describe(s.mechanism.spec);
    ++judged;
  }
  EXPECT_GT(judged, cases(6) / 2);
}

// A motor that gives nine tenths of its input is found as what is missing.
TEST(MomentumObserver, FindsWhatABadlyMountedMotorLeavesUndone) {
  const Model model = build(hinged());
  ControllerSpec c = with(swinging(model, 20));
  ActuatorSpec a;
  a.joint = "hinge", a.mounted.gain = 0.9;
  c.actuators = {a};
  c.period = 0.002;
  Watched with_observer, without;
  ASSERT_TRUE(watch(controlled(hinged(), start_of(model, 2), 2, 1e-3, c), with_observer));
  c.law = with(swinging(model, 0)).law;
  ASSERT_TRUE(watch(controlled(hinged(), start_of(model, 2), 2, 1e-3, c), without));
  EXPECT_LT(with_observer.readings.of("V").back(), 0.2 * without.readings.of("V").back());
}

}  // namespace
}  // namespace invar::testing
