// SPDX-License-Identifier: Apache-2.0
// The cases of tests/edges as a user meets them: exit code, words, result.json.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

using nlohmann::json;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string edge(const std::string& name) { return source_path("tests/edges/cases/") + name; }

json result_in(const Folder& folder) { return json::parse(read_file(folder / "out/result.json")); }

// A slider against a stop of 1e9 N/m in steps of a millisecond: whatever the scenario states, and to whoever asked for quiet.
TEST(Unresolved, RunEndsWithZeroAndOneSentence) {
  for (const char* quiet : {"-q", "-v"}) {
    Folder folder;
    const Ended e = invar({quiet, "run", edge("s_stop.toml"), "-o", folder / "out"});
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_TRUE(has(e.err, "warning: ") && has(e.err, "the run is not resolved: ") && has(e.err, "the stop of joint 's'"))
        << e.err;
    EXPECT_EQ(result_in(folder)["status"], "unresolved");
    EXPECT_TRUE(has(e.err, result_in(folder)["unresolved"].get<std::string>())) << e.err;
    EXPECT_EQ(has(e.out, "unresolved in "), quiet == std::string("-v")) << e.out;
  }
}

// Bodies some 1000 km apart: loops are closed relative to them, and what the state names is taken. Of the rates those give way
// that a loop holds, and it is said.
TEST(LargeUnits, AreEvaluatedAndCloseTheirLoops) {
  const Ended e = invar({"eval", edge("units_1e6_model.toml"), "--state", edge("units_1e6_state.json")});
  ASSERT_EQ(e.code, 0) << e.err;
  const json out = json::parse(e.out);
  // Positions of 1e6 m are known to 1e-10 m, and closing a loop adds some hundred of them.
  EXPECT_NEAR(out["joints"]["j0"]["q"][0].get<double>(), -161643.72914252302, 1e-6);
  EXPECT_NEAR(out["joints"]["j2"]["q"][0].get<double>(), -0.8167848814940406, 1e-12);
  EXPECT_NEAR(out["joints"]["j3"]["q"][0].get<double>(), -1.139177969460872, 1e-12);
  EXPECT_LT(out["residual"]["position"].get<double>(), 1e-6);
  EXPECT_TRUE(has(e.err, "joint 'j3' starts with v = 0, not 0.00171145 as named")) << e.err;
}

// A four-bar of a kilometre beside one of a millimetre, which does not touch it: every row counts.
TEST(TwoScales, RunAsEachAlone) {
  Folder folder;
  const Ended e = invar({"run", edge("run_two_aug.toml"), "-o", folder / "out"});
  ASSERT_EQ(e.code, 0) << e.err;
  const json r = result_in(folder);
  EXPECT_EQ(r["status"], "ok") << r["unresolved"];
  EXPECT_EQ(r["metrics"]["time"], 0.01);
  EXPECT_EQ(r["metrics"]["rank_changes"], 0);
  EXPECT_EQ(r["metrics"]["freedoms"], 2);
}

// What is not connected does not influence each other, whatever evaluates it: the small one accelerates as it does alone, a
// million times as fast as the large one, which is a million times as long.
TEST(TwoScales, AreEvaluatedAsEachAlone) {
  for (const char* formulation : {"augmented", "minimal", "natural"}) {
    const Ended e = invar({"eval", edge("two_four_bars_1km_1mm.toml"), "--formulation", formulation});
    ASSERT_EQ(e.code, 0) << formulation << e.err;
    const json out = json::parse(e.out);
    const double small = out["joints"]["a2"]["vdot"][0], large = out["joints"]["a1"]["vdot"][0];
    EXPECT_NEAR(small, 13270.68634692, 1e-7) << formulation;
    EXPECT_NEAR(small / large, 1e6, 1e-4) << formulation;
  }
}

// A disc on a ball and on a table: six rows of rank five, whichever are kept.
TEST(RedundantRows, RunWithoutAWordInEveryFormulation) {
  for (const char* formulation : {"augmented", "minimal", "natural"}) {
    Folder folder;
    const Ended e = invar({"run", edge(std::string("minimal_redundant_rows_") + formulation + ".toml"), "-o", folder / "out"});
    ASSERT_EQ(e.code, 0) << formulation << e.err;
    EXPECT_FALSE(has(e.err, "singular")) << formulation << e.err;
    const json r = result_in(folder);
    EXPECT_EQ(r["status"], "ok") << formulation << r["unresolved"];
    EXPECT_EQ(r["metrics"]["time"], 4) << formulation;
    EXPECT_EQ(r["metrics"]["rank_changes"], 0) << formulation;
    EXPECT_EQ(r["metrics"]["freedoms"], 1) << formulation;
  }
}

}  // namespace
}  // namespace invar::testing
