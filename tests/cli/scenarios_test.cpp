// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "invar/io/scenario_file.hpp"
#include "program.hpp"
#include "support/places.hpp"
#include "support/recorded.hpp"

namespace invar::testing {

static std::vector<std::string> all_scenarios() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("scenarios")))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Scenarios : public ::testing::TestWithParam<std::string> {};

/// A copy of a scenario that records accelerations as well, in a folder that looks like the source tree from there.
static std::string with_accelerations(const Folder& folder, const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path source(source_path());
  fs::create_directory(folder / "scenarios");
  for (const auto& entry : fs::directory_iterator(source))
    if (const std::string name_there = entry.path().filename().string(); name_there != "scenarios" && name_there != "out")
      fs::create_symlink(entry.path(), folder / name_there);
  std::string text = read_file(scenario(name));
  std::string all = "what = [";
  for (const char* group : kRecordGroups) all += std::string("\"") + group + "\", ";
  all += "]\n";
  const std::string table = "[record]\n";
  const std::size_t at = text.find(table);
  at == std::string::npos ? text += "\n" + table + all : text.insert(at + table.size(), all);
  const std::string path = folder / ("scenarios/" + name + ".toml");
  write_file(path, text);
  return path;
}

// A scenario states its own laws: the program judges them, and exit code 0 says that all are held; nor is there any doubt about
// its steps. Newton and Euler hold at every sample of run.h5 besides, for every body, with nothing but the numbers of the files.
TEST_P(Scenarios, HoldTheLawsThatTheyState) {
  Folder folder;
  const std::string file = with_accelerations(folder, GetParam());
  const Ended e = invar({"run", file, "-o", folder / "out"});
  EXPECT_EQ(e.code, 0) << e.err << e.out;
  EXPECT_NE(e.out.find("must be"), std::string::npos) << "a scenario states at least one law";
  const auto result = nlohmann::json::parse(read_file(folder / "out/result.json"));
  EXPECT_EQ(result.at("status"), "ok") << result.value("unresolved", "");
  const Result<Scenario> read = read_scenario_file(file);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_GT(expect_newton_euler(*read, folder / "out/run.h5"), 1);
  // Its page is looked at by viewer/tests/scenarios.test.ts, which does not run it again.
  const std::filesystem::path pages = binary_path("pages"), page = folder / "out/report.html";
  std::filesystem::create_directories(pages);
  if (std::filesystem::exists(page))
    std::filesystem::copy_file(page, pages / (GetParam() + ".html"), std::filesystem::copy_options::overwrite_existing);
}

INSTANTIATE_TEST_SUITE_P(Files, Scenarios, ::testing::ValuesIn(all_scenarios()), [](const auto& each) { return each.param; });

}  // namespace invar::testing
