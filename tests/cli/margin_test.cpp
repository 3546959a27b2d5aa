// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "support/folder.hpp"

namespace invar::testing {
namespace {

using nlohmann::json;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string pendulum(double kappa, const std::string& more) {
  return "model = '" INVAR_SOURCE_DIR
         "/models/pendulum.toml'\n[time]\nend = 2\n[integrator]\nmethod = 'rk4'\nstep = 0.005\n"
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
  args[args.size() - 2] = "0.9";
  e = invar(args);
  EXPECT_EQ(e.code, 2);
  EXPECT_TRUE(has(e.err, "0.9 takes 9 runs")) << e.err;
}

}  // namespace
}  // namespace invar::testing
