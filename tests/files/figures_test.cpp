// SPDX-License-Identifier: Apache-2.0
//
// Figures of scenario files: read, refused, and drawn from what was recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "invar/io/result_json.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/report/page.hpp"
#include "invar/report/scene.hpp"
#include "invar/run/run.hpp"
#include "support/folder.hpp"
#include "support/places.hpp"
#include "support/recorded.hpp"
#include "support/unpacked.hpp"

namespace invar::testing {
namespace {

using Json = nlohmann::json;

std::string with(const std::string& more, const std::string& integrator = "method = 'rk4'\nstep = 0.01\n") {
  return "model = 'four_bar.toml'\n[integrator]\n" + integrator + "[time]\nend = 0.5\n" + more;
}

Result<Scenario> parsed(const std::string& text) { return parse_scenario(text, source_path("models/none.toml")); }

const char* const kCurve = "[[figure]]\nname = 'f'\n[[figure.panel]]\n";

TEST(FigureFile, ReadsEveryKey) {
  const auto s = parsed(with(R"(
[[convergence]]
name = "s"
steps = [0.02, 0.01]
metric = "joint_gap"
[[figure]]
name = "one"
caption = "two"
[[figure.panel]]
title = "three"
y = "four"
log = true
curves = [{ of = ["energy/total", "energy/work"], factors = [1, -2], minus = "energy/dissipated", value = "square", offset = 3, label = "l", dashed = true }]
[[figure.panel]]
convergence = "s"
[figure.table]
columns = ["a", "b"]
rows = [{ label = "r", metrics = ["steps", "time"] }, { values = [1, 2] }]
[figure.trace]
poses = 4
bodies = ["crank"]
from = [0, 0, 1]
)"));
  ASSERT_TRUE(s) << s.error().text();
  ASSERT_EQ(s->convergence.size(), 1u);
  EXPECT_EQ(s->convergence[0].steps, (std::vector<double>{0.02, 0.01}));
  ASSERT_EQ(s->figures.size(), 1u);
  const FigureSpec& f = s->figures[0];
  EXPECT_EQ(f.name + f.caption + f.panels[0].title + f.panels[0].y, "onetwothreefour");
  EXPECT_TRUE(f.panels[0].log);
  const CurveSpec& c = f.panels[0].curves.at(0);
  ASSERT_EQ(c.terms.size(), 3u);
  EXPECT_EQ(c.terms[1].factor, -2);
  EXPECT_EQ(c.terms[2].path, "energy/dissipated");
  EXPECT_EQ(c.terms[2].factor, -1);
  EXPECT_TRUE(c.value == CurveSpec::Value::Square && c.offset == 3 && c.label == "l" && c.dashed);
  EXPECT_EQ(f.panels[1].convergence, "s");
  EXPECT_EQ(f.table->rows[1].values[1], 2);
  EXPECT_TRUE(f.trace->poses == 4 && f.trace->from->z() == 1);
  const auto outcome = judged_run(*s);
  EXPECT_TRUE(outcome) << outcome.error().text();
}

TEST(FigureFile, RefusesWhatCannotBeDrawnAndSaysWhere) {
  const std::map<std::string, std::string> wrong = {
      {"[[figure]]\nname = 'f'\n", "a figure has"},
      {"[[figure]]\ncaption = 'f'\n[figure.trace]\n", "'name' is missing"},
      {std::string(kCurve) + "y = 'y'\n", "either 'curves' or a 'convergence'"},
      {std::string(kCurve) + "curves = [{ of = 'time' }]\nconvergence = 's'\n", "either 'curves' or a 'convergence'"},
      {std::string(kCurve) + "curves = [{ label = 'time' }]\n", "'of' names the channel"},
      {std::string(kCurve) + "curves = [{ of = 'time', factors = [1, 2] }]\n", "2 factors for 1 channels"},
      {std::string(kCurve) + "curves = [{ of = 'time', value = 'cube' }]\n", "cube"},
      {std::string(kCurve) + "curves = [{ off = 'time' }]\n", "'of'"},
      {"[[figure]]\nname = 'f'\n[figure.table]\ncolumns = ['a']\nrows = [{ values = [1, 2] }]\n", "one for each of 1 columns"},
      {"[[figure]]\nname = 'f'\n[figure.trace]\nposes = 0\n", "1 to 200 poses"},
      {"[[figure]]\nname = 'f'\n[figure.trace]\nfrom = [0, 0, 0]\n", "a direction"},
      {"[[convergence]]\nname = 's'\nmetric = 'steps'\n", "needs the 'steps'"},
      {"[[convergence]]\nname = 's'\nsteps = [-1]\nmetric = 'steps'\n", "step"},
  };
  for (const auto& [text, words] : wrong) {
    const auto s = parsed(with(text));
    ASSERT_FALSE(s) << text;
    EXPECT_NE(s.error().text().find(words), std::string::npos) << text << s.error().text();
    EXPECT_NE(s.error().text().find("none.toml:"), std::string::npos) << s.error().text();
  }
  const auto s = parsed(with("[[convergence]]\nname = 's'\nsteps = [0.1]\nmetric = 'steps'\n", "method = 'dopri5'\n"));
  ASSERT_FALSE(s);
  EXPECT_NE(s.error().text().find("adaptive"), std::string::npos) << s.error().text();
}

TEST(FigureRun, RefusesWhatTheRunWillNotHaveBeforeItBegins) {
  const std::map<std::string, std::string> wrong = {
      {std::string(kCurve) + "curves = [{ of = 'energy/totall' }]\n", "did you mean 'energy/total'"},
      {std::string(kCurve) + "curves = [{ of = ['energy/total', 'momentum/linear'] }]\n", "cannot be added"},
      {std::string(kCurve) + "convergence = 's'\n", "no convergence 's'"},
      {"[[figure]]\nname = 'f'\n[figure.table]\ncolumns = ['a']\nrows = [{ metrics = ['step'] }]\n", "did you mean 'steps'"},
      {"[[figure]]\nname = 'f'\n[figure.trace]\nbodies = ['nobody']\n", "'nobody'"},
      {"[[convergence]]\nname = 's'\nsteps = [0.1]\nmetric = 'joint_gape'\n", "did you mean 'joint_gap'"},
  };
  for (const auto& [text, words] : wrong) {
    const auto s = parsed(with(text));
    ASSERT_TRUE(s) << s.error().text();
    const auto outcome = run(*s);
    ASSERT_FALSE(outcome) << text;
    EXPECT_NE(outcome.error().text().find(words), std::string::npos) << outcome.error().text();
    EXPECT_NE(outcome.error().text().find("none.toml:7:"), std::string::npos)
        << "the line of its table: " << outcome.error().text();
    const auto before = check(*s);
    ASSERT_FALSE(before);
    EXPECT_EQ(before.error().text(), outcome.error().text());
  }
  const auto s = parsed(with(std::string(kCurve) + "curves = [{ of = 'time' }]\n"));
  EXPECT_TRUE(check(*s)) << check(*s).error().text();
}

// A stop during the convergence: the run is whole, what is missing has no number, and it is said.
TEST(Convergence, OfARunThatIsStoppedIsSaidToBeInterrupted) {
  const auto s = parsed(with("[[convergence]]\nname = 's'\nsteps = [0.02, 0.01]\nmetric = 'steps'\n"));
  ASSERT_TRUE(s) << s.error().text();
  // Stopped by the last sample of the run itself.
  class StopAtTheEnd final : public Sink {
   public:
    Result<void> begin(const Layout&) override { return {}; }
    Result<void> sample(std::span<const double> row) override {
      if (row[0] >= 0.5) stop = true;
      return {};
    }
    Result<void> end() override { return ended = true, Result<void>(); }
    std::atomic<bool> stop{false};
    bool ended = false;
  } sink;
  RunOptions options;
  options.sink = &sink, options.stop = &sink.stop;
  const auto outcome = run(*s, options);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->end, Outcome::End::Interrupted);
  ASSERT_EQ(outcome->convergence.size(), 1u);
  for (const double value : outcome->convergence[0].values) EXPECT_TRUE(std::isnan(value));
  EXPECT_TRUE(sink.ended);
  ASSERT_FALSE(outcome->notes.empty());
  EXPECT_NE(outcome->notes.back().find("convergence"), std::string::npos);
}

// A step that cannot be run costs its series, not the run: a program may ask for what a file may not.
TEST(Convergence, ThatCannotBeMadeIsNotedAndTheRunKept) {
  auto s =
      parsed(with("[[convergence]]\nname = 's'\nsteps = [0.05]\nmetric = 'steps'\n"
                  "[[convergence]]\nname = 'r'\nsteps = [0.05]\nmetric = 'steps'\n"));
  ASSERT_TRUE(s) << s.error().text();
  s->convergence[0].steps = {0.05, 1e-30};
  const auto outcome = judged_run(*s);
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(outcome->end, Outcome::End::Finished);
  ASSERT_EQ(outcome->convergence.size(), 2u);
  ASSERT_EQ(outcome->convergence[0].values.size(), 2u);
  EXPECT_TRUE(std::isnan(outcome->convergence[0].values[1]));
  EXPECT_EQ(outcome->convergence[1].values.at(0), 10);
  const std::string& note = outcome->notes.back();
  EXPECT_NE(note.find("convergence 's' was not made: "), std::string::npos) << note;
  EXPECT_EQ(Json::parse(result_json(*s, *outcome))["status"], "ok");
}

TEST(Convergence, KeepsTheMetricOfTheRunWithThatStep) {
  const auto s = parsed(with("[[convergence]]\nname = 's'\nsteps = [0.05, 0.02]\nmetric = 'power_balance_mean'\n"));
  ASSERT_TRUE(s) << s.error().text();
  const auto outcome = judged_run(*s);
  ASSERT_TRUE(outcome);
  ASSERT_EQ(outcome->convergence.size(), 1u);
  EXPECT_EQ(outcome->convergence[0].unit, "J");
  const Json result = Json::parse(result_json(*s, *outcome));
  for (std::size_t k = 0; k < 2; ++k) {
    Scenario alone = *s;
    alone.convergence.clear();
    alone.method.step = s->convergence[0].steps[k];
    const auto once = judged_run(alone);
    ASSERT_TRUE(once);
    for (const Metric& m : once->metrics)
      if (m.name == "power_balance_mean") {
        EXPECT_GT(m.value, 0);
        EXPECT_EQ(outcome->convergence[0].values.at(k), m.value);
        EXPECT_EQ(result.at("convergence")[0].at("values")[k].get<double>(), m.value);
      }
  }
}

/// A run with its log, page and rows.
struct Recorded {
  Folder folder;
  Json page;
  std::vector<std::string> paths;
  std::vector<std::vector<double>> rows;

