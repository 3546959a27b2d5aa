// SPDX-License-Identifier: Apache-2.0
#include "invar/run/compare.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "support/folder.hpp"

namespace invar::testing {
namespace {

using nlohmann::json;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

json way(const json& result, const std::string& name) {
  for (const json& w : result["ways"])
    if (w["way"] == name) return w;
  ADD_FAILURE() << "no way '" << name << "' in " << result.dump(2);
  return {};
}

TEST(Compare, WaysOfOneMotionAgreeWithinTheErrorsThatTheyShow) {
  for (const char* name : {"pendulum", "four_bar"}) {
    const Ended e = invar({"compare", scenario(name), "--json"});
    EXPECT_EQ(e.code, 0) << e.out << e.err;
    const json result = json::parse(e.out);
    EXPECT_EQ(result["reference"], "augmented/rk4");
    EXPECT_TRUE(result["within"].get<bool>());
    const json dopri5 = way(result, "augmented/dopri5");
    EXPECT_EQ(dopri5["verdict"], "within");
    EXPECT_GT(dopri5["instants"].get<int>(), 100);
    EXPECT_GT(dopri5["largest"]["position"].get<double>(), 0);
    EXPECT_LE(dopri5["largest"]["position"].get<double>(), dopri5["bound"]["position"].get<double>());
    EXPECT_EQ(dopri5["over_time"]["time"].size(), dopri5["over_time"]["energy"].size());
    EXPECT_EQ(dopri5["over_time"]["position"][0], 0);
  }
}

/// Every mechanism of closed chains that ships with a comparison of its three views.
class Mechanisms : public ::testing::TestWithParam<const char*> {};

TEST_P(Mechanisms, MoveAlikeInAllThreeViews) {
  const Ended e = invar({"compare", scenario(GetParam()), "--json", "--only", "rk4", "--only", "conserving"});
  ASSERT_EQ(e.code, 0) << e.out << e.err;
  const json result = json::parse(e.out);
  EXPECT_EQ(result["reference"], "minimal/rk4");
  for (const char* name : {"augmented/rk4", "natural/rk4", "natural/conserving", "natural/conserving/suzuki"}) {
    const json w = way(result, name);
    EXPECT_EQ(w["verdict"], "within") << name;
    EXPECT_GE(w["instants"].get<int>(), 100) << name;
    EXPECT_GT(w["largest"]["velocity"].get<double>(), 0) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Closed, Mechanisms,
                         ::testing::Values("four_bar_minimal", "slider_crank", "stewart_minimal", "six_bar", "hydraulic_crane",
                                           "series_parallel"),
                         [](const auto& each) { return std::string(each.param); });

// Stretches between events are divided into whole steps, and those into halves: 24 and 48, not 24 and 47.
TEST(Compare, EventsOffTheGridOfStepsBlameNobody) {
  Folder folder;
  write_file(folder / "s.toml", "format = 1\nmodel = '" + model("pendulum") +
                                    "'\n[integrator]\nmethod = 'dopri5'\ntolerance = 1e-10\n[time]\nend = 0.3\n"
                                    "[[effort]]\njoint = 'hinge'\nsignal = { kind = 'pulse', from = 0.03, to = 0.0533 }\n"
                                    "[[effort]]\njoint = 'hinge'\nsignal = { kind = 'step', at = 0.1 }\n");
  const Ended e = invar({"compare", folder / "s.toml", "--step", "0.001"});
  EXPECT_EQ(e.code, 0) << e.out << e.err;
}

TEST(Compare, ABoundThatIsExceededIsExitCodeOneAndNamesWhatAndWhen) {
  const Ended e = invar({"compare", scenario("pendulum"), "--bound", "1e-6"});
  EXPECT_EQ(e.code, 1) << e.out;
  EXPECT_TRUE(has(e.out, " exceeds ") && has(e.out, " at t = ")) << e.out;
  const Ended wide = invar({"compare", scenario("pendulum"), "--bound", "1"});
  EXPECT_EQ(wide.code, 0) << wide.out;
}

// The difference over its bound is the ratio, and it is the one of the series at its time. Errors of long steps grow, and bounds
// with them: the largest difference is not the worst one.
TEST(Compare, TheWorstDifferenceComesWithItsOwnBoundAndTime) {
  const Ended e = invar({"compare", scenario("pendulum"), "--step", "0.1", "--json"});
  const json result = json::parse(e.out);
  int seen = 0;
  for (const json& w : result["ways"]) {
    if (!w.contains("worst") || w["of_bound"].get<double>() == 0) continue;
    const json& worst = w["worst"];
    const std::string quantity = worst["quantity"];
    const double difference = worst["difference"], bound = worst["bound"];
    EXPECT_NEAR(difference / bound, w["of_bound"].get<double>(), 1e-12 * w["of_bound"].get<double>()) << w["way"];
    const json& times = w["over_time"]["time"];
    for (std::size_t k = 0; k < times.size(); ++k) {
      if (times[k] != worst["at"]) continue;
      ++seen;
      EXPECT_EQ(w["over_time"][quantity][k], difference) << w["way"];
    }
  }
  EXPECT_GT(seen, 3);
}

TEST(Compare, RefusesAStepOrABoundThatIsNotPositiveInPlainWords) {
  for (const char* option : {"--step", "--bound"})
    for (const char* text : {"-1", "0", "nan", "inf", "fast", "1e-3s"}) {
      const Ended e = invar({"compare", scenario("pendulum"), std::string(option) + "=" + text});
      EXPECT_EQ(e.code, 2) << text;
      EXPECT_TRUE(has(e.err, std::string(option) + ": '" + text + "' was given, a positive number is wanted")) << e.err;
    }
}

TEST(Compare, OnlyAndReferenceChooseByName) {
  const Ended e = invar({"compare", scenario("pendulum"), "--only", "rk4", "--reference", "augmented/dopri5", "--json"});
  EXPECT_EQ(e.code, 0) << e.err;
  const json result = json::parse(e.out);
  EXPECT_EQ(result["reference"], "augmented/dopri5");
  for (const json& w : result["ways"])
    EXPECT_TRUE(has(w["way"].get<std::string>(), "rk4") || w["way"] == "augmented/dopri5") << w["way"];
}

TEST(Compare, AnUnknownReferenceIsBadInputWithASuggestion) {
  const Ended e = invar({"compare", scenario("pendulum"), "--reference", "augmented/rk"});
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "did you mean 'augmented/rk4'")) << e.err;
  EXPECT_EQ(invar({"compare", scenario("pendulum"), "--only", "nothing_like_it"}).code, 2);
  EXPECT_EQ(invar({"compare", "no_such_file.toml"}).code, 2);
  EXPECT_EQ(invar({"compare", scenario("pendulum"), "--step", "-1"}).code, 2);
}

TEST(Compare, HelpHasAnExample) { EXPECT_TRUE(has(invar({"compare", "--help"}).out, "Example: invar compare ")); }

/// Pushes in every run but the first two, which are those of the reference: time going back tells a new run.
class Fickle final : public Environment {
 public:
  void add(Instant at, const Bodies&, Load& load) const override {
    if (at.t < last_ - 0.5) ++runs_;
    last_ = at.t;
    if (runs_ >= 2) load.port[0].force += Vec3(0, 0, 1e-3);
  }

