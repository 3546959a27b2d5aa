// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace invar::testing {

using nlohmann::json;

static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The pendulum of models/: l = 1 m, solid cylinder of radius 2 cm about z, so the inertia about the hinge is
// I = m l²/3 + m r²/4, and I q'' = -m g l/2 sin q. One evaluation is good to a few roundings: 1e-13 relative.
TEST(Eval, PendulumAcceleratesAsTheTextbookSays) {
  const double q = 0.3, v = 1.0, inertia = 1.0 / 3 + 1e-4;
  const Ended e = invar({"eval", model("pendulum"), "--state", "-"}, R"({"joints": {"hinge": {"q": [0.3], "v": [1]}}})");
  ASSERT_EQ(e.code, 0) << e.err;
  const json out = json::parse(e.out);
  EXPECT_NEAR(out["joints"]["hinge"]["vdot"][0].get<double>(), -9.81 * 0.5 * std::sin(q) / inertia, 1e-12);
  EXPECT_NEAR(out["energy"]["kinetic"].get<double>(), 0.5 * inertia * v * v, 1e-14);
  EXPECT_NEAR(out["energy"]["potential"].get<double>(), -9.81 * 0.5 * std::cos(q), 1e-14);
  EXPECT_TRUE(out["joints"]["hinge"]["determined"].get<bool>());
  EXPECT_LT(out["residual"]["position"].get<double>(), 1e-14);
}

TEST(Eval, OutputHasTheShapeOfTheDocuments) {
  const json out = json::parse(invar({"eval", model("four_bar")}).out);
  for (const char* key : {"p", "q", "v", "w", "a", "alpha"}) EXPECT_TRUE(out["bodies"]["crank"].contains(key)) << key;
  for (const char* key : {"q", "v", "vdot", "force", "moment", "determined"})
    EXPECT_TRUE(out["joints"]["j1"].contains(key)) << key;
  for (const char* key : {"kinetic", "potential", "elastic"}) EXPECT_TRUE(out["energy"].contains(key)) << key;
  for (const char* key : {"linear", "angular"}) EXPECT_TRUE(out["momentum"].contains(key)) << key;
  for (const char* key : {"position", "velocity"}) EXPECT_TRUE(out["residual"].contains(key)) << key;
}

// What eval prints is a state that eval reads: the same accelerations come back.
TEST(Eval, ItsBodiesAreAStateOfTheSameAccelerations) {
  const json first = json::parse(invar({"eval", model("double_pendulum")}).out);
  json state;
  for (const auto& [name, body] : first["bodies"].items())
    for (const char* key : {"p", "q", "v", "w"}) state["bodies"][name][key] = body[key];
  const Ended again = invar({"eval", model("double_pendulum"), "--state", "-"}, state.dump());
  ASSERT_EQ(again.code, 0) << again.err;
  const json second = json::parse(again.out);
  // The state is made consistent when it is read, which moves it by a rounding: some 1e-15 of 10 m/s².
  for (const auto& [name, body] : first["bodies"].items())
    for (int k = 0; k < 3; ++k)
      EXPECT_NEAR(body["a"][k].get<double>(), second["bodies"][name]["a"][k].get<double>(), 1e-13) << name;
}

