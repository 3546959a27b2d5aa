// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "program.hpp"
#include "support/places.hpp"

namespace invar::testing {

using nlohmann::json;
namespace fs = std::filesystem;

static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A pendulum scenario with its own end time and laws.
static std::string pendulum(const std::string& end, const std::string& laws, const std::string& extra = "") {
  return "model = '" + model("pendulum") + "'\n" + extra + "[integrator]\nmethod = 'rk4'\nstep = 0.001\n[time]\nend = " + end +
         "\n" + laws;
}

TEST(Run, WritesResultAndHdf5ThatOthersCanRead) {
  Folder folder;
  write_file(folder / "s.toml", pendulum("1.0", "[must]\nenergy_drift = { below = 1e-9 }\n", "seed = 7\n"));
  const Ended e = invar({"run", folder / "s.toml", "-o", folder / "out"});
  ASSERT_EQ(e.code, 0) << e.err << e.out;
  const json r = json::parse(read_file(folder / "out/result.json"));
  EXPECT_EQ(r["status"], "ok");
  EXPECT_EQ(r["seed"], 7);
  EXPECT_EQ(r["laws"][0]["name"], "energy_drift");
  EXPECT_TRUE(r["laws"][0]["held"].get<bool>());
  EXPECT_LT(r["laws"][0]["value"].get<double>(), r["laws"][0]["bound"].get<double>());
  for (const char* key : {"metrics", "certificates", "versions", "timing", "model", "scenario"})
    EXPECT_TRUE(r.contains(key)) << key;
  EXPECT_EQ(r["metrics"]["steps"], 1000);
  EXPECT_EQ(r["metrics"]["time"], 1.0);

  // h5py sees shapes, units and an energy that adds up.
  const std::string seen = python(
      "import h5py, numpy as np, sys\n"
      "f = h5py.File(sys.argv[1])\n"
      "t = f['time'][:]\n"
      "assert t.shape == (1001,) and t[0] == 0 and t[-1] == 1\n"
      "assert np.abs(t - np.arange(1001) / 1000).max() < 1e-15\n"
      "assert f['bodies/rod/q'].shape == (1001, 4) and f['joints/hinge/q'].shape == (1001,)\n"
      "assert f['joints/hinge/force'].attrs['unit'] == 'N' and f.attrs['complete'] == 1\n"
      "e = f['energy']\n"
      "assert np.abs(e['kinetic'][:] + e['potential'][:] + e['elastic'][:] - e['total'][:]).max() < 1e-14\n"
      "print('fine')\n",
      {folder / "out/run.h5"});
  EXPECT_EQ(seen, "fine\n");
}

TEST(Run, BrokenLawEndsWithOneAndIsNamed) {
  Folder folder;
  write_file(folder / "s.toml", pendulum("0.5", "[must]\nenergy_drift = { below = 1e-30 }\njoint_gap = { below = 1e-9 }\n"));
  const Ended e = invar({"-q", "run", folder / "s.toml", "-o", folder / "out"});
  EXPECT_EQ(e.code, 1);
  EXPECT_TRUE(has(e.out, "energy_drift") && has(e.out, "BROKEN")) << e.out;
  EXPECT_FALSE(has(e.out, "joint_gap")) << "quiet prints broken laws only: " << e.out;
  const json r = json::parse(read_file(folder / "out/result.json"));
  EXPECT_EQ(r["status"], "law_broken");
  EXPECT_FALSE(r["laws"][0]["held"].get<bool>());
  EXPECT_TRUE(r["laws"][1]["held"].get<bool>());
}

// Assumptions of a certificate that did not hold are told at the terminal, the first by name and time; a perfect run is left in
// peace.
TEST(Run, SaysWhichAssumptionOfAControllerBrokeFirst) {
  Folder folder;
  const std::string loop =
      "[[control]]\nname = 'c'\nlaw = 'slotine_li'\ngains = { rate = 16 }\n"
      "joints = [{ joint = 'hinge', rate = 5, reference = { kind = 'sine', amplitude = 0.4, frequency = 0.5 } }]\n";
  write_file(folder / "perfect.toml", pendulum("1", loop));
  const Ended perfect = invar({"run", folder / "perfect.toml", "-o", folder / "a"});
  EXPECT_EQ(perfect.code, 0) << perfect.err;
  EXPECT_FALSE(has(perfect.out + perfect.err, "assumption")) << perfect.out << perfect.err;
  write_file(folder / "pushed.toml",
             pendulum("1", loop + "[[effort]]\njoint = 'hinge'\nvalue = 2\nsignal = { kind = 'pulse', from = 0.3, to = 0.6 }\n"));
  const Ended pushed = invar({"run", folder / "pushed.toml", "-o", folder / "b"});
  EXPECT_EQ(pushed.code, 0) << pushed.err;
  EXPECT_TRUE(has(pushed.out + pushed.err, "controller 'c': ")) << pushed.out << pushed.err;
  EXPECT_TRUE(has(pushed.out + pushed.err, "of 5 assumptions of its certificate did not hold, V_falls first, at 0.3 s"))
      << pushed.out << pushed.err;
  EXPECT_FALSE(has(invar({"-q", "run", folder / "pushed.toml", "-o", folder / "c"}).err, "assumption"));
}

TEST(Run, LawWithoutAValueIsNullWithAReasonAndNotHeld) {
  Folder folder;
  const std::string always = "[[disturbance]]\nbody = 'rod'\nforce = [1, 0, 0]\n";
  write_file(folder / "s.toml", pendulum("0.1", "[must]\nmomentum_drift = { below = 1 }\n", "") + always);
  EXPECT_EQ(invar({"run", folder / "s.toml", "-o", folder / "out"}).code, 1);
  const json law = json::parse(read_file(folder / "out/result.json"))["laws"][0];
  EXPECT_TRUE(law["value"].is_null());
  EXPECT_EQ(law["reason"], "no stretch of time without a load");
  EXPECT_FALSE(law["held"].get<bool>());
}

TEST(Run, LawsOfARunThatFailsInItsFirstStepAreNotHeld) {
  Folder folder;
  write_file(folder / "s.toml",
             "model = '" + model("pendulum") +
                 "'\n[integrator]\nmethod = 'rk4'\nstep = 10\n[time]\nend = 20\n[must]\nenergy_drift = { below = 1 }\n");
  EXPECT_EQ(invar({"run", folder / "s.toml", "-o", folder / "out"}).code, 3);
  const json law = json::parse(read_file(folder / "out/result.json"))["laws"][0];
  EXPECT_EQ(law["reason"], "no step was made");
  EXPECT_FALSE(law["held"].get<bool>());
}

TEST(Run, SameScenarioGivesTheSameBits) {
  Folder folder;
  for (const char* out : {"a", "b"}) ASSERT_EQ(invar({"run", scenario("free_chain"), "-o", folder / out}).code, 0);
  EXPECT_EQ(read_file(folder / "a/run.log"), read_file(folder / "b/run.log"));
  EXPECT_EQ(read_file(folder / "a/run.h5").size(), read_file(folder / "b/run.h5").size());
}

TEST(Run, NumericsThatFailEndWithThreeAndSayWhere) {
  Folder folder;
  write_file(folder / "m.toml", read_file(model("pendulum")) + "");
  // A spring of 1e9 N m/rad with a step of 10 ms is far outside RK4's region of stability: the numbers overflow.
  std::string text = read_file(model("pendulum"));
  const std::size_t at = text.find("kind = \"revolute\"");
  text.insert(at, "spring = { stiffness = [1e9], rest = [0.1] }\n");
  write_file(folder / "m.toml", text);
  write_file(folder / "s.toml",
             "model = 'm.toml'\n[integrator]\nmethod = 'rk4'\nstep = 0.01\nproject = false\n[time]\nend = 10\n");
  const Ended e = invar({"run", folder / "s.toml", "-o", folder / "out"});
  EXPECT_EQ(e.code, 3) << e.out;
  EXPECT_TRUE(has(e.err, "step ") && has(e.err, "t = ")) << e.err;
  EXPECT_TRUE(has(e.err, "a smaller step may help")) << e.err;
  const json r = json::parse(read_file(folder / "out/result.json"));
  EXPECT_EQ(r["status"], "failed");
  EXPECT_FALSE(r["failure"]["what"].get<std::string>().empty());
  EXPECT_TRUE(fs::exists(folder / "out/run.h5"));
}

TEST(Run, SmallerStepIsNotAdvisedForALoadThatOverflowsAtTheStart) {
  Folder folder;
  // 1e308 N m on 1/3 kg m² is an acceleration beyond the largest number, whatever the step.
  write_file(folder / "s.toml", pendulum("1.0", "[[effort]]\njoint = 'hinge'\nvalue = 1e308\n"));
  const Ended e = invar({"run", folder / "s.toml", "-o", folder / "out"});
  EXPECT_EQ(e.code, 3) << e.out;
  EXPECT_TRUE(has(e.err, "step 1, t = 0 s")) << e.err;
  EXPECT_FALSE(has(e.err, "smaller step")) << e.err;
}

TEST(Run, OutputDirectoryOfOthersIsRefusedUnlessForced) {
  Folder folder;
  write_file(folder / "s.toml", pendulum("0.1", ""));
  fs::create_directory(folder / "mine");
  write_file(folder / "mine/thesis.tex", "precious");
  Ended e = invar({"run", folder / "s.toml", "-o", folder / "mine"});
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "--force")) << e.err;
  EXPECT_FALSE(fs::exists(folder / "mine/result.json"));
  e = invar({"run", folder / "s.toml", "-o", folder / "mine", "--force"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(read_file(folder / "mine/thesis.tex"), "precious");
}

TEST(Run, EmptyAndEarlierOutputDirectoriesAreTaken) {
  Folder folder;
  write_file(folder / "s.toml", pendulum("0.1", ""));
  fs::create_directory(folder / "out");
  EXPECT_EQ(invar({"run", folder / "s.toml", "-o", folder / "out"}).code, 0);
  const Ended e = invar({"run", folder / "s.toml", "-o", folder / "out"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_TRUE(has(e.err, "replacing the output of an earlier run")) << e.err;
}

TEST(Run, OutputThatCannotBeWrittenIsAnError) {
  Folder folder;
  write_file(folder / "s.toml", pendulum("0.1", ""));
  write_file(folder / "file", "");
  for (const std::string& out : {folder / "file", folder / "file/below", std::string("/proc/invar")}) {
    const Ended e = invar({"run", folder / "s.toml", "-o", out});
    EXPECT_EQ(e.code, 2) << out;
    EXPECT_EQ(e.err.rfind("error: " + out, 0), 0u) << e.err;
  }
}

// A disk that is full from the first byte on: /dev/full accepts an open and refuses every write.
TEST(Run, FullDiskIsAnErrorAndLeavesNoResult) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  Folder folder;
  write_file(folder / "s.toml", pendulum("0.1", ""));
  fs::create_directory(folder / "out");
  fs::create_symlink("/dev/full", folder / "out/run.log");
  const Ended e = invar({"run", folder / "s.toml", "-o", folder / "out", "--force"});
  EXPECT_EQ(e.code, 2) << e.out;
  EXPECT_FALSE(fs::exists(folder / "out/result.json"));
}

// Long enough that it cannot finish before the signal, whatever the machine.
static pid_t start_long_run(const Folder& folder) {
  write_file(folder / "s.toml", pendulum("1e5", "[must]\nenergy_drift = { below = 1 }\n"));
  const pid_t child = start_invar({"run", folder / "s.toml", "-o", folder / "out"});
  for (int i = 0; i < 500; ++i) {
    std::error_code none;
    const auto size = fs::file_size(folder / "out/run.log", none);
    if (!none && size > 100000) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return child;
}

TEST(Run, CtrlCWritesEverythingAndEndsWith130) {
  Folder folder;
  const pid_t child = start_long_run(folder);
  ::kill(child, SIGINT);
  EXPECT_EQ(wait_for(child), 130);
  const json r = json::parse(read_file(folder / "out/result.json"));
  EXPECT_EQ(r["status"], "interrupted");
  const double reached = r["metrics"]["time"];
  EXPECT_GT(reached, 0);
  EXPECT_LT(reached, 1e5);
  const std::string end = python("import h5py, sys\nf = h5py.File(sys.argv[1])\nprint(f.attrs['complete'], f['time'][-1])\n",
                                 {folder / "out/run.h5"});
  EXPECT_EQ(end.rfind("1 ", 0), 0u) << end;
  EXPECT_NEAR(std::stod(end.substr(2)), reached, 1e-9 * reached);
}

TEST(Run, KillLeavesALogFromWhichReportMakesHdf5) {
  Folder folder;
  const pid_t child = start_long_run(folder);
  EXPECT_EQ(invar({"run", folder / "s.toml", "-o", folder / "out"}).code, 2) << "two runs must not write to one directory";
  ::kill(child, SIGKILL);
  EXPECT_EQ(wait_for(child), 128 + SIGKILL);
  EXPECT_FALSE(fs::exists(folder / "out/result.json"));
  const Ended e = invar({"report", folder / "out"});
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_TRUE(has(e.out, "no end mark")) << e.out;
  const std::string seen = python(
      "import h5py, numpy as np, sys\n"
      "f = h5py.File(sys.argv[1])\n"
      "t = f['time'][:]\n"
      "assert len(t) > 100 and np.abs(np.diff(t) - 1e-3).max() < 1e-9 and f.attrs['complete'] == 0\n"
      "assert np.isfinite(f['bodies/rod/p'][:]).all() and np.ptp(f['energy/total'][:]) < 1e-9\n"
      "print('fine')\n",
      {folder / "out/run.h5"});
  EXPECT_EQ(seen, "fine\n");
}

// What is refused before the first step costs nothing that is there.
TEST(Run, ThatIsRefusedLeavesAnEarlierOutput) {
  Folder folder;
  write_file(folder / "good.toml", pendulum("0.1", ""));
  write_file(folder / "bad.toml",
             pendulum("0.1", "[[figure]]\nname = 'f'\n[[figure.panel]]\ncurves = [{ of = 'energy/totl' }]\n"));
  ASSERT_EQ(invar({"run", folder / "good.toml", "-o", folder / "out"}).code, 0);
  const Ended e = invar({"run", folder / "bad.toml", "-o", folder / "out"});
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "bad.toml:7:")) << e.err;
  for (const char* name : {"run.log", "run.h5", "result.json"}) EXPECT_TRUE(fs::exists(folder / "out/" + name)) << name;
}

// Scenario and model under names that a run writes, or behind a link of such a name.
TEST(Run, WritesOverNothingThatItReads) {
  for (const char* file : {"result.json", "run.h5", "run.log", "report.html"})
    for (const bool link : {false, true})
      for (const bool the_model : {false, true}) {
        const std::string what = std::string(file) + (link ? ", a link" : "") + (the_model ? ", model" : "");
        Folder folder;
        fs::create_directory(folder / "out");
        const std::string place = link ? folder / "original.toml" : folder / "out/" + file;
        const std::string scenario = the_model ? folder / "s.toml" : place;
        const std::string content = the_model ? read_file(model("pendulum")) : pendulum("0.1", "");
        write_file(place, content);
        if (link) fs::create_symlink(place, folder / "out/" + file);
        if (the_model)
          write_file(scenario, "model = '" + place + "'\n[integrator]\nmethod = 'rk4'\nstep = 0.001\n[time]\nend = 0.1\n");
        const Ended e = invar({"run", scenario, "-o", folder / "out", "--force"});
        EXPECT_EQ(e.code, 2) << what;
        EXPECT_TRUE(has(e.err, "is read here, and would be written over")) << what << ": " << e.err;
        EXPECT_EQ(read_file(place), content) << what;
      }
}

// A nominal model and a learned file, of which inertias alone are taken or that adapts on, are read like all others.
TEST(Run, WritesOverNoModelThatAControllerReads) {
  const std::string arm = read_file(source_path("scenarios/arm_unknown_load.toml"));
  for (const bool learned : {true, false}) {
    Folder folder;
    fs::create_directory(folder / "out");
    const std::string from = source_path(learned ? "learn/arm_load.learned.json" : "models/paper_a_arm.toml");
    const std::string there = folder / (learned ? "out/result.json" : "out/report.html");
    write_file(there, read_file(from));
    std::string text = arm;
    const auto put = [&](const std::string& old, const std::string& with) {
      for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + with.size()))
        text.replace(at, old.size(), with);
    };
    if (learned)
      put("{ file = \"../learn/arm_load.learned.json\"", "{ load = false, file = \"" + there + "\"");
    else
      put("nominal = \"../models/paper_a_arm.toml\"", "nominal = \"" + there + "\"");
    ASSERT_TRUE(has(text, there)) << text;
    put("\"../", "\"" + source_path() + "/");
    write_file(folder / "s.toml", text);
    const Ended e = invar({"run", folder / "s.toml", "-o", folder / "out", "--force"});
    EXPECT_EQ(e.code, 2) << there;
    EXPECT_TRUE(has(e.err, "is read here, and would be written over")) << e.err;
    EXPECT_EQ(read_file(there), read_file(from));
  }
}

