// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "program.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

using nlohmann::json;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A pendulum of 1 kg and 1 m about y with damping that its model does not know, swinging by hand: q = sin t. The motion is given,
// so the known moment on the body is what Newton and Euler ask for, less the unknown damping 0.4 q̇.
struct Swings {
  Folder folder;

  Swings() {
    write_file(
        folder / "model.toml",
        "name = \"pendulum\"\n[[body]]\nname = \"bob\"\nmass = 1\ninertia = { xx = 0.1, yy = 0.1, zz = 0.1 }\n"
        "[[joint]]\nname = \"pivot\"\nkind = \"revolute\"\nchild = \"bob\"\naxis = [0, 1, 0]\nat_child = { p = [0, 0, 1] }\n");
    for (int r = 1; r <= 3; ++r) {
      std::string text = "time";
      for (const char* c : {"qw", "qx", "qy", "qz", "px", "py",     "pz",     "vx",     "vy", "vz", "wx",
                            "wy", "wz", "ax", "ay", "az", "alphax", "alphay", "alphaz", "mx", "my", "mz"})
        text += fmt::format(",bob.{}", c);
      text += "\n";
      for (int i = 0; i < 40; ++i) {
        const double t = 0.1 * i, w = 1 + 0.3 * r, q = std::sin(w * t), v = w * std::cos(w * t), a = -w * w * q;
        const double s = std::sin(q), c = std::cos(q);
        // The bob hangs at (-sin q, 0, -cos q) below the pivot.
        const double my = (1.0 + 0.1) * a + 9.81 * s + 0.4 * v;
        text += fmt::format("{},{},0,{},0,{},0,{},{},0,{},0,{},0,{},0,{},0,{},0,0,{},0\n", t, std::cos(q / 2), std::sin(q / 2),
                            -s, -c, -c * v, s * v, v, -c * a + s * v * v, s * a + c * v * v, a, my);
      }
      write_file(folder / fmt::format("run{}.csv", r), text);
    }
    write_file(
        folder / "learn.toml",
        "model = \"model.toml\"\n[[data]]\nfile = \"run1.csv\"\n[[data]]\nfile = \"run2.csv\"\n[[data]]\nfile = \"run3.csv\"\n"
        "[[term]]\nkind = \"joint_viscous\"\n");
  }
};

TEST(Learn, FindsTheDampingOfAPendulumAndWritesIt) {
  const Swings s;
  const Ended e = invar({"learn", s.folder / "learn.toml", "--json"});
  ASSERT_EQ(e.code, 0) << e.err;
  const json out = json::parse(e.out);
  EXPECT_EQ(out["coefficients"][0]["of"], "damping of 'pivot'");
  // Texts have shortest round-trip numbers; ridge of the weakest strength leaves 1e-10.
  EXPECT_NEAR(out["coefficients"][0]["value"].get<double>(), 0.4, 1e-8);
  EXPECT_LT(out["held_out_error"].get<double>(), 1e-6);
  const json file = json::parse(read_file(s.folder / "learn.learned.json"));
  EXPECT_EQ(file["invar_learned"], 2);
  EXPECT_EQ(file["edits"][0]["kind"], "set_passive");
  EXPECT_NEAR(file["edits"][0]["damping"][0].get<double>(), 0.4, 1e-8);
  EXPECT_TRUE(file["load"].empty());
}

TEST(Learn, SaysInATableWhatItIsWorth) {
  const Swings s;
  const Ended e = invar({"learn", s.folder / "learn.toml", "-o", s.folder / "other.json", "--threads", "2"});
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_TRUE(has(e.out, "nothing learned") && has(e.out, "all terms")) << e.out;
  EXPECT_TRUE(has(e.out, "other.json: 1 edits of the model, 0 terms of a load")) << e.out;
  EXPECT_TRUE(has(e.out, "turned Worlds") && has(e.out, "World components, turned copies")) << e.out;
  EXPECT_TRUE(has(e.out, "judged on the runs on which strengths were chosen")) << e.out;
}

