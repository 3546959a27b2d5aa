// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "invar/io/model_file.hpp"
#include "invar/io/scenario_parts.hpp"
#include "support/places.hpp"

namespace invar {
namespace {

// A crane with cylinders of its own, a frame at its tip and prismatic joints.
const Model& model() {
  static const Model model = std::move(*Model::build(*read_model_file(testing::source_path("models/hydraulic_crane.toml"))));
  return model;
}

const Joint& joint_of(JointKind kind) {
  for (const Joint& joint : model().joints())
    if (joint.kind == kind) return joint;
  return model().joints()[0];
}

/// What is wrong with a [[control]] table, or nothing; what was read in `spec`.
std::string read(const std::string& text, ControllerSpec& spec) {
  auto root = parse_toml(text, "test.toml");
  if (!root) return root.error().text();
  spec.actuators = read_actuators(*root, model());
  read_sampled(*root, spec);
  const auto done = root->finish();
  return done ? "" : done.error().text();
}

std::string refusal(const std::string& text) {
  ControllerSpec spec;
  return read(text, spec);
}

TEST(ScenarioActuators, ReadsEveryKindAndItsNumbers) {
  const std::string hinge = joint_of(JointKind::Revolute).name, slider = joint_of(JointKind::Prismatic).name;
  const std::string a = model().body_name(0), b = model().body_name(1), frame = model().frames()[0].name;
  ControllerSpec spec;
  ASSERT_EQ(
      read(
          "actuators = [\n { kind = 'motor', joint = '" + hinge +
              "', limits = [-10, 20], rate = 100, lag = 0.01, weight = 2 },\n" + "{ kind = 'cylinder', joint = '" + slider +
              "' },\n" + "{ kind = 'cylinder', name = 'strut', points = [{ body = '" + a + "', p = [1, 0, 0] }, { body = '" + b +
              "' }] },\n" + "{ kind = 'force', frame = '" + frame + "', direction = [0, 0, 2], axes = 'world' },\n" +
              "{ kind = 'thruster', name = 'jet', frame = '" + frame + "', limits = [0, 5] }]\n" +
              "period = 0.001\ndelay = 0.002\nnoise = { position = 1e-4, attitude = 1e-3, velocity = 2, angular_velocity = 3 }\n",
          spec),
      "");
  ASSERT_EQ(spec.actuators.size(), 5u);
  const ActuatorSpec& motor = spec.actuators[0];
  EXPECT_EQ(motor.joint, hinge);
  EXPECT_EQ(motor.lower, -10);
  EXPECT_EQ(motor.upper, 20);
  EXPECT_EQ(motor.rate, 100);
  EXPECT_EQ(motor.lag, 0.01);
  EXPECT_EQ(motor.weight, 2);
  EXPECT_EQ(spec.actuators[1].joint, slider);
  EXPECT_EQ(spec.actuators[2].points[0].p, Vec3(1, 0, 0));
  EXPECT_EQ(spec.actuators[3].axes, Axes::World);
  EXPECT_EQ(spec.actuators[4].kind, ActuatorSpec::Kind::Thruster);
  EXPECT_EQ(spec.period, 0.001);
  EXPECT_EQ(spec.delay, 0.002);
  EXPECT_EQ(spec.noise.attitude, 1e-3);
  EXPECT_EQ(spec.noise.angular_velocity, 3);
}

TEST(ScenarioActuators, RefusalsNameTheKey) {
  const std::string hinge = joint_of(JointKind::Revolute).name, frame = model().frames()[0].name;
  const std::string motor = "kind = 'motor'\njoint = '" + hinge + "'\n";
  const std::string thruster = "kind = 'thruster'\nframe = '" + frame + "'\n";
  const auto expect = [](const std::string& text, const std::string& place, const std::string& words) {
    const std::string what = refusal(text);
    EXPECT_TRUE(what.starts_with("test.toml:" + place)) << what;
    EXPECT_NE(what.find(words), std::string::npos) << what;
  };
  const auto at = [&](const std::string& keys, const char* place, const char* words) {
    expect("[[actuators]]\n" + keys, place, words);
  };
  at("kind = 'moter'", "2:", "motor");
  at(motor + "limits = [2, 1]", "4:", "'limits'");
  at(motor + "limits = [1]", "4:", "");
  at(motor + "lag = 0.1", "1:", "need a 'period'");
  at(motor + "frequency = 1", "4:", "frequency");
  at("kind = 'motor'\njoint = '" + hinge + "x'", "3:", "did you mean");
  at("kind = 'cylinder'\njoint = '" + hinge + "'", "3:", "prismatic");
  at(thruster + "direction = [0, 0, 0]", "4:", "no direction");
  at(thruster + "limits = [-1, 1]", "4:", "only pushes");
  at(motor + "[[actuators]]\n" + motor, "6:", "give one a 'name'");
  expect("delay = 0.1", "1:", "needs a 'period'");
  expect("period = 0.04\ndelay = 0.1", "2:", "2.5 periods");
  expect("noise = { position = 1 }", "1:", "needs a 'period'");
  expect("period = -1", "1:", "'period' is a time");
}

}  // namespace
}  // namespace invar
