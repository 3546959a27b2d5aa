// SPDX-License-Identifier: Apache-2.0
// The verbs equilibrium and modes, from the outside.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "support/folder.hpp"

namespace invar::testing {
namespace {

using nlohmann::json;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(EquilibriumVerb, GivesAStateThatEvalTakesAndThatDoesNotAccelerate) {
  Folder folder;
  for (const char* name : {"pendulum", "four_bar", "slider_crank", "stewart", "all_joints", "paper_a_chain"}) {
    const Ended e = invar({"equilibrium", model(name)});
    ASSERT_EQ(e.code, 0) << name << e.err;
    EXPECT_TRUE(has(e.err, "equilibrium")) << e.err;
    write_file(folder / "state.json", e.out);
    const Ended there = invar({"eval", model(name), "--state", folder / "state.json"});
    ASSERT_EQ(there.code, 0) << name << there.err;
    // JSON has all digits; what is left is rounding of weights near 1e2 N on masses of some kg.
    for (const auto& [body, values] : json::parse(there.out)["bodies"].items())
      for (const json& a : values["a"]) EXPECT_LE(std::abs(a.get<double>()), 1e-7) << name << " " << body;
  }
}

TEST(EquilibriumVerb, RefusesWhatNothingHoldsByName) {
  const Ended e = invar({"equilibrium", model("two_rods")});
  EXPECT_EQ(e.code, 3);
  EXPECT_EQ(e.out, "");
  EXPECT_TRUE(has(e.err, "nothing holds") && has(e.err, "rod")) << e.err;
  EXPECT_EQ(invar({"equilibrium", "no_such_file.toml"}).code, 2);
  EXPECT_EQ(invar({"equilibrium", model("pendulum"), "--state", "no_such_file.json"}).code, 2);
}

// Bricard's j3 turns back at 30°: where it was named, others take over.
TEST(EquilibriumVerb, GoesOnWhereANamedFreedomTurnsBack) {
  Folder folder;
  std::string text = read_file(model("bricard"));
  const std::string joint = "name = \"j3\"\n";
  ASSERT_NE(text.find(joint), std::string::npos);
  text.insert(text.find(joint) + joint.size(), "independent = true\n");
  write_file(folder / "named.toml", text + "\n[initial]\nj1 = 1\n");
  const Ended e = invar({"equilibrium", folder / "named.toml"});
  EXPECT_EQ(e.code, 0) << e.err;
  write_file(folder / "chosen.toml", read_file(model("bricard")) + "\n[initial]\nj1 = 1\n");
  EXPECT_EQ(invar({"equilibrium", folder / "chosen.toml"}).code, 0);
}

// A rod of 1 m on a hinge at its end: ω² = 3g/2l up to its thickness.
TEST(ModesVerb, TellsTheFrequencyOfAPendulum) {
  const Ended e = invar({"modes", model("pendulum"), "--equilibrium", "--json"});
  ASSERT_EQ(e.code, 0) << e.err;
  const json out = json::parse(e.out);
  EXPECT_EQ(out["stability"], "stable");
  ASSERT_EQ(out["modes"].size(), 1u);
  EXPECT_NEAR(out["modes"][0]["frequency"].get<double>(), 0.6104, 1e-3);
  EXPECT_EQ(out["modes"][0]["shape"]["hinge"][0], 1);
  EXPECT_LE(out["acceleration"].get<double>(), 1e-10);
  const Ended words = invar({"modes", model("pendulum"), "--equilibrium"});
  EXPECT_TRUE(has(words.out, "0.610") && has(words.out, "hinge 1") && has(words.out, "stable")) << words.out;
}

TEST(ModesVerb, SaysWhereAStateIsNoEquilibrium) {
  const Ended e = invar({"modes", model("double_pendulum")});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_TRUE(has(e.err, "no equilibrium")) << e.err;
  EXPECT_FALSE(has(invar({"modes", model("double_pendulum"), "--equilibrium"}).err, "no equilibrium"));
}

// A floating body that a joint names is named once, and nothing drives any of its six freedoms.
TEST(ModesVerb, NamesAFreeBodyOnceByItsJoint) {
  Folder folder;
  write_file(folder / "free.toml", R"(
gravity = [0, 0, 0]
[[body]]
name = "box"
mass = 2
shape = { kind = "box", size = [0.3, 0.2, 0.1] }
[[joint]]
name = "float"
kind = "free"
child = "box"
)");
  const Ended e = invar({"modes", folder / "free.toml", "--json"});
  ASSERT_EQ(e.code, 0) << e.err;
  const json out = json::parse(e.out);
  EXPECT_EQ(out["stability"], "neutral");
  ASSERT_EQ(out["modes"].size(), 6u);
  for (const json& mode : out["modes"]) {
    EXPECT_EQ(mode["shape"].size(), 6u);
    EXPECT_TRUE(mode["shape"].contains("float.0"));
  }
}

// A rod of 2 m on a hinge with a spring of 8 N m/rad gives (2 m)²/8 N m across itself, and nothing along itself and its axis.
TEST(StiffnessVerb, TellsHowAFrameYields) {
  Folder folder;
  write_file(folder / "rod.toml", R"(
gravity = [0, 0, 0]
[[body]]
name = "rod"
mass = 2
com = [1, 0, 0]
inertia = { xx = 0.1, yy = 1, zz = 1 }
[[joint]]
name = "hinge"
kind = "revolute"
child = "rod"
spring = { stiffness = 8 }
[[frame]]
name = "tip"
body = "rod"
at = { p = [2, 0, 0] }
)");
  const Ended e = invar({"stiffness", folder / "rod.toml", "tip", "--json"});
  ASSERT_EQ(e.code, 0) << e.err;
  const json out = json::parse(e.out);
  EXPECT_NEAR(out["axes"][0]["stiffness"].get<double>(), 2, 1e-12);
  EXPECT_NEAR(std::abs(out["axes"][0]["along"][1].get<double>()), 1, 1e-12);
  EXPECT_TRUE(out["axes"][1]["rigid"].get<bool>() && out["axes"][2]["rigid"].get<bool>());
  EXPECT_NEAR(out["compliance"][1][1].get<double>(), 0.5, 1e-12);
  EXPECT_EQ(out["missing"]["hinge"], 0);
  const Ended words = invar({"stiffness", folder / "rod.toml", "tip"});
  EXPECT_TRUE(has(words.out, "rigid") && has(words.out, "0.5")) << words.out;
  EXPECT_FALSE(has(words.err, "no equilibrium")) << words.err;
}

TEST(StiffnessVerb, SaysWhatIsWrong) {
  const Ended frame = invar({"stiffness", model("paper_c_springs"), "tpc"});
  EXPECT_EQ(frame.code, 2);
  EXPECT_TRUE(has(frame.err, "did you mean 'tcp'")) << frame.err;
  EXPECT_TRUE(has(invar({"stiffness", model("paper_c_springs"), "tcp"}).err, "no equilibrium"));
}

TEST(ModesVerb, HelpHasAnExample) {
  EXPECT_TRUE(has(invar({"stiffness", "--help"}).out, "Example: invar stiffness "));
  EXPECT_TRUE(has(invar({"modes", "--help"}).out, "Example: invar modes "));
  EXPECT_TRUE(has(invar({"equilibrium", "--help"}).out, "Example: invar equilibrium "));
}

}  // namespace
}  // namespace invar::testing