// A force at the centre of mass of a free rod accelerates it by f/m, whatever its attitude; gravity adds -9.81.
// What is printed solves the equations that it stands for, and a state by independent joints alone is completed.
TEST(Eval, MatricesAreThoseOfOneEquation) {
  const Ended e =
      invar({"eval", model("series_parallel_plant"), "--formulation", "minimal", "--matrices", "--state", "-"},
            R"({"joints": {"phi": {"q": [0.2], "v": [1]}, "theta": {"q": [0.5]}, "delta": {"q": [0.15], "v": [0.1]}}})");
  ASSERT_EQ(e.code, 0) << e.err;
  const json out = json::parse(e.out);
  EXPECT_EQ(out["coordinates"], (json{"phi", "theta", "delta"}));
  EXPECT_NEAR(out["joints"]["delta"]["q"][0].get<double>(), 0.15, 1e-14);
  const auto number = [](const json& j) { return j.get<double>(); };
  for (int i = 0; i < 3; ++i) {
    double left = number(out["h"][i]) - number(out["Q"][i]), size = std::abs(number(out["h"][i])) + std::abs(number(out["Q"][i]));
    for (int k = 0; k < 3; ++k) {
      left += number(out["Gamma"][i][k]) * number(out["qddot"][k]);
      size += std::abs(number(out["Gamma"][i][k]) * number(out["qddot"][k]));
      double parts = 0;
      for (const auto& [name, part] : out["Gamma_parts"].items()) parts += number(part[i][k]);
      EXPECT_NEAR(parts, number(out["Gamma"][i][k]), 1e-12 * number(out["Gamma"][i][i])) << "no rotors: the sum of the bodies";
    }
    EXPECT_NEAR(left, 0, 1e-12 * size);
  }
  const Ended refused = invar({"eval", model("pendulum"), "--matrices"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(refused.err.find("--formulation minimal") != std::string::npos) << refused.err;
}

TEST(Eval, PortActsAtTheCentreOfMass) {
  Folder folder;
  write_file(folder / "m.toml", "name='rod'\n[[body]]\nname='rod'\nmass=2\ninertia={xx=1,yy=1,zz=1}\n");
  write_file(folder / "port.json", R"({"rod": {"force": [2, 0, 0], "moment": [0, 0, 3]}})");
  const Ended e = invar({"eval", folder / "m.toml", "--port", folder / "port.json"});
  ASSERT_EQ(e.code, 0) << e.err;
  const json rod = json::parse(e.out)["bodies"]["rod"];
  EXPECT_NEAR(rod["a"][0].get<double>(), 1.0, 1e-14);
  EXPECT_NEAR(rod["a"][2].get<double>(), -9.81, 1e-14);
  EXPECT_NEAR(rod["alpha"][2].get<double>(), 3.0, 1e-14);
}

TEST(Eval, EffortsTurnTheHinge) {
  Folder folder;
  write_file(folder / "efforts.json", R"({"hinge": [2.5]})");
  const std::string hanging = R"({"joints": {"hinge": {"q": [0]}}})";
  const Ended e = invar({"eval", model("pendulum"), "--state", "-", "--efforts", folder / "efforts.json"}, hanging);
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_NEAR(json::parse(e.out)["joints"]["hinge"]["vdot"][0].get<double>(), 2.5 / (1.0 / 3 + 1e-4), 1e-12);
}

TEST(Eval, TakesFormulationsByNameAndRefusesUnknownOnes) {
  const Ended named = invar({"eval", model("four_bar"), "--formulation", "augmented"});
  ASSERT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(named.out, invar({"eval", model("four_bar")}).out);
  const Ended unknown = invar({"eval", model("four_bar"), "--formulation", "magic"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(has(unknown.err, "magic") && has(unknown.err, "augmented")) << unknown.err;
}

struct BadState {
  const char* text;
  const char* expected;
};

class EvalRefuses : public ::testing::TestWithParam<BadState> {};

TEST_P(EvalRefuses, BadStatesWithASentence) {
  const Ended e = invar({"eval", model("double_pendulum"), "--state", "-"}, GetParam().text);
  EXPECT_EQ(e.code, 2) << e.out;
  EXPECT_TRUE(e.out.empty());
  EXPECT_EQ(e.err.rfind("error: stdin", 0), 0u) << e.err;
  EXPECT_TRUE(has(e.err, GetParam().expected)) << e.err;
}

INSTANTIATE_TEST_SUITE_P(Texts, EvalRefuses,
                         ::testing::Values(BadState{"", "stdin:1:1"}, BadState{"{\"joints\": {\n\"x\": NaN}}", "stdin:2:"},
                                           BadState{"[]", "expected an object"}, BadState{"{}", "either 'bodies' or 'joints'"},
                                           BadState{R"({"bodies": {}})", "missing: "},
                                           BadState{R"({"bodys": {}})", "did you mean 'bodies'"},
                                           BadState{R"({"joints": {"nosuch": {"q": [0]}}})", "'nosuch'"},
                                           BadState{R"({"joints": {"nosuch": 1e999}})", "too large"},
                                           BadState{R"({"joints": 3})", "expected an object"}));

TEST(Eval, WrongLengthAndNormAreRefused) {
  Ended e = invar({"eval", model("pendulum"), "--state", "-"}, R"({"joints": {"hinge": {"q": [0, 1]}}})");
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "expected 1 coordinate, found 2")) << e.err;
  e = invar({"eval", model("pendulum"), "--state", "-"}, R"({"bodies": {"rod": {"p": [0,0,0], "q": [2,0,0,0]}}})");
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "norm 2")) << e.err;
}

TEST(Eval, MissingStateFileIsNamed) {
  const Ended e = invar({"eval", model("pendulum"), "--state", "nowhere.json"});
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "nowhere.json")) << e.err;
}

// The redundant row of the planar four-bar is a self-stress out of the plane through every joint of the loop.
TEST(Eval, SaysWhichReactionsAreNotDetermined) {
  const json four_bar = json::parse(invar({"eval", model("four_bar")}).out);
  EXPECT_FALSE(four_bar["joints"]["closure"]["determined"].get<bool>());
  // Out of the plane is y of the frames that the file has.
  for (const char* joint : {"j1", "j2", "j3"}) {
    const json& share = four_bar["joints"][joint]["verdict"]["force"];
    EXPECT_LT(share[0].get<double>() + share[2].get<double>(), 1e-10) << joint;
    EXPECT_GT(share[1].get<double>(), 1e-3) << joint;
  }
  const json ring = json::parse(invar({"eval", model("ring7")}).out);
  for (const auto& [name, joint] : ring["joints"].items()) EXPECT_TRUE(joint["determined"].get<bool>()) << name;
}

}  // namespace invar::testing