  void make(const Scenario& s) {
    LogWriter log(folder / "run.log", scene_json(s));
    RunOptions options;
    options.sink = &log;
    const auto outcome = run(s, options);
    ASSERT_TRUE(outcome) << outcome.error().text();
    write_file(folder / "result.json", result_json(s, *outcome));
    const auto data = page_data({folder.path()});
    ASSERT_TRUE(data) << data.error().text();
    page = Json::parse(*data).at("runs").at(0);
    auto reader = LogReader::open(folder / "run.log");
    ASSERT_TRUE(reader);
    for (const Channel& c : reader->layout().channels) paths.insert(paths.end(), static_cast<std::size_t>(c.size), c.path);
    std::vector<double> row(paths.size());
    while (reader->next(row)) rows.push_back(row);
  }
  std::size_t column(const std::string& path) const {
    const auto at = std::find(paths.begin(), paths.end(), path);
    EXPECT_NE(at, paths.end()) << path;
    return static_cast<std::size_t>(at - paths.begin());
  }
};

TEST(FigurePage, DrawsWhatWasRecorded) {
  const auto s = parsed(with(std::string(kCurve) + R"(
curves = [
  { of = ["bodies/crank/p", "bodies/coupler/p"], factors = [2, -1], offset = 0.5 },
  { of = "bodies/crank/p", minus = "bodies/coupler/p", value = "length" },
  { of = "bodies/coupler/p", value = "square", offset = -1, dashed = true, label = "s" },
  { of = "energy/kinetic", value = "change" },
]
[[figure.panel]]
convergence = "s"
[figure.table]
columns = ["steps", "printed"]
rows = [{ label = "here", metrics = ["steps", "energy_start"] }, { values = [7, 8] }]
[figure.trace]
[[convergence]]
name = "s"
steps = [0.05, 0.02]
metric = "joint_gap"
)"));
  ASSERT_TRUE(s) << s.error().text();
  Recorded r;
  r.make(*s);
  const Json& figure = r.page.at("figures").at(0);
  const Json& curves = figure.at("panels")[0].at("curves");
  ASSERT_EQ(curves.size(), 6u) << "three components, and one of each other";
  const std::size_t a = r.column("bodies/crank/p"), b = r.column("bodies/coupler/p"), k = r.column("energy/kinetic");
  double moved = 0;
  for (std::size_t c = 0; c < 6; ++c) {
    const auto x = unpacked(curves[c].at("x")), y = unpacked(curves[c].at("y"));
    ASSERT_EQ(x.size(), r.rows.size());
    ASSERT_EQ(y.size(), r.rows.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::vector<double>& row = r.rows[i];
      EXPECT_EQ(x[i], row[0]);
      const Vec3 p(row[a], row[a + 1], row[a + 2]), q(row[b], row[b + 1], row[b + 2]);
      const double expected[] = {2 * p.x() - q.x() + 0.5, 2 * p.y() - q.y() + 0.5, 2 * p.z() - q.z() + 0.5,
                                 (p - q).norm(),          q.squaredNorm() - 1,     row[k] - r.rows[0][k]};
      EXPECT_NEAR(y[i], expected[c], 1e-14 * (1 + std::abs(expected[c])));
      moved = std::max(moved, std::abs(expected[c] - y[0]));
    }
  }
  EXPECT_GT(moved, 0.01) << "otherwise nothing was compared";
  EXPECT_EQ(curves[1].at("label"), "y");
  EXPECT_EQ(curves[4].at("label"), "s");
  EXPECT_TRUE(curves[4].at("dashed").get<bool>());
  const Json& series = figure.at("panels")[1];
  EXPECT_TRUE(series.at("log_x").get<bool>() && series.at("log_y").get<bool>() && !series.at("time").get<bool>());
  EXPECT_EQ(unpacked(series.at("curves")[0].at("x")), s->convergence[0].steps);
  EXPECT_EQ(figure.at("table").at("rows")[0].at("cells")[0], "50");
  EXPECT_EQ(figure.at("table").at("rows")[1].at("cells")[1], "8");
  EXPECT_EQ(figure.at("image").at("png").get<std::string>().rfind("data:image/png;base64,iVBOR", 0), 0u);
}

// A result.json that somebody else wrote, or that was cut, costs what it would have shown and nothing else.
TEST(FigurePage, StandsWithoutAResultThatCanBeRead) {
  const auto s = parsed(with(R"(
[[convergence]]
name = "s"
steps = [0.05, 0.02]
metric = "joint_gap"
[[figure]]
name = "f"
[[figure.panel]]
convergence = "s"
[figure.table]
columns = ["a"]
rows = [{ metrics = ["steps"] }]
)"));
  ASSERT_TRUE(s) << s.error().text();
  Recorded r;
  r.make(*s);
  const std::pair<std::string, bool> texts[] = {
      {"", true},
      {"{\"status\": ", true},
      {"[1]", true},
      {std::string(100000, '[') + std::string(100000, ']'), true},
      {"{\"a\": " + std::string(100000, '[') + std::string(100000, ']') + "}", true},
      {R"({"metrics": 5, "units": {"steps": 5}, "convergence": [5, {"name": "s"}, {"name": "s", "steps": ["x"], "values": 3}]})",
       false},
      {R"({"metrics": {"steps": "many"}, "convergence": {"name": "s"}})", false},
  };
  for (const auto& [text, told] : texts) {
    write_file(r.folder / "result.json", text);
    const auto data = page_data({r.folder.path()});
    ASSERT_TRUE(data) << data.error().text();
    const Json run = Json::parse(*data).at("runs").at(0);
    EXPECT_EQ(run.at("trouble").size(), told ? 1u : 0u) << text.substr(0, 80);
    EXPECT_EQ(run.at("figures").at(0).at("table").at("rows")[0].at("cells")[0], "–");
  }
}

// Curves of a long run are thinned like channels: their extremes stay.
TEST(FigurePage, KeepsTheExtremesOfThinnedCurves) {
  auto s = parsed(with(std::string(kCurve) + "curves = [{ of = 'bodies/coupler/p', value = 'square', offset = -1 }]\n"));
  ASSERT_TRUE(s) << s.error().text();
  s->method.step = 1e-4;
  Recorded r;
  r.make(*s);
  const Json& curve = r.page.at("figures")[0].at("panels")[0].at("curves")[0];
  const auto y = unpacked(curve.at("y"));
  ASSERT_LT(y.size(), r.rows.size() / 2);
  const std::size_t b = r.column("bodies/coupler/p");
  double low = 1e300, high = -1e300;
  for (const auto& row : r.rows) {
    const double value = Vec3(row[b], row[b + 1], row[b + 2]).squaredNorm() - 1;
    low = std::min(low, value), high = std::max(high, value);
  }
  EXPECT_EQ(*std::min_element(y.begin(), y.end()), low);
  EXPECT_EQ(*std::max_element(y.begin(), y.end()), high);
}

// Every joint tells how far it is from being closed; the largest is what the whole mechanism tells.
TEST(RecordedRun, ResidualsOfJointsAreBehindTheLargest) {
  auto s = parsed(with("", "method = 'rk4'\nstep = 0.02\nproject = false\n"));
  ASSERT_TRUE(s) << s.error().text();
  Recorded r;
  r.make(*s);
  const std::size_t all = r.column("residual/position");
  double seen = 0;
  for (const auto& row : r.rows) {
    double largest = 0;
    for (const Joint& j : s->model->joints()) largest = std::max(largest, row[r.column("joints/" + j.name + "/residual")]);
    EXPECT_EQ(row[all], largest);
    seen = std::max(seen, largest);
  }
  EXPECT_GT(seen, 1e-9) << "the gap opens without projection";
}

// Forces on bodies are those of the disturbances; where nothing can act there are none.
TEST(RecordedRun, LoadsAreWhatActsFromOutside) {
  auto s =
      parsed(with("[[disturbance]]\nbody = 'coupler'\nforce = [1, 2, 3]\nmoment = [4, 5, 6]\n"
                  "signal = { kind = 'pulse', from = 0.1, to = 0.2 }\n"));
  ASSERT_TRUE(s) << s.error().text();
  Recorded r;
  r.make(*s);
  const std::size_t f = r.column("bodies/coupler/force"), m = r.column("bodies/coupler/moment"),
                    other = r.column("bodies/crank/force");
  for (const auto& row : r.rows) {
    const double on = row[0] >= 0.1 && row[0] < 0.2 ? 1 : 0;
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(row[f + k], on * static_cast<double>(k + 1)) << row[0];
      EXPECT_EQ(row[m + k], on * static_cast<double>(k + 4)) << row[0];
      EXPECT_EQ(row[other + k], 0);
    }
  }
  s->environments.clear();
  Recorded quiet;
  quiet.make(*s);
  EXPECT_EQ(std::find(quiet.paths.begin(), quiet.paths.end(), "bodies/coupler/force"), quiet.paths.end());
}

// References, errors and the places that they speak of agree with each other.
TEST(RecordedRun, ErrorsAreDistancesFromReferences) {
  auto s = read_scenario_file(source_path("scenarios/paper_a_closed_loop.toml"));
  ASSERT_TRUE(s) << s.error().text();
  s->end_time = 0.5;
  Recorded r;
  r.make(*s);
  const std::size_t p = r.column("bodies/body5/p"), wanted = r.column("control/arm/reference_body5_p");
  const std::size_t error = r.column("control/arm/error_body5.position");
  double largest = 0;
  for (const auto& row : r.rows) {
    const double distance = std::hypot(row[p] - row[wanted], row[p + 1] - row[wanted + 1], row[p + 2] - row[wanted + 2]);
    EXPECT_NEAR(row[error], distance, 1e-12);
    largest = std::max(largest, distance);
  }
  EXPECT_GT(largest, 1e-3);
  const Json& tasks = r.page.at("scene").at("tasks");
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].at("path"), "control/arm/reference_body5");
  EXPECT_EQ(r.page.at("scene").at("bodies").at(tasks[0].at("body").get<std::size_t>()).at("name"), "body5");
  // References are drawn with the poses, so they share their times.
  int references = 0;
  for (const Json& c : r.page.at("channels"))
    if (c.at("path").get<std::string>().find("reference_body5_") != std::string::npos) {
      EXPECT_EQ(c.at("time"), 0);
      ++references;
    }
  EXPECT_EQ(references, 2);
}

TEST(Scene, SaysWhereAStiffnessBelongs) {
  const auto s = read_scenario_file(source_path("scenarios/paper_c_impedance.toml"));
  ASSERT_TRUE(s) << s.error().text();
  const Json scene = Json::parse(scene_json(*s));
  ASSERT_EQ(scene.at("ellipsoids").size(), 1u);
  EXPECT_EQ(scene["ellipsoids"][0].at("path"), "control/tool/stiffness");
  EXPECT_EQ(scene["bodies"].at(scene["ellipsoids"][0].at("body").get<std::size_t>()).at("name"), "link3");
  EXPECT_EQ(scene["ellipsoids"][0].at("p"), Json({1.0, 0.0, 0.0}));
}

}  // namespace
}  // namespace invar::testing
