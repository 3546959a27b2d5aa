// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace invar::testing {

using nlohmann::json;

static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Program, HelpOfEveryVerbHasAnExample) {
  for (const char* verb : {"check", "info", "eval", "run", "learn", "report"}) {
    const Ended e = invar({verb, "--help"});
    EXPECT_EQ(e.code, 0) << verb;
    EXPECT_TRUE(has(e.out, "Example: ")) << verb;
  }
}

TEST(Program, VersionNamesCompilerAndFlags) {
  const Ended e = invar({"--version"});
  EXPECT_EQ(e.code, 0);
  EXPECT_TRUE(has(e.out, "compiler") && has(e.out, "build") && has(e.out, "HDF5")) << e.out;
}

TEST(Program, WrongCommandLinesEndWithTwoAndOneErrorLine) {
  const std::vector<std::vector<std::string>> wrong = {{},
                                                       {"chek", "x"},
                                                       {"run"},
                                                       {"run", "x.toml"},
                                                       {"check", "a", "b"},
                                                       {"info", "--nosuch", "x"},
                                                       {"eval", model("pendulum"), "--formulation", "lagrangian"}};
  for (const auto& arguments : wrong) {
    const Ended e = invar(arguments);
    EXPECT_EQ(e.code, 2) << ::testing::PrintToString(arguments);
    EXPECT_EQ(e.err.rfind("error: ", 0), 0u) << e.err;
    EXPECT_TRUE(e.out.empty());
  }
}

TEST(Program, UnknownVerbIsNamedWithASuggestion) {
  EXPECT_EQ(invar({"-q", "chek", "x"}).err, "error: there is no verb 'chek'; did you mean 'check'? (see invar --help)\n");
  EXPECT_EQ(
      invar({"rn"}).err,
      "error: there is no verb 'rn'; there are check, info, eval, equilibrium, modes, stiffness, run, compare, learn, margin, "
      "calibrate, report, view (see invar --help)\n");
  EXPECT_EQ(invar({"run"}).err, "error: scenario is required (see invar run --help)\n");
}

TEST(Check, GoodModelIsFine) {
  const Ended e = invar({"check", model("four_bar")});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_TRUE(has(e.out, "fine (3 bodies, 4 joints)")) << e.out;
  EXPECT_TRUE(invar({"-q", "check", model("four_bar")}).out.empty());
}

// All that a run refuses before its first step.
TEST(Check, TakesScenariosToo) {
  const Ended fine = invar({"check", scenario("pendulum")});
  EXPECT_EQ(fine.code, 0) << fine.err;
  EXPECT_TRUE(has(fine.out, "fine (augmented/rk4, 1e+03 samples of ")) << fine.out;
  const Ended run = invar({"run", model("pendulum"), "-o", "/nowhere"});
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(has(run.err, "this is a model")) << run.err;
}

// However TOML lets it be written.
TEST(Check, KnowsAScenarioByItsKeys) {
  Folder folder;
  const std::string rest = "[integrator]\nmethod = 'rk4'\nstep = 0.01\n[time]\nend = 1\n";
  const std::string names = "'" + model("pendulum") + "'\n";
  for (const std::string& text : {"model = " + names + rest, "\"model\" = " + names + rest, "'model'=" + names + rest,
                                  "\xEF\xBB\xBFmodel = " + names + rest,
                                  "name = \"\"\"\n[a name\nof lines]\"\"\"\nmodel = " + names + rest, rest + "# no model\n"}) {
    write_file(folder / "s.toml", text);
    const Ended e = invar({"check", folder / "s.toml"});
    if (has(text, "no model"))
      EXPECT_TRUE(e.code == 2 && has(e.err, "missing key 'model'")) << text << e.err;
    else
      EXPECT_TRUE(e.code == 0 && has(e.out, "samples of ")) << text << e.err << e.out;
  }
  const std::string body = "[[body]]\nname = 'b'\nmass = 1\ninertia = { xx = 1, yy = 1, zz = 1 }\n";
  for (const std::string& text : {"name = \"\"\"\nmodel = 'x'\"\"\"\n" + body, "# model = 'x'\n" + body}) {
    write_file(folder / "m.toml", text);
    EXPECT_TRUE(has(invar({"check", folder / "m.toml"}).out, "fine (1 body, ")) << text;
  }
}

