// SPDX-License-Identifier: Apache-2.0
// What the caller does with standard streams and signals: full, closed, broken, gone.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "invar/io/log.hpp"
#include "small_disk.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = binary_path("invar");

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Every verb that answers on stdout.
std::vector<std::string> answers(const Folder& folder) {
  invar({"-q", "run", scenario("pendulum"), "-o", folder / "done"});
  return {"--help",
          "--version",
          "check " + model("four_bar"),
          "check --json " + model("four_bar"),
          "info " + model("stewart"),
          "info --json " + model("stewart"),
          "eval " + model("stewart"),
          "eval --pretty " + model("four_bar"),
          "equilibrium " + model("double_pendulum"),
          "modes --equilibrium " + model("double_pendulum"),
          "modes --json --equilibrium " + model("double_pendulum"),
          "stiffness --equilibrium " + model("paper_c_springs") + " tcp",
          "run " + scenario("pendulum") + " -o " + (folder / "out"),
          "compare " + scenario("pendulum") + " --only rk4",
          "report " + (folder / "done")};
}

TEST(Streams, AnswersThatCannotBeWrittenEndWithTwoAndWords) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  Folder folder;
  for (const std::string& verb : answers(folder))
    for (const char* where : {" >/dev/full", " >&-"}) {
      const Ended e = shell(kProgram + " " + verb + where);
      EXPECT_EQ(e.code, 2) << verb << where << e.err;
      EXPECT_TRUE(has(e.err, "error: stdout: ")) << verb << where << e.err;
    }
}

// The first file that a program opens gets the number of a stream that was closed: its words would go into the log.
TEST(Streams, ClosedStreamsDoNotEndUpInTheRecording) {
  Folder folder;
  ASSERT_EQ(invar({"run", scenario("pendulum"), "-o", folder / "open"}).code, 0);
  int k = 0;
  for (const std::string closed : {"<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"}) {
    const std::string out = folder / std::to_string(k++);
    const Ended e = shell(kProgram + " run " + scenario("pendulum") + " -o " + out + " " + closed);
    EXPECT_EQ(e.code, has(closed, " >&-") || closed == ">&-" ? 2 : 0) << closed;
    EXPECT_EQ(read_file(out + "/run.log"), read_file(folder / "open/run.log")) << closed;
    EXPECT_EQ(read_file(out + "/run.h5"), read_file(folder / "open/run.h5")) << closed;
    EXPECT_TRUE(nlohmann::json::accept(read_file(out + "/result.json"))) << closed;
  }
  // Errors that nobody can read are errors all the same, and a state that cannot be read is one.
  EXPECT_EQ(shell(kProgram + " check nowhere.toml 2>&-").code, 2);
  EXPECT_EQ(shell(kProgram + " check nowhere.toml 2>/dev/full").code, 2);
  EXPECT_EQ(shell(kProgram + " eval " + model("pendulum") + " --state - <&-").code, 2);
}

// A reader that has seen enough is no trouble of ours, and no reason to lose a run.
TEST(Streams, ReadersThatGoAwayDoNotEndARun) {
  Folder folder;
  const Ended e =
      shell("set -o pipefail; { " + kProgram + " run " + scenario("pendulum") + " -o " + (folder / "out") + "; } 2>&1 | true");
  EXPECT_TRUE(e.code == 0 || e.code == 141) << e.code;
  EXPECT_TRUE(nlohmann::json::accept(read_file(folder / "out/result.json")));
  EXPECT_TRUE(fs::exists(folder / "out/run.h5"));
}

std::string endless(const Folder& folder) {
  write_file(folder / "s.toml", "model = '" + model("pendulum") +
                                    "'\n[integrator]\nmethod = 'rk4'\nstep = 1e-5\n[time]\nend = 90\n[record]\nevery = 1000\n");
  return folder / "s.toml";
}

TEST(Streams, HangUpAndTerminateEndARunAfterItsStep) {
  for (const int number : {SIGHUP, SIGTERM, SIGINT}) {
    Folder folder;
    const pid_t child = start_invar({"run", endless(folder), "-o", folder / "out"});
    for (int k = 0; k < 1000 && !fs::exists(folder / "out/run.log"); ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(child, number);
    EXPECT_EQ(wait_for(child), 130) << number;
    EXPECT_EQ(nlohmann::json::parse(read_file(folder / "out/result.json"))["status"], "interrupted") << number;
    EXPECT_TRUE(fs::exists(folder / "out/run.h5"));
  }
}

// A terminal that goes away takes stdout with it: the run was interrupted all the same.
TEST(Streams, InterruptionOutranksAnAnswerThatNobodyGets) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  for (const int number : {SIGHUP, SIGINT}) {
    Folder folder;
    const pid_t child = start_invar({"run", endless(folder), "-o", folder / "out"}, "/dev/full", "/dev/full");
    for (int k = 0; k < 1000 && !fs::exists(folder / "out/run.log"); ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::kill(child, number);
    EXPECT_EQ(wait_for(child), 130) << number;
    EXPECT_EQ(nlohmann::json::parse(read_file(folder / "out/result.json"))["status"], "interrupted") << number;
  }
}

TEST(Streams, WhatNohupIgnoresStaysIgnored) {
  Folder folder;
  write_file(folder / "s.toml", "model = '" + model("pendulum") +
                                    "'\n[integrator]\nmethod = 'rk4'\nstep = 1e-5\n[time]\nend = 1\n[record]\nevery = 1000\n");
  const Ended e = shell("trap '' HUP; " + kProgram + " run " + (folder / "s.toml") + " -o " + (folder / "out") +
                        " & child=$!; while [ ! -e " + (folder / "out/run.log") +
                        " ] && kill -0 $child; do sleep 0.01; done; kill -HUP $child; wait $child");
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(nlohmann::json::parse(read_file(folder / "out/result.json"))["status"], "ok");
}

TEST(Streams, OneDirectoryTakesOneRunAtATime) {
  Folder folder;
  const pid_t first = start_invar({"run", endless(folder), "-o", folder / "out"});
  for (int k = 0; k < 1000 && !fs::exists(folder / "out/run.log"); ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const Ended second = invar({"run", scenario("pendulum"), "-o", folder / "out", "--force"});
  EXPECT_EQ(second.code, 2);
  EXPECT_TRUE(has(second.err, "another run is writing here")) << second.err;
  ::kill(first, SIGTERM);
  EXPECT_EQ(wait_for(first), 130);
  EXPECT_TRUE(fs::exists(folder / "out/result.json"));

  // Many at once into one: one of them at least gets through, the others are refused, and what is there is of one run.
  std::vector<pid_t> many;
  for (int k = 0; k < 6; ++k) many.push_back(start_invar({"run", scenario("pendulum"), "-o", folder / "one"}));
  int fine = 0;
  for (const pid_t child : many) {
    const int code = wait_for(child);
    EXPECT_TRUE(code == 0 || code == 2) << code;
    fine += code == 0;
  }
  EXPECT_GE(fine, 1);
  EXPECT_TRUE(nlohmann::json::accept(read_file(folder / "one/result.json")));
  ASSERT_EQ(invar({"run", scenario("pendulum"), "-o", folder / "alone"}).code, 0);
  EXPECT_EQ(read_file(folder / "one/run.h5"), read_file(folder / "alone/run.h5"));
}

}  // namespace
}  // namespace invar::testing