TEST(Learn, JudgesOnRunsThatNothingElseHasSeenAndMakesAPage) {
  const Swings s;
  std::string text = read_file(s.folder / "learn.toml");
  text.insert(text.find("[[term]]"), "judges = true\n");
  write_file(s.folder / "learn.toml", text);
  const Ended e =
      invar({"learn", s.folder / "learn.toml", "--json", "--raw", "2", "--points", "2", "--page", s.folder / "p.html"});
  ASSERT_EQ(e.code, 0) << e.err;
  const json out = json::parse(e.out)["comparison"];
  EXPECT_EQ(out["judged_on"], json::array({"run3.csv"}));
  EXPECT_FALSE(out["strengths_chosen_there"].get<bool>());
  EXPECT_EQ(out["contenders"][0]["name"], "nothing learned");
  EXPECT_EQ(out["contenders"][1]["name"], "all terms");
  const double error = out["contenders"][1]["curve"].back()["error"].get<double>();
  EXPECT_LT(error, 1e-6);
  EXPECT_NEAR(out["contenders"][1]["turned_worlds"].get<double>(), error, 1e-8);
  EXPECT_GT(out["contenders"][2]["turned_worlds"].get<double>(), 0.1);  // World components in a turned World
  const std::string page = read_file(s.folder / "p.html");
  EXPECT_TRUE(has(page, "\"study\":{\"level\":\"held\"") && has(page, "damping of 'pivot'"));
  const Ended plain = invar({"learn", s.folder / "learn.toml", "--json", "--no-compare"});
  EXPECT_FALSE(json::parse(plain.out).contains("comparison"));
}

// A learned model with nothing in it.
constexpr const char* kNothing =
    "{\"invar_learned\": 2, \"model\": \"arm\", \"bodies\": [], \"joints\": [], \"learned\": false, \"nominal\": "
    "{\"inertias\": [], \"passives\": []}, \"obstacles\": [], \"inputs\": [], \"edits\": [], \"load\": [], \"from\": {\"data\": "
    "\"0000000000000000\", \"seed\": "
    "\"0000000000000001\", \"training\": [], \"held_out\": [], \"samples\": 0, \"window\": 0, \"strengths\": [], "
    "\"training_error\": 1, \"held_out_error\": 1, \"noise\": 0}, \"undetermined\": [], \"notes\": []}";

// Paper A's arm on a circle with a sampled law and nothing to learn: all ways are classical, and a perfect model needs none.
TEST(Learn, AdvisesOnALoop) {
  const Folder folder;
  write_file(folder / "none.learned.json", kNothing);
  std::string text = read_file(source_path("scenarios/arm_circle.toml"));
  const std::string law = "law = \"task\"\n";
  ASSERT_NE(text.find(law), std::string::npos);
  text.insert(text.find(law), "period = 0.005\n");
  text.replace(text.find("../models"), 9, source_path("models"));
  write_file(folder / "s.toml", text);
  const Ended e = invar({"learn", folder / "none.learned.json", "--advise", folder / "s.toml", "--budget", "4", "--json"});
  ASSERT_EQ(e.code, 0) << e.err;
  const json loops = json::parse(e.out)["loops"];
  EXPECT_EQ(loops["ways"].size(), 4u);
  EXPECT_EQ(loops["ways"][0]["name"], "nothing");
  for (const json& way : loops["ways"]) EXPECT_LE(way["candidates"].get<int>(), 4);
  const Ended bare = invar({"learn", folder / "none.learned.json"});
  EXPECT_EQ(bare.code, 2);
  EXPECT_TRUE(has(bare.err, "--advise SCENARIO")) << bare.err;
  const Ended other = invar({"learn", folder / "none.learned.json", "--advise", source_path("scenarios/crane_hydraulics.toml")});
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(has(other.err, "laws I to III")) << other.err;
}

// Ctrl-C keeps what was found, says so first, and says of ways that were not begun that they were not.
TEST(Learn, SaysThatAnAdviceWasInterrupted) {
  const Folder folder;
  write_file(folder / "none.learned.json", kNothing);
  std::string text = read_file(source_path("scenarios/arm_circle.toml"));
  text.replace(text.find("../models"), 9, source_path("models"));
  write_file(folder / "s.toml", text);
  for (const bool as_json : {false, true}) {
    std::vector<std::string> args = {
        "learn", folder / "none.learned.json", "--advise", folder / "s.toml", "--budget", "1000", "--threads", "1"};
    if (as_json) args.push_back("--json");
    const pid_t child = start_invar(args, folder / "out", folder / "err");
    std::this_thread::sleep_for(std::chrono::milliseconds(700));  // some of 4000 runs
    ::kill(child, SIGINT);
    EXPECT_EQ(wait_for(child), 130);
    const std::string out = read_file(folder / "out");
    EXPECT_TRUE(has(out, "not tried") && !has(out, "no way keeps the margin")) << out;
    if (as_json) {
      EXPECT_EQ(json::parse(out)["loops"]["advice"].get<std::string>().rfind("interrupted", 0), 0u) << out;
    } else {
      EXPECT_TRUE(has(out, "\ninterrupted")) << out;
    }
  }
}