 private:
  mutable double last_ = 0;
  mutable int runs_ = 0;
};

TEST(Compare, SeesAForceThatOnlySomeWaysFeel) {
  ModelSpec spec;
  BodySpec body;
  body.name = "rod", body.inertia = solid_box(1, {1, 0.1, 0.1}), body.inertia.p_BC = {0.5, 0, 0};
  JointSpec joint;
  joint.name = "pin", joint.kind = JointKind::Revolute, joint.child = "rod", joint.axis = Vec3::UnitY();
  spec.bodies.push_back(body), spec.joints.push_back(joint);
  Scenario s;
  s.model = std::make_shared<const Model>(*Model::build(spec));
  s.start = Start(*s.model);
  s.method.step = 1e-3;
  CompareOptions options;
  options.only = {"dopri5"};
  const auto same = compare(s, options);
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_TRUE(same->within());
  s.environments.push_back(std::make_shared<Fickle>());
  const auto differs = compare(s, options);
  ASSERT_TRUE(differs) << differs.error().text();
  EXPECT_FALSE(differs->within());
}

}  // namespace
// Compare runs the scenario in other ways; what its page shows is no concern of theirs.
TEST(Compare, TakesScenariosWithFigures) {
  Folder folder;
  write_file(folder / "s.toml", "model = '" + model("pendulum") +
                                    "'\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n[time]\nend = 0.1\n"
                                    "[[convergence]]\nname = 'c'\nsteps = [0.01]\nmetric = 'steps'\n"
                                    "[[figure]]\nname = 'f'\n[[figure.panel]]\ncurves = [{ of = 'momentum/linear' }]\n");
  const Ended e = invar({"compare", folder / "s.toml", "--only", "minimal/rk4"});
  EXPECT_EQ(e.code, 0) << e.err << e.out;
}

}  // namespace invar::testing
