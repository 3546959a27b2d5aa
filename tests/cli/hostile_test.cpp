// SPDX-License-Identifier: Apache-2.0
// Whatever stands on the command line or behind a path: one line of error, an exit code of the table in docs/cli.md, no signal.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "invar/base/random.hpp"
#include "program.hpp"
#include "support/campaign.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

namespace fs = std::filesystem;

// Refused: exit code 2, one line on stderr that begins with "error: ".
void expect_refusal(const std::vector<std::string>& arguments, const std::string& input = {}) {
  const Ended e = invar(arguments, input);
  SCOPED_TRACE(::testing::PrintToString(arguments));
  EXPECT_EQ(e.code, 2) << e.out << e.err;
  EXPECT_EQ(e.err.rfind("error: ", 0), 0u) << e.err;
  EXPECT_EQ(std::count(e.err.begin(), e.err.end(), '\n'), 1) << e.err;
}

// Things that are no model, no scenario, no state.
std::vector<std::string> strange_paths(const Folder& folder) {
  write_file(folder / "empty", "");
  write_file(folder / "noise", std::string("\x00\xff\xfe\x01[[[{\"", 9));
  write_file(folder / "not\xff\xfeutf8", "name = \"\xff\"\n\xfe");
  write_file(folder / "nul", std::string("name = 'a'\0", 11));
  fs::create_symlink(folder / "loop", folder / "loop");
  write_file(folder / "unreadable", "name = 'a'\n");
  ::chmod((folder / "unreadable").c_str(), 0);
  return {"",
          "/",
          "/dev/null",
          "/dev/zero",
          "/proc/self/mem",
          "/nowhere/at/all",
          folder.path(),
          folder / "empty",
          folder / "noise",
          folder / "not\xff\xfeutf8",
          folder / "nul",
          folder / "loop",
          folder / "unreadable",
          folder / "empty/below",
          std::string(5000, 'x')};
}

TEST(Hostile, PathsAreRefusedInOneLine) {
  Folder folder;
  for (const std::string& path : strange_paths(folder)) {
    expect_refusal({"check", "--", path});
    expect_refusal({"info", "--", path});
    expect_refusal({"run", "-o", folder / "out", "--", path});
    if (path.empty()) continue;  // no state: the model's own
    for (const char* option : {"--state", "--port", "--efforts"}) {
      const Ended e = invar({"eval", model("pendulum"), option, path});
      // Root reads what nobody may read; an empty port would be one that is not JSON.
      EXPECT_EQ(e.code, 2) << option << " " << path << e.out.substr(0, 200);
      EXPECT_EQ(e.err.rfind("error: ", 0), 0u) << e.err;
    }
    const Ended e = invar({"report", path});
    EXPECT_EQ(e.code, 2) << path << e.out;
    EXPECT_FALSE(fs::exists(folder / "out")) << path;
  }
}

TEST(Hostile, OutputsAreRefusedInOneLine) {
  Folder folder;
  const std::string long_name(300, 'x');
  for (const std::string& out :
       {std::string("/dev/null"), std::string("/dev/full/x"), folder / long_name, std::string("/proc/x"), std::string(5000, 'y')})
    expect_refusal({"run", scenario("pendulum"), "-o", out});
  fs::create_symlink(folder / "nowhere/at/all", folder / "dangling");
  expect_refusal({"run", scenario("pendulum"), "-o", folder / "dangling"});
  if (::geteuid() != 0) {  // root may write anywhere
    fs::create_directory(folder / "locked");
    ::chmod((folder / "locked").c_str(), 0500);
    expect_refusal({"run", scenario("pendulum"), "-o", folder / "locked"});
  }
}

TEST(Hostile, StandardInputIsReadOnceAndWithinBounds) {
  const std::string pendulum = model("pendulum");
  expect_refusal({"eval", pendulum, "--state", "-", "--port", "-"}, "{}");
  expect_refusal({"eval", pendulum, "--state", "-"}, "");
  expect_refusal({"eval", pendulum, "--state", "-"}, std::string(200000, '['));
  expect_refusal({"eval", pendulum, "--state", "-"}, std::string("\xff\xfe\x00{", 4));
}

TEST(Hostile, AnswersThatCannotBeWrittenAreAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  const std::string program = binary_path("invar");
  for (const char* verb : {"check", "info", "eval"}) {
    const std::string command = program + " " + verb + " " + model("four_bar") + " >/dev/full 2>/dev/null";
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << verb << " " << status;
  }
}

// A limit on the size of files acts like a full disk in the middle of a run: an error, and a result that says so.
TEST(Hostile, DiskThatFillsUpDuringARunIsAnError) {
  Folder folder;
  const std::string command = "ulimit -f 64; " + binary_path("invar run ") + scenario("pendulum") + " -o " + folder.path() +
                              "/out >/dev/null 2>" + folder.path() + "/err";
  const int status = std::system(("bash -c '" + command + "'").c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << status;
  const std::string words = "\n" + read_file(folder / "err");  // a warning about the room that is left may come first
  EXPECT_NE(words.find("\nerror: "), std::string::npos) << words;
  EXPECT_FALSE(fs::exists(folder / "out/run.h5"));
  const std::string result = read_file(folder / "out/result.json");
  EXPECT_NE(result.find("\"status\": \"failed\""), result.npos) << result;
  EXPECT_NE(result.find("\"kind\": \"unrecorded\""), result.npos) << result;
}

TEST(Hostile, RandomArgumentsNeverEndInASignal) {
  Folder folder;
  Random random(seed(20240506));
  const std::vector<std::string> words = {"check",
                                          "info",
                                          "eval",
                                          "run",
                                          "report",
                                          "-o",
                                          "--output",
                                          "--force",
                                          "--json",
                                          "--state",
                                          "--port",
                                          "--efforts",
                                          "--formulation",
                                          "augmented",
                                          "--pretty",
                                          "-q",
                                          "-v",
                                          "-vq",
                                          "--version",
                                          "--help",
                                          "-h",
                                          "--",
                                          "-",
                                          "",
                                          "-1",
                                          "1e999",
                                          "--json=no",
                                          "--state=",
                                          "--nosuch",
                                          "\xff",
                                          model("pendulum"),
                                          model("door"),
                                          scenario("nowhere"),
                                          folder.path(),
                                          "/dev/null",
                                          std::string(3000, '-'),
                                          "%s%n",
                                          "$(false)",
                                          "@file",
                                          "run run"};
  for (int k = 0; k < cases(60); ++k) {
    std::vector<std::string> arguments;
    for (int n = random.below(6); n >= 0; --n)
      arguments.push_back(words[static_cast<std::size_t>(random.below(static_cast<int>(words.size())))]);
    const Ended e = invar(arguments, "{}");
    EXPECT_TRUE(e.code == 0 || e.code == 2) << ::testing::PrintToString(arguments) << " ended with " << e.code << e.err;
    EXPECT_EQ(e.code == 0, e.err.rfind("error: ", 0) != 0) << ::testing::PrintToString(arguments) << e.err;
  }
}

}  // namespace
}  // namespace invar::testing