// The shipped arm under water, whose payload is attached when the run begins. Where nobody measures the gusts an observer is
// taken, and no learned load; the sentence says why. A load that is let go on the way makes another mechanism.
TEST(Learn, AdvisesAnObserverWhereNobodyMeasuresTheFlow) {
  const Folder folder;
  const std::string learned = source_path("learn/underwater_arm.learned.json");
  std::string text = read_file(source_path("scenarios/underwater_arm.toml"));
  const std::size_t meter = text.find("measured = ");
  ASSERT_NE(meter, std::string::npos);
  text.erase(meter, text.find('\n', meter) - meter);
  for (const char* above : {"../models", "../learn"}) text.replace(text.find(std::string("\"") + above) + 1, 2, source_path());
  write_file(folder / "s.toml", text);
  const Ended e = invar({"learn", learned, "--advise", folder / "s.toml", "--budget", "4", "--json"});
  ASSERT_EQ(e.code, 0) << e.err;
  const json loops = json::parse(e.out)["loops"];
  ASSERT_TRUE(loops["take"].is_string()) << e.out;
  const std::string take = loops["take"], advice = loops["advice"];
  EXPECT_TRUE(take.ends_with("observer") && !take.starts_with("learned")) << take;
  EXPECT_TRUE(has(advice, "take " + take) && has(advice, "a learned load is not needed here")) << advice;
  EXPECT_TRUE(has(advice, "nobody measures the flow, whose force it cannot tell")) << advice;
  const Ended later =
      invar({"learn", learned, "--advise", source_path("scenarios/chain_in_gusts.toml"), "--budget", "4", "--json"});
  EXPECT_EQ(later.code, 2);
  EXPECT_TRUE(has(later.err, "leave out the edit 'detach 'load''")) << later.err;
}

// The pendulum under law II without ticks: there is no jitter then.
std::string swung(const std::string& learned) {
  return "model = 'model.toml'\n[time]\nend = 2.2\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n[[control]]\nname = 'c'\nlaw = "
         "'body_pose'\nconsistency = 'projection'\n" +
         learned +
         "\nbodies = [{ body = 'bob', path = { position = { kind = 'fixed', p = [0, 0, -1] }, attitude = { kind = 'rotations', "
         "rotations = [{ axis = [0, 1, 0], angle = { kind = 'sine', amplitude = 0.1, frequency = 0.5 } }] } } }]\n";
}

// What was learned beside an obstacle is tried where the scenario says that the obstacle stands.
TEST(Learn, AdvisesWithWhatWasLearnedBesideAnObstacle) {
  const Swings s;
  write_file(s.folder / "learn.toml", read_file(s.folder / "learn.toml") +
                                          "[[term]]\nkind = \"obstacle\"\non = [\"bob\"]\nobstacles = [\"post\"]\nbumps = 2\n"
                                          "reach = 3\n[[obstacle]]\nname = \"post\"\nat = [1, 0, -1.5]\n");
  const Ended learned = invar({"learn", s.folder / "learn.toml", "--no-compare"});
  ASSERT_EQ(learned.code, 0) << learned.err;
  ASSERT_FALSE(json::parse(read_file(s.folder / "learn.learned.json"))["load"].empty());
  write_file(s.folder / "s.toml",
             swung("learned = { file = 'learn.learned.json', obstacles = [{ name = 'post', at = [1, 0, -1.5] }] }"));
  const std::vector<std::string> args = {"learn", s.folder / "learn.learned.json", "--advise", s.folder / "s.toml", "--budget",
                                         "4"};
  std::vector<std::string> as_json = args;
  as_json.push_back("--json");
  const Ended e = invar(as_json);
  ASSERT_EQ(e.code, 0) << e.err;
  const json loops = json::parse(e.out)["loops"];
  ASSERT_EQ(loops["ways"].size(), 12u);
  int found = 0;
  for (const json& way : loops["ways"]) {
    EXPECT_EQ(way.value("failure", std::string()), "") << way["name"];
    found += way["found"].get<bool>() && way["name"].get<std::string>().starts_with("learned");
    EXPECT_FALSE(way.contains("jitter")) << way["name"];
  }
  EXPECT_GT(found, 0);
  EXPECT_EQ(loops["error_unit"], "m");
}