TEST(Report, WritesOverNoRecording) {
  Folder folder;
  ASSERT_EQ(invar({"run", scenario("pendulum"), "-o", folder / "out"}).code, 0);
  const auto size = fs::file_size(folder / "out/run.log");
  for (const char* option : {"-o", "--png"})
    for (const char* name : {"run.log", "run.h5", "result.json"}) {
      const Ended e = invar({"report", folder / "out", option, folder / "out/../out/" + name});
      EXPECT_EQ(e.code, 2) << option << name;
      EXPECT_TRUE(has(e.err, "part of the recording")) << e.err;
    }
  EXPECT_EQ(fs::file_size(folder / "out/run.log"), size);
}

TEST(Report, SaysThatTheResultIsDamaged) {
  Folder folder;
  ASSERT_EQ(invar({"run", scenario("pendulum"), "-o", folder / "out"}).code, 0);
  if (!fs::exists(folder / "out/report.html")) GTEST_SKIP() << "the program was built without the page";
  write_file(folder / "out/result.json", "{\"status\": ");
  const Ended e = invar({"report", folder / "out"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_TRUE(has(e.err, "result.json is damaged")) << e.err;
}

TEST(Report, DrawsAStill) {
  Folder folder;
  ASSERT_EQ(invar({"run", scenario("pendulum"), "-o", folder / "out"}).code, 0);
  Ended e =
      invar({"report", folder / "out", "--png", folder / "p.png", "--strip", "3", "--trace", "rod", "--size", "200", "100"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_GT(fs::file_size(folder / "p.png"), 200u);
  e = invar({"report", folder / "out", "--png", folder / "q.png", "--trace", "rood"});
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "did you mean 'rod'")) << e.err;
  e = invar({"report", folder / "out", "--png", folder / "q.png", "--at", "1e9"});
  EXPECT_EQ(e.code, 2);
  EXPECT_FALSE(fs::exists(folder / "q.png"));
}

TEST(Report, RefusesWhatIsNoOutputOfARun) {
  Folder folder;
  Ended e = invar({"report", folder / "nowhere"});
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "no such directory")) << e.err;
  e = invar({"report", folder.path()});
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "no run.log")) << e.err;
  for (const std::string& text : {std::string(), std::string("INVARLOG"), std::string(1000, 'x')}) {
    write_file(folder / "run.log", text);
    e = invar({"report", folder.path()});
    EXPECT_EQ(e.code, 2);
    EXPECT_EQ(e.err.rfind("error: ", 0), 0u) << e.err;
    EXPECT_FALSE(fs::exists(folder / "run.h5"));
  }
}

}  // namespace invar::testing