TEST(Check, SaysWhatARunWillRecordAndWarnsWhereItIsMuch) {
  const json fine = json::parse(invar({"check", "--json", scenario("pendulum")}).out);
  EXPECT_TRUE(fine["ok"].get<bool>());
  EXPECT_EQ(fine["records"]["samples"], 1001);
  const double numbers = fine["records"]["numbers"].get<double>();
  EXPECT_GT(numbers, 10);
  EXPECT_EQ(fine["records"]["hdf5_bytes"], 1001 * 8 * numbers);
  EXPECT_EQ(fine["records"]["log_bytes"], 1001 * (8 * numbers + 16));
  EXPECT_TRUE(fine["warnings"].empty());
  Folder folder;
  write_file(folder / "s.toml",
             "model = '" + model("pendulum") + "'\n[integrator]\nmethod = 'rk4'\nstep = 1e-6\n[time]\nend = 20\n");
  const Ended much = invar({"check", "--json", folder / "s.toml"});
  EXPECT_EQ(much.code, 0);
  const json answer = json::parse(much.out);
  ASSERT_EQ(answer["warnings"].size(), 1u);
  EXPECT_TRUE(has(answer["warnings"][0].get<std::string>(), "the run will record 2e+07 samples of ")) << answer;
  EXPECT_TRUE(has(invar({"check", folder / "s.toml"}).err, "warning: ")) << "in words, too";
}

TEST(Check, NotesAStartThatWasMeantInDegrees) {
  Folder folder;
  std::string text = read_file(model("pendulum"));
  text.replace(text.find("hinge = 0.5"), 11, "hinge = 30 ");
  write_file(folder / "m.toml", text);
  const Ended e = invar({"check", folder / "m.toml"});
  EXPECT_EQ(e.code, 0);
  EXPECT_TRUE(has(e.err, "30 rad, more than a turn")) << e.err;
  EXPECT_TRUE(has(e.out, "fine (1 body, 1 joint)")) << e.out;
}

TEST(Check, MissingFileIsNamed) {
  const Ended e = invar({"check", "no/such/model.toml"});
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "error: no/such/model.toml")) << e.err;
}

TEST(Check, UnknownBodyIsNamedWithLineColumnAndSuggestion) {
  Folder folder;
  std::string text = read_file(model("four_bar"));
  const std::size_t at = text.find("child = \"coupler\"");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 17, "child = \"cupler\"");
  const auto line = std::to_string(1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  write_file(folder / "m.toml", text);
  const Ended e = invar({"check", folder / "m.toml"});
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "m.toml:" + line + ":")) << e.err;
  EXPECT_TRUE(has(e.err, "did you mean 'coupler'")) << e.err;
}

TEST(Check, JsonTellsTheSameToAProgram) {
  EXPECT_TRUE(json::parse(invar({"check", "--json", model("pendulum")}).out)["ok"].get<bool>());
  const Ended e = invar({"check", "--json", "nowhere.toml"});
  EXPECT_EQ(e.code, 2);
  const json answer = json::parse(e.out);
  EXPECT_FALSE(answer["ok"].get<bool>());
  EXPECT_FALSE(answer["error"]["what"].get<std::string>().empty());
}

TEST(Check, DirectoryOrEmptyFileOrBinaryNoiseIsRefused) {
  Folder folder;
  write_file(folder / "empty.toml", "");
  write_file(folder / "noise.toml", std::string("\x00\xff\xfe\x01[[[", 7));
  for (const std::string& path : {folder.path(), folder / "empty.toml", folder / "noise.toml"}) {
    const Ended e = invar({"check", path});
    EXPECT_EQ(e.code, 2) << path << e.out;
    EXPECT_EQ(e.err.rfind("error: ", 0), 0u) << e.err;
  }
}