// What cannot be tried is refused before the search: a run without a margin or with nothing left to judge, another mechanism.
TEST(Learn, RefusesAnAdviceThatCannotBe) {
  const Swings s;
  ASSERT_EQ(invar({"learn", s.folder / "learn.toml", "--no-compare"}).code, 0);
  const auto refused = [&](const std::string& scenario, const char* after, const char* words) {
    write_file(s.folder / "s.toml", scenario);
    const Ended e = invar({"learn", s.folder / "learn.learned.json", "--advise", s.folder / "s.toml", "--after", after});
    EXPECT_EQ(e.code, 2) << words;
    EXPECT_EQ(e.out, "");
    EXPECT_TRUE(has(e.err, words)) << e.err;
  };
  std::string brief = swung("");
  brief.replace(brief.find("end = 2.2"), 9, "end = 1.5");
  refused(brief, "1", "the run lasts 1.5 s, a disturbance is given 2 s to be forgotten");
  refused(swung(""), "2.2", "the run lasts 2.2 s, of which 2.2 s are for settling");
  refused(swung(""), "nan", "'nan' was given");
  std::string model = read_file(s.folder / "model.toml");
  model.replace(model.find("pivot"), 5, "wrist");
  write_file(s.folder / "model.toml", model);
  refused(swung(""), "1", "which the model has not");
}

// What is taken can be pasted: the same loop comes out. Without a load whole files are what was identified.
TEST(Learn, AdvisesInLinesOfTheControlTable) {
  const Swings s;
  ASSERT_EQ(invar({"learn", s.folder / "learn.toml", "--no-compare"}).code, 0);
  write_file(s.folder / "s.toml", swung(""));
  const std::vector<std::string> args = {"learn", s.folder / "learn.learned.json", "--advise", s.folder / "s.toml", "--budget",
                                         "4"};
  const Ended e = invar(args);
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_TRUE(has(e.out, "'learned' was not tried") && !has(e.out, "\nlearned")) << e.out;
  const std::size_t at = e.out.find("    gains = { rate = ");
  ASSERT_NE(at, std::string::npos) << e.out;
  const std::string lines = e.out.substr(at);
  const double error = std::stod(lines.substr(lines.find("position = ") + 11)),
               attitude = std::stod(lines.substr(lines.find("attitude = ") + 11));
  EXPECT_NEAR(attitude, 2 * error, 2e-3 * attitude);
  EXPECT_TRUE(has(e.out, "a bound that was found with other gains is void")) << e.out;
  const Ended run = invar({"run", "-o", s.folder / "out", "--force", [&] {
                             write_file(s.folder / "pasted.toml", swung(lines));
                             return s.folder / "pasted.toml";
                           }()});
  EXPECT_EQ(run.code, 0) << lines << run.err;
  std::vector<std::string> as_json = args;
  as_json.push_back("--json");
  EXPECT_EQ(json::parse(invar(as_json).out)["loops"]["ways"].size(), 8u);
}

// Where attitudes alone are followed errors are angles.
TEST(Learn, AdvisesInRadiansWhereAttitudesAreFollowed) {
  const Folder folder;
  write_file(folder / "ball.toml",
             "name = \"ball\"\n[[body]]\nname = \"bob\"\nmass = 1\ninertia = { xx = 0.1, yy = 0.1, zz = 0.1 }\n[[joint]]\nname = "
             "\"pivot\"\nkind = \"spherical\"\nchild = \"bob\"\nat_child = { p = [0, 0, 1] }\n");
  write_file(folder / "none.learned.json", kNothing);
  write_file(
      folder / "s.toml",
      "model = 'ball.toml'\n[time]\nend = 2.2\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n[[control]]\nname = 'c'\nlaw = "
      "'task'\ntasks = [{ body = 'bob', follow = 'attitude', path = { attitude = { kind = 'rotations', rotations = [{ axis = "
      "[0, 1, 0], angle = { kind = 'sine', amplitude = 0.3, frequency = 0.5 } }] } } }]\n");
  const std::vector<std::string> args = {"learn", folder / "none.learned.json", "--advise", folder / "s.toml", "--budget", "4"};
  std::vector<std::string> as_json = args;
  as_json.push_back("--json");
  const Ended e = invar(as_json);
  ASSERT_EQ(e.code, 0) << e.err;
  const json loops = json::parse(e.out)["loops"];
  EXPECT_EQ(loops["error_unit"], "rad") << e.out;
  const Ended table = invar(args);
  EXPECT_TRUE(has(table.out, "error [mrad]") && has(table.out, "rad rms") && !has(table.out, " mm")) << table.out;
  EXPECT_FALSE(has(table.out, "nan")) << table.out;
}

