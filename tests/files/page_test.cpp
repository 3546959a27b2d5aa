// SPDX-License-Identifier: Apache-2.0
//
// What goes onto a page is the recording, bit by bit, only less of it.
#include "invar/report/page.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "invar/base/random.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/report/learn_page.hpp"
#include "invar/report/packed.hpp"
#include "invar/report/scene.hpp"
#include "support/folder.hpp"
#include "support/places.hpp"
#include "support/unpacked.hpp"

namespace invar {
namespace {

using Json = nlohmann::json;
using testing::unpacked;

TEST(Packed, GivesEveryBitBack) {
  Random random(1, 2);
  for (const int n : {0, 1, 2, 3, 1000}) {
    std::vector<double> numbers;
    for (int i = 0; i < n; ++i) numbers.push_back(random.normal() * std::pow(10.0, random.uniform(-300, 300)));
    if (n > 2) numbers[0] = std::nan(""), numbers[1] = -0.0;
    const auto back = unpacked({{"n", numbers.size()}, {"b", packed(numbers)}});
    ASSERT_EQ(back.size(), numbers.size());
    if (n > 0) {
      EXPECT_EQ(std::memcmp(back.data(), numbers.data(), 8 * numbers.size()), 0);
    }
  }
}

// The badge of a page says what its sentence says: who is told to keep the nominal model reads no "held" above it.
TEST(LearnPage, HoldsWhereItsAdviceIsToTakeSomething) {
  const auto study = [](double all, bool interrupted) {
    LearnResult r;
    r.learned.learned = true;
    Worth worth;
    worth.contenders = {{"nothing learned", "", {{100, 0, 1, 1, 1}}}, {"all terms", "", {{100, 3, all, all, all}}}};
    worth.interrupted = interrupted;
    return Json::parse(learn_page_data(r, worth, "t"))["runs"][0]["study"];
  };
  EXPECT_EQ(study(0.1, false)["level"], "held");
  const Json nothing = study(1.0, false);
  EXPECT_NE(nothing["text"].get<std::string>().find("keep the nominal model"), std::string::npos);
  EXPECT_EQ(nothing["level"], "doubt");
  EXPECT_EQ(study(0.1, true)["level"], "doubt");
}

TEST(Base64, IsTheStandards) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

/// A log with a pose, a number and a vector.
class Decimation : public ::testing::Test {
 protected:
  void record(int samples, bool ended = true) {
    rows_.clear();
    Layout layout;
    layout.channels = {
        {"time", "s", "", 1}, {"bodies/b/p", "m", "", 3}, {"energy/total", "J", "", 1}, {"joints/j/force", "N", "", 3}};
    layout.model = "m", layout.scenario = "s";
    LogWriter writer(folder_ / "run.log", R"({"bodies": []})");
    ASSERT_TRUE(writer.begin(layout));
    Random random(7, static_cast<std::uint64_t>(samples));
    for (int i = 0; i < samples; ++i) {
      std::vector<double> row = {0.01 * i};
      for (int k = 0; k < 7; ++k) row.push_back(std::sin(0.01 * i * (k + 1)) + (random.chance(1e-3) ? 5 * random.normal() : 0));
      if (random.chance(0.01)) row[4] = std::nan("");
      ASSERT_TRUE(writer.sample(row));
      rows_.push_back(row);
    }
    if (ended) {
      ASSERT_TRUE(writer.end());
    }
  }

