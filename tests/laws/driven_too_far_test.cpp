// SPDX-License-Identifier: Apache-2.0
//
// A drive that asks for more than its loop can reach ends the run, and is named as what may be to blame; other failures blame no
// drive.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "invar/io/model_file.hpp"
#include "invar/io/scenario_file.hpp"
#include "invar/run/run.hpp"
#include "support/campaign.hpp"
#include "support/folder.hpp"
#include "support/linkages.hpp"
#include "support/recorded.hpp"

namespace invar::testing {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string kBlame = "may ask for more than the mechanism can reach";

std::string drive(const char* joint, double q, double rate) {
  return fmt::format("[[drive]]\njoint = '{}'\nsignal = {{ kind = 'polynomial', coefficients = [{:.17g}, {:.17g}] }}\n", joint, q,
                     rate);
}

struct Linkage {
  Folder folder;
  explicit Linkage(const ModelSpec& spec) { write_file(folder / "m.toml", write_model(spec)); }
  Outcome run(const std::string& text, const char* formulation, const std::string& time = "end = 8") const {
    const auto s = parse_scenario(fmt::format("model = 'm.toml'\nformulation = '{}'\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n"
                                              "[time]\n{}\n",
                                              formulation, time) +
                                      text,
                                  folder / "s.toml");
    EXPECT_TRUE(s) << (s ? "" : s.error().text());
    const auto out = s ? judged_run(*s) : Result<Outcome>(tl::unexpected(s.error()));
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return out ? *out : Outcome{};
  }
};

// The crank of a crank-rocker turns all the way round, and its rocker swings by less than half a turn: driven at a constant rate
// for two turns the crank arrives, and the rocker is asked for what it cannot reach.
TEST(DrivenLoop, AskedForMoreThanItCanReachNamesItsDrive) {
  Random random(seed(9970));
  for (int k = 0; k < cases(6); ++k) {
    ModelSpec spec = crank_rocker(random, std::pow(10, random.uniform(-1, 1)));
    spec.initial = {{"a", {0.7}}};
    const Model model = *Model::build(spec);
    VecX q, v;
    joint_coordinates(model, *bodies_at(model, Start(model)), q, v);
    const double rocker = q[model.joints()[3].q0], rate = random.chance(0.5) ? 1.6 : -1.6;
    const Linkage linkage(spec);
    for (const char* formulation : {"augmented", "minimal"}) {
      const Outcome crank = linkage.run(drive("a", 0.7, rate), formulation);
      EXPECT_EQ(crank.end, Outcome::End::Finished) << formulation << ": " << crank.words;
      const Outcome beyond = linkage.run(drive("d", rocker, rate), formulation);
      ASSERT_EQ(beyond.end, Outcome::End::Failed) << formulation;
      EXPECT_TRUE(has(beyond.words, "a drive ('d') " + kBlame)) << formulation << ": " << beyond.words;
    }
  }
}

TEST(DrivenLoop, ThatEndsForAnotherReasonDoesNotBlameItsDrive) {
  Random random(seed(9980));
  ModelSpec spec = crank_rocker(random, 1);
  spec.initial = {{"a", {0.7}}};
  spec.joints[0].limits.lower = {-1}, spec.joints[0].limits.upper = {2}, spec.joints[0].limits.stiffness = 1e3;
  const Linkage linkage(spec);
  const Outcome stopped = linkage.run(drive("a", 0.7, 1.6), "augmented", "end = 8\nstops = 'end'");
  ASSERT_EQ(stopped.end, Outcome::End::Failed);
  EXPECT_EQ(stopped.verdict.status, Status::JointStop);
  EXPECT_FALSE(has(stopped.words, kBlame)) << stopped.words;
  // A push beyond all numbers, and no drive.
  const Outcome pushed = linkage.run("[[effort]]\njoint = 'a'\nvalue = 1e308\n", "augmented");
  ASSERT_EQ(pushed.end, Outcome::End::Failed);
  EXPECT_FALSE(has(pushed.words, kBlame)) << pushed.words;
}

}  // namespace
}  // namespace invar::testing
