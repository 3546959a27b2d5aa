// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/program.hpp"
#include "invar/io/learned_file.hpp"
#include "invar/io/model_file.hpp"
#include "support/folder.hpp"
#include "support/places.hpp"
#include "support/reference_loop.hpp"

namespace invar::testing {
namespace {

using nlohmann::json;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string pendulum(double kappa, const std::string& more) {
  return "model = '" + source_path("models/pendulum.toml") +
         "'\n[time]\nend = 2\n[integrator]\nmethod = 'rk4'\nstep = 0.005\n"
         "[[control]]\nname = 'c'\nlaw = 'slotine_li'\nperiod = 0.005\ngains = { rate = " +
         std::to_string(kappa) + " }\n" + more +
         "\njoints = [{ joint = 'hinge', rate = 5, reference = { kind = 'constant', value = 0.4 } }]\n";
}

std::string written(const Folder& folder, const char* name, const std::string& text) {
  write_file(folder / name, text);
  return folder / name;
}

TEST(MarginVerb, TellsKeptFromLost) {
  const Folder folder;
  const std::string kept = written(folder, "kept.toml", pendulum(15, "")), lost = written(folder, "lost.toml", pendulum(170, ""));
  Ended e = invar({"margin", kept});
  EXPECT_EQ(e.code, 0) << e.out << e.err;
  EXPECT_TRUE(has(e.out, "margin kept: with 1.6 times the change of command and 5 ms more delay")) << e.out;
  e = invar({"margin", lost, "--json"});
  EXPECT_EQ(e.code, 1) << e.out << e.err;
  const json result = json::parse(e.out);
  EXPECT_FALSE(result["kept"].get<bool>());
  EXPECT_EQ(result["delay"], 0.005);
  // The same gains with nothing asked beyond them.
  EXPECT_EQ(invar({"margin", lost, "--gain", "1", "--delay", "0"}).code, 0);
  e = invar({"margin", scenario("pendulum")});
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "no controller")) << e.err;
  EXPECT_EQ(invar({"margin", kept, "--gain", "-1"}).code, 2);
}

// Where the loop itself fails before the first disturbance is over, nothing was left of one: that is no 0.
TEST(MarginVerb, HasNoNumberWhereTheLoopItselfFails) {
  const Folder folder;
  const std::string torn = written(folder, "torn.toml", pendulum(15, "") + "[[effort]]\njoint = 'hinge'\nvalue = 1e300\n");
  const Ended e = invar({"margin", torn, "--json"});
  EXPECT_EQ(e.code, 1) << e.out << e.err;
  const json result = json::parse(e.out);
  EXPECT_TRUE(result["left"].is_null()) << e.out;
  EXPECT_TRUE(has(result["failure"].get<std::string>(), "infinite or NaN")) << e.out;
}

// A look that was broken off says nothing of the windows that were not tried.
TEST(MarginVerb, GivesNoVerdictWhereItIsInterrupted) {
  const Folder folder;
  std::string text = pendulum(15, "");
  text.replace(text.find("end = 2"), 7, "end = 1e5");
  const std::string endless = written(folder, "s.toml", text);
  for (const bool as_json : {false, true}) {
    std::vector<std::string> args = {"margin", endless};
    if (as_json) args.push_back("--json");
    const pid_t child = start_invar(args, folder / "out", folder / "err");
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // some of its 50000 windows
    ::kill(child, SIGINT);
    EXPECT_EQ(wait_for(child), 130);
    const std::string out = read_file(folder / "out");
    if (!as_json) {
      EXPECT_TRUE(has(out, "no verdict") && !has(out, "margin kept") && !has(out, "margin lost")) << out;
      continue;
    }
    const json result = json::parse(out);
    EXPECT_TRUE(result["interrupted"].get<bool>());
    EXPECT_TRUE(result["kept"].is_null()) << "of " << result["windows"].size() << " windows";
  }
}

TEST(CalibrateVerb, PrintsWhatGoesIntoTheFile) {
  const Folder folder;
  std::vector<std::string> args = {"calibrate"};
  for (int k = 0; k < 4; ++k)
    args.push_back(written(
        folder, ("run" + std::to_string(k) + ".toml").c_str(),
        pendulum(15, "bound = { after = 0.5 }") + "[[effort]]\njoint = 'hinge'\nvalue = " + std::to_string(1 + k) + "\n"));
  args.insert(args.end(), {"--confidence", "0.8", "--json"});
  Ended e = invar(args);
  ASSERT_EQ(e.code, 0) << e.out << e.err;
  const json result = json::parse(e.out);
  EXPECT_EQ(result["runs"], 4);
  double largest = 0;
  for (const json& s : result["scores"]) largest = std::max(largest, s.get<double>());
  EXPECT_EQ(result["remainder"].get<double>(), largest) << "four of four runs for 0.8";
  EXPECT_EQ(result["after"], 0.5);
  // What is printed bounds what was found, closely, and is what a scenario takes.
  args.pop_back();
  e = invar(args);
  ASSERT_EQ(e.code, 0) << e.err;
  const std::string line = e.out.substr(e.out.find("bound ="));
  const double told = std::stod(line.substr(line.find("remainder = ") + 12));
  EXPECT_GE(told, largest);
  EXPECT_LE(told, largest * (1 + 1e-3)) << "four digits";
  EXPECT_TRUE(has(line, "after = 0.5, confidence = 0.8, runs = 4 }")) << line;
  EXPECT_EQ(invar({"run", written(folder, "told.toml", pendulum(15, line)), "-o", folder / "told"}).code, 0) << line;
  args.push_back("--json");
  args[args.size() - 2] = "0.9";
  e = invar(args);
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "0.9 takes 9 runs")) << e.err;
}

