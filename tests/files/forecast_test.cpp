// SPDX-License-Identifier: Apache-2.0
// What a run is said to record before it begins is what it records.
#include <gtest/gtest.h>

#include "invar/io/result_json.hpp"
#include "invar/io/scenario_file.hpp"
#include "support/case.hpp"
#include "support/outcome.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

const std::string kPath = source_path("scenarios/here.toml");

Scenario parsed(const std::string& text) {
  auto s = parse_scenario(text, kPath);
  EXPECT_TRUE(s) << s.error().text();
  return std::move(*s);
}

std::string pendulum(const std::string& method, const std::string& more) {
  return "model = '../models/pendulum.toml'\n[integrator]\n" + method + "\n[time]\nend = 1\n" + more;
}

// An arm that is told where to stay, now and then.
std::string sampled_arm(const std::string& step, const std::string& period, const std::string& end) {
  return "model = '../models/arm.toml'\n[time]\nend = " + end + "\n[integrator]\nmethod = 'rk4'\nstep = " + step +
         "\n[initial.joints]\nshoulder = { q = -0.6 }\nelbow = { q = 1.4 }\nbend = { q = -0.8 }\n[[control]]\nname = 'arm'\n"
         "law = 'task'\ntasks = [{ frame = 'tip', follow = 'position', from_start = true, path = { position = { kind = 'fixed', "
         "p = [0, 0, 0] } } }]\nperiod = " +
         period + "\n";
}

std::string edits(const std::vector<std::string>& times) {
  std::string out;
  for (std::size_t k = 0; k < times.size(); ++k)
    out += "[[edit]]\nat = " + times[k] + "\nkind = '" + (k % 2 == 0 ? "lock" : "unlock") + "'\njoint = 'hinge'\n";
  return out;
}

double foreseen(const Scenario& s) {
  const auto found = check(s);
  EXPECT_TRUE(found) << found.error().text();
  return found ? found->samples : 0;
}

const std::string kPulses =
    "[[disturbance]]\nbody = 'rod'\nforce = [1, 0, 0]\nsignal = { kind = 'pulse', from = 0.10005, to = 0.33333 }\n"
    "[[disturbance]]\nbody = 'rod'\nforce = [0, 0, 1]\nsignal = { kind = 'pulse', from = 0.1001, to = 0.5 }\n";

TEST(Forecast, OfSamplesIsWhatIsRecorded) {
  const std::string rk4 = "method = 'rk4'\nstep = 0.001", dopri5 = "method = 'dopri5'";
  for (const std::string& text : {
           pendulum(rk4, ""),
           pendulum(rk4, "[record]\nevery = 7\n"),
           pendulum(rk4, "[record]\nevery = 7\n" + kPulses),
           pendulum("method = 'rk4'\nstep = 0.0007", kPulses),
           pendulum(rk4, "[record]\nevery = 10\n" + edits({"0", "0.2", "0.20005", "0.5555"})),
           pendulum(rk4, "[record]\nevery = 3\n" + kPulses + edits({"0.1001", "0.6"})),
           pendulum(dopri5, ""),
           pendulum(dopri5, "[record]\nevery = 0.03\n" + kPulses),
           pendulum(dopri5, "[record]\nevery = 0.1\n" + edits({"0.2", "0.25", "0.7"})),
           sampled_arm("0.01", "0.003", "0.2"),
           sampled_arm("0.001", "0.0025", "0.2") + "[record]\nevery = 4\n",
       }) {
    const Scenario s = parsed(text);
    const Outcome out = outcome_of(s);
    EXPECT_EQ(out.end, Outcome::End::Finished) << out.words;
    EXPECT_EQ(foreseen(s), metric(out, "samples")) << text;
  }
}

// Between two ticks there is a step, however long steps may be: 10 s of ticks every µs are 1e7 samples, not 1e4.
TEST(Forecast, CountsTicksThatAreFinerThanSteps) {
  EXPECT_NEAR(foreseen(parsed(sampled_arm("1e-3", "1e-6", "10"))), 1e7, 1e5);
  EXPECT_NEAR(foreseen(parsed(sampled_arm("1e-3", "1e-2", "10"))), 1e4, 10);
}

// Room for result.json is kept before a run begins: a run with edits has a long one.
TEST(Forecast, OfTheResultIsLongEnough) {
  std::vector<std::string> times;
  for (int k = 0; k < 60; ++k) times.push_back(std::to_string(0.01 * (k + 1)));
  std::size_t longest = 0;
  for (const std::string& text : {pendulum("method = 'rk4'\nstep = 0.001", edits(times)), sampled_arm("0.01", "0.003", "0.2")}) {
    const Scenario s = parsed(text);
    const std::size_t size = result_json(s, outcome_of(s)).size();
    EXPECT_LE(size, result_room(s));
    longest = std::max(longest, size);
  }
  EXPECT_GT(longest, 1u << 16) << "otherwise a fixed size would do";
}

}  // namespace
}  // namespace invar::testing