// Coefficients are there when advice or page go wrong.
TEST(Learn, TellsWhatItLearnedBeforeAnErrorOfAdviceOrPage) {
  const Swings s;
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--no-compare", "--advise", s.folder / "nowhere.toml"},
                                               {"--raw", "0", "--points", "1", "--page", s.folder / "nowhere/p.html"}}) {
    std::vector<std::string> args = {"learn", s.folder / "learn.toml", "--json"};
    args.insert(args.end(), more.begin(), more.end());
    const Ended e = invar(args);
    EXPECT_EQ(e.code, 2) << e.err;
    EXPECT_TRUE(has(e.err, "nowhere")) << e.err;
    const json out = json::parse(e.out, nullptr, false);
    ASSERT_FALSE(out.is_discarded()) << e.out;
    EXPECT_EQ(out["coefficients"].size(), 1u);
  }
}

TEST(Learn, RefusesInOneLine) {
  const Swings s;
  write_file(s.folder / "learn.toml",
             "model = \"model.toml\"\n[[data]]\nfile = \"run1.csv\"\n[[term]]\nkind = \"joint_viscous\"\n");
  const Ended one = invar({"learn", s.folder / "learn.toml"});
  EXPECT_EQ(one.code, 2);
  EXPECT_TRUE(has(one.err, "one run only")) << one.err;
  write_file(s.folder / "learn.toml",
             "model = \"model.toml\"\n[[data]]\nfile = \"run1.csv\"\nheld_out = true\njudges = true\n[[term]]\nkind = "
             "\"joint_viscous\"\n");
  const Ended both = invar({"learn", s.folder / "learn.toml"});
  EXPECT_EQ(both.code, 2);
  EXPECT_TRUE(has(both.err, "a run that judges is left out of everything else")) << both.err;
  const Ended none = invar({"learn", s.folder / "nowhere.toml"});
  EXPECT_EQ(none.code, 2);
}

// The page that nobody named would be written over the learned model.
TEST(Learn, RefusesAPageInThePlaceOfTheModel) {
  const Swings s;
  const std::vector<std::string> args = {"learn", s.folder / "learn.toml", "--raw", "0", "-o", s.folder / "pendulum.html"};
  const Ended e = invar(args);
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "the page and the learned model would be the same file")) << e.err;
  EXPECT_TRUE(read_file(s.folder / "pendulum.html").empty());
  std::vector<std::string> without = args;
  without.emplace_back("--no-compare");
  EXPECT_EQ(invar(without).code, 0);
}

// A recording is read by its directory or by its run.h5: nothing that its run left there is written over.
TEST(Learn, WritesOverNothingOfARecordingThatItReads) {
  const Swings s;
  write_file(s.folder / "swing.toml",
             "model = 'model.toml'\n[initial.joints]\npivot = { q = 0.5 }\n[time]\nend = 1\n[integrator]\nmethod = 'rk4'\nstep = "
             "0.01\n[record]\nevery = 5\nwhat = ['bodies', 'accelerations', 'loads', 'joints']\n");
  const Ended run = invar({"run", s.folder / "swing.toml", "-o", s.folder / "swing"});
  ASSERT_EQ(run.code, 0) << run.err;
  for (const char* data : {"swing", "swing/run.h5", "swing/run.log"})
    for (const char* output : {"swing/run.log", "swing/run.h5", "swing/result.json"}) {
      write_file(s.folder / "learn.toml",
                 fmt::format("model = 'model.toml'\noutput = '{}'\n[[data]]\nfile = '{}'\n[[data]]\nfile = "
                             "'run1.csv'\n[[term]]\nkind = 'joint_viscous'\n",
                             output, data));
      const std::string before = read_file(s.folder / output);
      for (const bool page : {false, true}) {
        std::vector<std::string> args = {"learn", s.folder / "learn.toml", "--raw", "0"};
        if (page) args.insert(args.end(), {"-o", s.folder / "elsewhere.json", "--page", s.folder / output});
        const Ended e = invar(args);
        EXPECT_EQ(e.code, 2) << data << " " << output;
        EXPECT_TRUE(has(e.err, "is read here, and would be written over")) << e.err;
        EXPECT_TRUE(read_file(s.folder / output) == before) << data << " " << output;
      }
    }
}

