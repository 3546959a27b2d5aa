// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "program.hpp"

namespace invar::testing {

static std::vector<std::string> all_scenarios() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(INVAR_SOURCE_DIR "/scenarios")))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Scenarios : public ::testing::TestWithParam<std::string> {};

// A scenario states its own laws: the program judges them, and exit code 0 says that all are held.
TEST_P(Scenarios, HoldTheLawsThatTheyState) {
  Folder folder;
  const Ended e = invar({"run", scenario(GetParam()), "-o", folder / "out"});
  EXPECT_EQ(e.code, 0) << e.err << e.out;
  EXPECT_NE(e.out.find("must be"), std::string::npos) << "a scenario states at least one law";
  // Its page is looked at by viewer/tests/scenarios.test.ts, which does not run it again.
  const std::filesystem::path pages = INVAR_BINARY_DIR "/pages", page = folder / "out/report.html";
  std::filesystem::create_directories(pages);
  if (std::filesystem::exists(page))
    std::filesystem::copy_file(page, pages / (GetParam() + ".html"), std::filesystem::copy_options::overwrite_existing);
}

INSTANTIATE_TEST_SUITE_P(Files, Scenarios, ::testing::ValuesIn(all_scenarios()), [](const auto& each) { return each.param; });

}  // namespace invar::testing