  testing::Folder folder_;
  std::vector<std::vector<double>> rows_;
};

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

TEST_F(Decimation, KeepsRecordedSamplesAndTheExtremesOfEveryComponent) {
  const DecimationOptions whole;
  for (const int samples : {1, 2, 50, 600, 601, 602, 1000, 1001, 1002, 5000, 23456}) {
    record(samples);
    auto log = LogReader::open(folder_ / "run.log");
    ASSERT_TRUE(log);
    const Decimated out = decimate(*log, {});
    EXPECT_EQ(out.samples, static_cast<std::uint64_t>(samples));
    std::size_t offset = 1;
    for (std::size_t c = 0; c < out.channels.size(); ++c) {
      const auto size = static_cast<std::size_t>(out.layout.channels[c + 1].size);
      const Series& series = out.channels[c];
      ASSERT_EQ(series.y.size(), size * series.t.size());
      const bool pose = is_pose(out.layout.channels[c + 1]);
      EXPECT_LE(series.t.size(), static_cast<std::size_t>(pose ? whole.poses : whole.extremes) + 1);
      if (samples <= (pose ? whole.poses : whole.extremes)) {
        EXPECT_EQ(series.t.size(), static_cast<std::size_t>(samples));
      }
      ASSERT_FALSE(series.t.empty());
      EXPECT_EQ(series.t.front(), rows_.front()[0]);
      EXPECT_EQ(series.t.back(), rows_.back()[0]);
      EXPECT_TRUE(std::is_sorted(series.t.begin(), series.t.end()));
      EXPECT_EQ(std::adjacent_find(series.t.begin(), series.t.end()), series.t.end()) << "each sample once";
      for (std::size_t i = 0; i < series.t.size(); ++i) {
        const auto& row = rows_[static_cast<std::size_t>(std::lround(series.t[i] / 0.01))];
        for (std::size_t k = 0; k < size; ++k) ASSERT_TRUE(same(series.y[i * size + k], row[offset + k]));
      }
      for (std::size_t k = 0; k < size && !pose; ++k) {
        double low = 1e300, high = -1e300, kept_low = 1e300, kept_high = -1e300;
        for (const auto& row : rows_)
          if (!std::isnan(row[offset + k])) low = std::min(low, row[offset + k]), high = std::max(high, row[offset + k]);
        for (std::size_t i = 0; i < series.t.size(); ++i)
          if (!std::isnan(series.y[i * size + k]))
            kept_low = std::min(kept_low, series.y[i * size + k]), kept_high = std::max(kept_high, series.y[i * size + k]);
        EXPECT_EQ(low, kept_low) << samples;
        EXPECT_EQ(high, kept_high) << samples;
      }
      offset += size;
    }
  }
}

TEST_F(Decimation, OfAnEmptyOrCutLogIsWhatThereIs) {
  record(0);
  auto empty = LogReader::open(folder_ / "run.log");
  ASSERT_TRUE(empty);
  EXPECT_EQ(decimate(*empty, {}).samples, 0u);
  record(100, false);
  const auto data = page_data({folder_.path()});
  ASSERT_TRUE(data) << data.error().text();
  const Json run = Json::parse(*data).at("runs").at(0);
  EXPECT_EQ(run.at("complete"), false);
  EXPECT_TRUE(run.at("result").is_null());
  EXPECT_EQ(run.at("samples"), 100);
}

TEST_F(Decimation, PageDataHoldTheRecordingAndItsScene) {
  record(300);
  testing::write_file(folder_ / "result.json", R"({"status": "ok"})");
  const auto data = page_data({folder_.path(), folder_.path()}, {});
  ASSERT_TRUE(data) << data.error().text();
  const Json page = Json::parse(*data);
  ASSERT_EQ(page.at("runs").size(), 2u);
  const Json& run = page["runs"][0];
  EXPECT_EQ(run.at("result").at("status"), "ok");
  EXPECT_TRUE(run.at("scene").at("bodies").is_array());
  EXPECT_EQ(run.at("channels")[0].at("path"), "bodies/b/p");
  EXPECT_EQ(run.at("channels")[0].at("time"), 0);
  std::map<std::string, std::size_t> columns = {{"bodies/b/p", 1}, {"energy/total", 4}, {"joints/j/force", 5}};
  for (const Json& channel : run.at("channels")) {
    const auto t = unpacked(run.at("times").at(channel.at("time").get<std::size_t>())), y = unpacked(channel.at("y"));
    const std::size_t size = channel.at("size"), column = columns.at(channel.at("path"));
    ASSERT_EQ(t.size(), 300u);
    for (std::size_t i = 0; i < t.size(); ++i) {
      EXPECT_EQ(t[i], rows_[i][0]);
      for (std::size_t k = 0; k < size; ++k) EXPECT_TRUE(same(y[i * size + k], rows_[i][column + k]));
    }
  }
}

TEST(Page, HoldsItsDataAndNoTextOfItEndsTheElement) {
  const std::string page = "<html><script id=\"invar-data\" type=\"application/json\"></script></html>";
  const std::string data = R"({"title": "</script><script>alert(1)</script><!--"})";
  const std::string out = page_with(page, data);
  const std::size_t from = out.find("json\">") + 6, to = out.find("</script>");
  EXPECT_EQ(Json::parse(out.substr(from, to - from)), Json::parse(data));
  EXPECT_EQ(out.substr(to), "</script></html>");
}

TEST(Page, OfNoRunIsRefusedInWords) {
  testing::Folder folder;
  EXPECT_FALSE(page_data({folder.path()}));
  testing::write_file(folder / "run.log", "not a log");
  const auto data = page_data({folder.path()});
  ASSERT_FALSE(data);
  EXPECT_FALSE(data.error().what.empty());
}

TEST(Scene, DrawsWhatTheScenarioHas) {
  const auto scenario = read_scenario_file(testing::source_path("scenarios/arm_around_post.toml"));
  ASSERT_TRUE(scenario) << scenario.error().text();
  const Json scene = Json::parse(scene_json(*scenario));
  ASSERT_EQ(scene.at("bodies").size(), scenario->model->bodies().size());
  EXPECT_EQ(scene["bodies"][1].at("shapes")[0].at("kind"), "cylinder");
  EXPECT_EQ(scene.at("joints").size(), scenario->model->joints().size());
  EXPECT_EQ(scene["joints"][0].at("parent"), -1);
  EXPECT_EQ(scene.at("obstacles").size(), 2u);
  EXPECT_EQ(scene["obstacles"][0].at("kind"), "capsule");
  const auto crane = read_scenario_file(testing::source_path("scenarios/crane_hydraulics.toml"));
  ASSERT_TRUE(crane) << crane.error().text();
  const Json limits = Json::parse(scene_json(*crane)).at("limits");
  ASSERT_EQ(limits.size(), 4u);
  EXPECT_EQ(limits[1].at("path"), "control/crane/input_lift");
  EXPECT_EQ(limits[1].at("upper"), 8e5);
}

// A load that is exchanged for one of its name in one instant: the old shape ends when the new one begins. One of the same look
// stays.
TEST(Scene, ShowsAPayloadThatWasExchanged) {
  const auto attach = [](const char* at, const char* radius) {
    return std::string("[[edit]]\nat = ") + at +
           "\nkind = 'attach'\nname = 'load'\nbody = 'rod'\nmass = 1\nshape = { kind = " + "'sphere', radius = " + radius +
           ", at = { p = [0, 0, -1] } }\n";
  };
  const auto detach = [](const char* at) { return std::string("[[edit]]\nat = ") + at + "\nkind = 'detach'\nname = 'load'\n"; };
  const auto scenario =
      parse_scenario("model = '../models/pendulum.toml'\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n[time]\nend = 4\n" +
                         attach("1", "0.1") + detach("2") + attach("2", "0.3") + detach("3") + attach("3", "0.3"),
                     testing::source_path("scenarios/here.toml"));
  ASSERT_TRUE(scenario) << scenario.error().text();
  const Json shapes = Json::parse(scene_json(*scenario)).at("bodies").at(0).at("shapes");
  ASSERT_EQ(shapes.size(), 3u) << shapes;
  EXPECT_EQ(shapes[1].at("radius"), 0.1);
  EXPECT_EQ(shapes[1].at("from"), 1);
  EXPECT_EQ(shapes[1].at("until"), 2);
  EXPECT_EQ(shapes[2].at("radius"), 0.3);
  EXPECT_EQ(shapes[2].at("from"), 2);
  EXPECT_FALSE(shapes[2].contains("until"));
}

}  // namespace
}  // namespace invar