// With one run nothing is known of unseen ones, and nothing is said of them.
TEST(Learn, TellsNoHeldOutErrorWhereNoneWasHeldOut) {
  const Swings s;
  const std::string one =
      "model = \"model.toml\"\n[[data]]\nfile = \"run1.csv\"\n[[term]]\nkind = \"joint_viscous\"\nstrength = 1e-9\n";
  write_file(s.folder / "learn.toml", one);
  const Ended e = invar({"learn", s.folder / "learn.toml"});
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_TRUE(has(e.out, "what training runs (none were held out) leave over")) << e.out;
  EXPECT_TRUE(json::parse(invar({"learn", s.folder / "learn.toml", "--json"}).out)["held_out_error"].is_null());
  EXPECT_FALSE(json::parse(read_file(s.folder / "learn.learned.json"))["from"].contains("held_out_error"));
  write_file(s.folder / "learn.toml", one + "[fit]\nmethod = \"sparse\"\n");
  const Ended sparse = invar({"learn", s.folder / "learn.toml"});
  EXPECT_EQ(sparse.code, 2);
  EXPECT_TRUE(has(sparse.err, "learn.toml:8:") && has(sparse.err, "take method = \"ridge\"")) << sparse.err;
}

// What is learned again to the last digit keeps the bound that runs of its loop gave it, and the page shows it; what is learned
// otherwise has none, and the page says how one is found.
TEST(Learn, ShowsTheBoundOfALoopAndHowItIsFound) {
  const Swings s;
  const std::vector<std::string> args = {"learn",  s.folder / "learn.toml", "--raw", "0", "--points", "1",
                                         "--page", s.folder / "p.html"};
  ASSERT_EQ(invar(args).code, 0);
  EXPECT_TRUE(has(read_file(s.folder / "p.html"), "invar calibrate SCENARIO"));
  json file = json::parse(read_file(s.folder / "learn.learned.json"));
  file["bound"] = {{"value", 1.25}, {"unit", "N/sqrt(kg)"}, {"confidence", 0.9},           {"runs", 20},
                   {"settling", 4}, {"largest", 1.375},     {"loop", {"law = slotine_li"}}};
  write_file(s.folder / "learn.learned.json", file.dump());
  ASSERT_EQ(invar(args).code, 0);
  EXPECT_EQ(json::parse(read_file(s.folder / "learn.learned.json"))["bound"], file["bound"]);
  const std::string page = read_file(s.folder / "p.html");
  EXPECT_FALSE(has(page, "invar calibrate SCENARIO"));
  for (const char* cell : {"\"1.25\"", "\"0.9\"", "\"20\"", "\"1.38\""}) EXPECT_TRUE(has(page, cell)) << cell;
  write_file(s.folder / "learn.toml", read_file(s.folder / "learn.toml") + "strength = 1e-3\n");
  const Ended other = invar(args);
  ASSERT_EQ(other.code, 0);
  EXPECT_TRUE(has(other.out + other.err, "calibrate again")) << other.out << other.err;
  EXPECT_FALSE(json::parse(read_file(s.folder / "learn.learned.json")).contains("bound"));
  // The note wants one until there is one, and costs nothing then.
  ASSERT_EQ(invar(args).code, 0);
  json noted = json::parse(read_file(s.folder / "learn.learned.json"));
  ASSERT_TRUE(has(noted["notes"].dump(), "calibrate again")) << noted["notes"];
  noted["bound"] = file["bound"];
  write_file(s.folder / "learn.learned.json", noted.dump());
  ASSERT_EQ(invar(args).code, 0);
  EXPECT_EQ(json::parse(read_file(s.folder / "learn.learned.json"))["bound"], file["bound"]);
}

}  // namespace
}  // namespace invar::testing
