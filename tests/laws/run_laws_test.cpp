// SPDX-License-Identifier: Apache-2.0
// What a run says about itself: which stretches count as free of loads, and how far a last state is from a wanted one.
#include <gtest/gtest.h>

#include "invar/control/disturbance.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/run/run.hpp"
#include "support/recorded.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

Scenario scenario_of(const ModelSpec& spec, double step, double end) {
  Scenario s;
  set_model(s, spec);
  s.method.step = step;
  s.end_time = end;
  s.start = Start(*s.model);
  return s;
}

ModelSpec floating_body(JointKind kind) {
  ModelSpec spec;
  spec.gravity = Vec3::Zero();
  BodySpec body;
  body.name = "body";
  body.inertia = {1.0, Vec3::Zero(), Mat3::Identity()};
  spec.bodies = {body};
  JointSpec joint;
  joint.name = "joint";
  joint.kind = kind;
  joint.child = "body";
  spec.joints = {joint};
  return spec;
}

// f(t) = t (h - t) over one step of length h: zero in the first and in the last stage, not in between. The momentum changes by
// h³/6, and rightly so.
TEST(MomentumLaws, LeaveOutAStepWhoseLoadActsInItsMiddleOnly) {
  const double h = 0.5;
  for (const char* method : {"rk4", "dopri5"}) {
    Scenario s = scenario_of(floating_body(JointKind::Free), h, h);
    s.method.integrator = method;
    DisturbanceSpec push;
    push.body = "body";
    push.force = Vec3::UnitX();
    push.signal = Polynomial{{0, h, -1}, 0};
    s.environments = {std::make_shared<const Disturbance>(*Disturbance::build(*s.model, push))};
    Law law;
    law.name = "momentum_drift";
    law.bound = 1e-12;
    s.laws = {law};
    const auto outcome = judged_run(s);
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(outcome->laws[0].reason, "no stretch of time without a load") << method << ": " << outcome->laws[0].text();
  }
}

// A body that turns by 0.3 rad in a second. Both signs of the quaternion there are one attitude. A constant rate is integrated to
// round-off: 1000 steps of relative error 1e-16.
TEST(FinalLaw, TakesAQuaternionAndItsNegativeForOneAttitude) {
  for (const JointKind kind : {JointKind::Free, JointKind::Spherical}) {
    for (const double sign : {1.0, -1.0}) {
      Scenario s = scenario_of(floating_body(kind), 1e-3, 1);
      s.start.joints.v[s.model->nv() - 1] = 0.3;
      Law law;
      law.name = "final";
      law.bound = 1e-12;
      law.joint = 0;
      law.field = "q";
      if (kind == JointKind::Free) law.target = {0, 0, 0};
      for (const double x : {std::cos(0.15), 0.0, 0.0, std::sin(0.15)}) law.target.push_back(sign * x);
      Law of_body = law;
      of_body.joint = -1, of_body.body = 0;
      of_body.target = {law.target.end() - 4, law.target.end()};
      s.laws = {law, of_body};
      const auto outcome = judged_run(s);
      ASSERT_TRUE(outcome) << outcome.error().text();
      for (const LawResult& result : outcome->laws) EXPECT_TRUE(result.held) << name(kind) << ": " << result.text();
    }
  }
}

// The distance of two attitudes is the angle between them: 0.3 rad after one second at 0.3 rad/s.
TEST(FinalLaw, MeasuresAttitudesByTheirAngle) {
  Scenario s = scenario_of(floating_body(JointKind::Free), 1e-3, 1);
  s.start.joints.v[5] = 0.3;
  Law law;
  law.name = "final";
  law.bound = 1;
  law.joint = 0;
  law.field = "q";
  law.target = {0, 0, 0, 1, 0, 0, 0};
  s.laws = {law};
  const auto outcome = judged_run(s);
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_NEAR(outcome->laws[0].value, 0.3, 1e-12);
}

}  // namespace
}  // namespace invar::testing