// What is rounded to nearest is too small for every other family: of these eight, none is.
TEST(CalibrateVerb, RoundsUp) {
  const Folder folder;
  for (int k = 0; k < 8; ++k) {
    const std::string run = written(folder, "run.toml",
                                    pendulum(15, "bound = { after = 0.5 }") +
                                        "[[effort]]\njoint = 'hinge'\nvalue = " + std::to_string(1 + 0.3717 * k) + "\n");
    const std::vector<std::string> args = {"calibrate", run, "--confidence", "0.5"};
    const std::string line = invar(args).out;
    std::vector<std::string> as_json = args;
    as_json.push_back("--json");
    const double exact = json::parse(invar(as_json).out)["remainder"].get<double>();
    const double told = std::stod(line.substr(line.find("remainder = ") + 12));
    EXPECT_GE(told, exact);
    EXPECT_LE(told, exact * (1 + 1e-3));
  }
}

// A run that is listed twice is one run.
TEST(CalibrateVerb, CountsARunOnce) {
  const Folder folder;
  const std::string run =
      written(folder, "run.toml", pendulum(15, "bound = { after = 0.5 }") + "[[effort]]\njoint = 'hinge'\nvalue = 1\n");
  Ended e = invar({"calibrate", run, folder / "./run.toml", "--confidence", "0.5"});
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "is listed twice")) << e.err;
  e = invar({"calibrate", run, written(folder, "copy.toml", read_file(run)), "--confidence", "0.5"});
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "the same run")) << e.err;
}

TEST(CalibrateVerb, RefusesAFamilyThatSettlesForDifferentTimes) {
  const Folder folder;
  const std::string one = written(folder, "one.toml", pendulum(15, "bound = { after = 0.5 }")),
                    two = written(folder, "two.toml", pendulum(15, "bound = { after = 0.6 }"));
  const Ended e = invar({"calibrate", one, two, "--confidence", "0.5"});
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "settling takes 0.6 s here and 0.5 s in")) << e.err;
}

// Loops with other gains are no family, with a learned model or without.
TEST(CalibrateVerb, RefusesAFamilyOfSeveralLoops) {
  const Folder folder;
  const std::string one = written(folder, "one.toml", pendulum(15, "bound = { after = 0.5 }")),
                    two = written(folder, "two.toml", pendulum(15, "bound = { after = 0.5 }\nobserver = { rate = 5 }"));
  const Ended e = invar({"calibrate", one, two, "--confidence", "0.5"});
  EXPECT_EQ(e.code, 2);
  EXPECT_EQ(e.out, "") << "said before the first run";
  EXPECT_TRUE(has(e.err, "two.toml: is another loop") && has(e.err, "observer.rate is not told there and 5 here")) << e.err;
}

// A learned model of the pendulum that changes nothing about it.
std::string learned_pendulum(const Folder& folder, const char* name) {
  EXPECT_TRUE(write_learned_file(folder / name, *learned_by_hand(*read_model_file(source_path("models/pendulum.toml")), {}, {})));
  return folder / name;
}