// Four-bar: three hinges of five rows and a ball of three on three bodies; planar, so the ball's row along y is the one row too
// many.
TEST(Info, CountsRowsRankAndMobilityOfTheFourBar) {
  const Ended e = invar({"info", "--json", model("four_bar")});
  ASSERT_EQ(e.code, 0) << e.err;
  const json m = json::parse(e.out);
  EXPECT_EQ(m["rows"], 18);
  EXPECT_EQ(m["rank"], 17);
  EXPECT_EQ(m["redundant"], 1);
  EXPECT_EQ(m["mobility"], 1);
  EXPECT_EQ(m["loops"], 1);
  EXPECT_EQ(m["bodies"].size(), 3u);
}

TEST(Info, TableNamesEveryJoint) {
  const Ended e = invar({"info", model("four_bar")});
  EXPECT_EQ(e.code, 0);
  for (const char* word : {"j1", "j2", "j3", "closure", "revolute", "mobility   1"}) EXPECT_TRUE(has(e.out, word)) << e.out;
}

// A ring of seven hinges closed by a ball: 7 - 3 = 4 freedoms, nothing redundant. The door's second hinge adds five rows to a
// mechanism that needs none of them.
TEST(Info, KnowsTheMobilityOfRingAndDoor) {
  EXPECT_EQ(json::parse(invar({"info", "--json", model("ring7")}).out)["mobility"], 4);
  const json door = json::parse(invar({"info", "--json", model("door")}).out);
  EXPECT_EQ(door["mobility"], 1);
  EXPECT_EQ(door["redundant"], 5);
}

// A solid cylinder of 1 kg along x, radius 0.1 m, 1 m long: m r²/2 about its axis, m (3 r² + l²)/12 across.
TEST(Info, GivesPrincipalMomentsOfInertia) {
  const json chain = json::parse(invar({"info", "--json", model("paper_a_chain")}).out);
  const json I = chain["bodies"][0]["principal_moments"];
  EXPECT_NEAR(I[0].get<double>(), 0.005, 1e-15);
  EXPECT_NEAR(I[1].get<double>(), 0.0858333333333333, 1e-15);
  EXPECT_NEAR(I[2].get<double>(), 0.0858333333333333, 1e-15);
  const Ended e = invar({"info", model("paper_a_chain")});
  EXPECT_TRUE(has(e.out, "principal moments") && has(e.out, "0.005, 0.0858333, 0.0858333")) << e.out;
}

TEST(Info, SaysWhatReliesOnExactDimensions) {
  const json bricard = json::parse(invar({"info", "--json", model("bricard")}).out);
  EXPECT_TRUE(bricard["relies_on_exact_dimensions"].get<bool>());
  EXPECT_EQ(bricard["generic_mobility"], 0);
  EXPECT_EQ(bricard["exact_joints"].size(), 6u);
  EXPECT_TRUE(has(invar({"info", model("bricard")}).out, "mobility 1 relies on exact dimensions"));
  EXPECT_TRUE(has(invar({"check", model("bricard")}).err, "relies on exact dimensions"));
  EXPECT_FALSE(json::parse(invar({"info", "--json", model("table")}).out)["relies_on_exact_dimensions"].get<bool>());
  EXPECT_TRUE(invar({"check", model("table")}).err.empty());
}

TEST(Info, SaysWhetherAMechanismMovesInAPlaneAndWhyNot) {
  EXPECT_TRUE(json::parse(invar({"info", "--json", model("four_bar")}).out)["planar"].get<bool>());
  const json stewart = json::parse(invar({"info", "--json", model("stewart")}).out);
  EXPECT_FALSE(stewart["planar"].get<bool>());
  EXPECT_TRUE(has(stewart["not_planar_because"].get<std::string>(), "joint '"));
  EXPECT_TRUE(has(invar({"info", model("four_bar")}).out, "moves in a plane"));
}

}  // namespace invar::testing
