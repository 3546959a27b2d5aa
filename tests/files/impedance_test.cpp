// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "invar/control/controller.hpp"
#include "invar/io/scenario_file.hpp"
#include "support/places.hpp"

namespace invar {
namespace {

const std::string kPath = testing::source_path("scenarios/test.toml");

std::string scenario(const std::string& model, const std::string& control,
                     const std::string& way = "formulation = 'natural'\n[integrator]\nmethod = 'conserving'\nstep = 0.01\n") {
  return "model = '../models/" + model + ".toml'\n" + way + "[time]\nend = 1\n[[control]]\nlaw = 'impedance'\n" +
         "path = { position = { kind = 'fixed', p = [0.5, 0.5, 0] } }\n" + control;
}

bool promises_steps(const std::string& text) {
  auto s = parse_scenario(text, kPath);
  EXPECT_TRUE(s) << s.error().text();
  if (!s) return false;
  const auto law = s->controllers.at(0).law(*s->controllers.at(0).nominal);
  for (const Clause& c : law->certificate().clauses())
    if (c.name == "V_falls_over_steps") return true;
  return false;
}

// The balance over steps is promised where the run asks for loads over whole steps and they act as commanded.
TEST(ScenarioImpedance, PromisesABalanceOverStepsWhereTheStepperIsExact) {
  const std::string way = "formulation = 'natural'\n[integrator]\nstep = 0.01\nmethod = ";
  EXPECT_TRUE(promises_steps(scenario("paper_c_springs", "frame = 'tcp'\n")));
  EXPECT_TRUE(promises_steps(scenario("paper_c_springs", "frame = 'tcp'\n", way + "'discrete_gradient'\n")));
  EXPECT_FALSE(promises_steps(scenario("paper_c_springs", "frame = 'tcp'\nperiod = 0.1\n")));
  EXPECT_FALSE(promises_steps(scenario("paper_c_springs", "frame = 'tcp'\n", way + "'midpoint'\n")));
  EXPECT_FALSE(promises_steps(scenario("paper_c_springs", "frame = 'tcp'\n", way + "'conserving'\ncomposition = 'suzuki'\n")));
}

TEST(ScenarioImpedance, RefusalsSayWhatToDo) {
  const auto expect = [](const std::string& text, const std::string& words) {
    auto s = parse_scenario(text, kPath);
    ASSERT_FALSE(s) << words;
    EXPECT_NE(s.error().text().find(words), std::string::npos) << s.error().text();
  };
  expect(scenario("paper_c_springs", "frame = 'tcp'\nfilter = 10\n"), "say velocity = \"filtered\"");
  expect(scenario("paper_c_springs", "frame = 'tcp'\nvelocity = 'filtered'\nfilter = 0\n"), "must be positive");
  expect(scenario("paper_c_springs", "frame = 'tcp'\nvelocity = 'guessed'\n"), "filtered");
  expect(scenario("space_manipulator", "body = 'hand'\n"), "take through = \"port\"");
  expect(scenario("paper_a_chain", "body = 'body1'\nthrough = 'port'\nvelocity = 'filtered'\njoint_damping = 1\n"),
         "take joint_damping = 0");
}

}  // namespace
}  // namespace invar