TEST(CalibrateVerb, WritesTheBoundIntoALearnedModel) {
  const Folder folder;
  const std::string file = learned_pendulum(folder, "p.learned.json");
  const std::string run = written(folder, "run.toml",
                                  pendulum(15, "bound = { after = 0.5 }\nlearned = { file = 'p.learned.json' }") +
                                      "[[effort]]\njoint = 'hinge'\nvalue = 1\n");
  // It was learned anew and says so, until it is calibrated.
  json stale = json::parse(read_file(file));
  stale["notes"] = {"other words", "the bound that the file had was of what was learned before: calibrate again"};
  write_file(file, stale.dump());
  const Ended e = invar({"calibrate", run, "--confidence", "0.5", "--into", file, "--json"});
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(json::parse(read_file(file))["notes"], json::array({"other words"}));
  const json bound = json::parse(read_file(file))["bound"];
  EXPECT_EQ(bound["value"], json::parse(e.out)["remainder"]);
  EXPECT_EQ(bound["settling"], 0.5);
  EXPECT_EQ(bound["runs"], 1);
  const auto loop = bound["loop"].get<std::vector<std::string>>();
  EXPECT_EQ(loop, (std::vector<std::string>{"gains.rate = 15", "joints[0].rate = 5", "law = slotine_li", "period = 0.005"}));
  // A file has the bound of one loop.
  const std::string other =
      written(folder, "other.toml", pendulum(16, "bound = { after = 0.5 }") + "[[effort]]\njoint = 'hinge'\nvalue = 2\n");
  const Ended mixed = invar({"calibrate", run, other, "--confidence", "0.5", "--into", file});
  EXPECT_EQ(mixed.code, 2);
  EXPECT_TRUE(has(mixed.err, "is another loop") && has(mixed.err, "gains.rate is 15 there and 16 here")) << mixed.err;
  EXPECT_EQ(bound["largest"], bound["value"]);
  EXPECT_TRUE(has(e.err, "wrote the bound into " + file)) << e.err;
  // Which one of two controllers is meant has to be said, whichever scenario has them.
  std::string second = pendulum(15, "bound = { after = 0.5 }");
  second = second.substr(second.find("[[control]]"));
  for (const char* name : {"name = 'c'", "name = \"c\""})
    if (const std::size_t at = second.find(name); at != std::string::npos) second.replace(at, 10, "name = 'd'");
  const std::string two = written(folder, "two.toml", pendulum(15, "bound = { after = 0.5 }") + second);
  const Ended which = invar({"calibrate", run, two, "--confidence", "0.5"});
  EXPECT_EQ(which.code, 2);
  EXPECT_TRUE(has(which.err, "this scenario has 2 controllers: say which one is meant")) << which.err;
  const Ended none = invar({"calibrate", run, "--confidence", "0.5", "--into", folder / "nowhere.json"});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.out, "") << "said before the first run";
}

// A bound is that of the loops it was found in: one run of the family without the learned model, with another one, with less or
// more of it, and the file stays as it is.
TEST(CalibrateVerb, WritesNoBoundOfOtherLoopsIntoALearnedModel) {
  const Folder folder;
  const std::string file = learned_pendulum(folder, "p.learned.json"), before = read_file(file);
  learned_pendulum(folder, "other.learned.json");
  const std::string good =
      written(folder, "good.toml", pendulum(15, "bound = { after = 0.5 }\nlearned = { file = 'p.learned.json' }"));
  for (const char* learned :
       {"", "learned = { file = 'other.learned.json' }", "learned = { file = 'p.learned.json', load = false }"}) {
    const std::string bad = written(folder, "bad.toml", pendulum(15, std::string("bound = { after = 0.5 }\n") + learned));
    const Ended e = invar({"calibrate", good, bad, "--confidence", "0.5", "--into", file});
    EXPECT_EQ(e.code, 2) << learned;
    EXPECT_EQ(e.out, "") << "said before the first run";
    EXPECT_TRUE(has(e.err, "bad.toml: ") && has(e.err, "controller 'c' does not take all of")) << e.err;
    EXPECT_EQ(read_file(file), before);
  }
  // Another machine, of which the file was not learned.
  std::string heavy = read_file(source_path("models/pendulum.toml"));
  heavy.replace(heavy.find("mass = 1.0"), 10, "mass = 3.0");
  write_file(folder / "heavy.toml", heavy);
  std::string other = read_file(good);
  other.replace(other.find(source_path("models/pendulum.toml")), source_path("models/pendulum.toml").size(), "heavy.toml");
  const Ended e = invar({"calibrate", written(folder, "bad.toml", other), "--confidence", "0.5", "--into", file});
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "another nominal model") && has(e.err, "weighs 3 kg here and weighed 1 kg there")) << e.err;
  EXPECT_EQ(read_file(file), before);
  // The same file by another name is the same file.
  EXPECT_EQ(invar({"calibrate", good, "--confidence", "0.5", "--into",
                   folder / "../" + std::filesystem::path(file).parent_path().filename().string() + "/p.learned.json"})
                .code,
            0);
}

// What is attached at the start belongs to the plant; what is let go on the way is refused by name.
TEST(MarginVerb, MeasuresShippedScenariosWhosePayloadIsAnEdit) {
  const Ended held = invar({"margin", scenario("underwater_arm")});
  EXPECT_EQ(held.code, 0) << held.out << held.err;
  EXPECT_TRUE(has(held.out, "margin kept")) << held.out;
  const Ended let_go = invar({"margin", scenario("chain_in_gusts")});
  EXPECT_EQ(let_go.code, 2);
  EXPECT_TRUE(has(let_go.err, "at 8 s this one becomes another: leave out the edit 'detach 'load''")) << let_go.err;
}

}  // namespace
}  // namespace invar::testing
