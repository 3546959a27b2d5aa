// SPDX-License-Identifier: Apache-2.0
// Damaged scenario files. Law: whatever the bytes, the answer is a refusal in words, or a run that can be begun, stopped and
// judged; never a crash or a hang.
#include <gtest/gtest.h>

#include "invar/io/result_json.hpp"
#include "invar/io/scenario_file.hpp"
#include "support/campaign.hpp"
#include "support/damage.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

const std::string kFolder = source_path("scenarios/");

std::vector<std::string> all_scenarios() {
  std::vector<std::string> paths, texts;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) texts.push_back(file_text(path));
  return texts;
}

// True when it was accepted. The run is told to stop before it begins: it ends after its first step, or its first sample inside
// it.
bool read_and_begin(const std::string& text) {
  const auto scenario = parse_scenario(text, kFolder + "damaged.toml");
  if (!scenario) {
    EXPECT_FALSE(scenario.error().what.empty());
    EXPECT_FALSE(scenario.error().where.empty()) << scenario.error().what;
    return false;
  }
  const std::atomic<bool> stop = true;
  RunOptions options;
  options.stop = &stop;
  const auto outcome = run(*scenario, options);
  if (outcome) {
    EXPECT_FALSE(result_json(*scenario, *outcome).empty());
  } else {
    EXPECT_FALSE(outcome.error().what.empty());
  }
  return true;
}

TEST(FuzzScenarios, DamagedFilesAreRefusedInWordsOrBegunButNeverCrash) {
  Random random(seed(20240503));
  const std::vector<std::string> texts = all_scenarios();
  int refused = 0, accepted = 0;
  for (const std::string& text : texts)
    for (int k = 0; k < cases(60); ++k) ++(read_and_begin(drawn(text, texts, random)) ? accepted : refused);
  EXPECT_GT(refused, 100);
  EXPECT_GT(accepted, 100);
}

TEST(FuzzScenarios, KeptFilesAreRefusedInWordsOrBegunButNeverCrash) {
  for (const auto& [name, text] : corpus("scenario")) {
    SCOPED_TRACE(name);
    read_and_begin(text);
  }
}

// A step or a stride of samples that vanishes beside the times of the run would never get anywhere.
TEST(FuzzScenarios, StridesBelowTheResolutionOfTimeAreRefusedAtTheirKey) {
  const std::string head = "model = '../models/pendulum.toml'\n";
  const auto expect = [&](const std::string& text, const std::string& place) {
    const auto s = parse_scenario(head + text, "scenarios/s.toml");
    ASSERT_FALSE(s) << text;
    EXPECT_EQ(s.error().where, "scenarios/s.toml" + place) << s.error().text();
  };
  expect("[time]\nend = 1\n[integrator]\nmethod = 'rk4'\nstep = 1e-300\n", ":6:8");
  expect("[time]\nstart = 1e17\nend = 1.1e17\n[integrator]\nmethod = 'rk4'\nstep = 0.1\n", ":7:8");
  expect("[time]\nend = 1\n[integrator]\nmethod = 'dopri5'\n[record]\nevery = 1e-18\n", ":7:9");
  expect("[time]\nstart = -1e308\nend = 1e308\n[integrator]\nmethod = 'dopri5'\n", ":4:7");
}

}  // namespace
}  // namespace invar::testing
