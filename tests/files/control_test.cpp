// SPDX-License-Identifier: Apache-2.0
//
// What a [[control]] table asks for and no controller does is refused in words before the run.
#include <gtest/gtest.h>

#include "invar/run/run.hpp"
#include "support/arm_texts.hpp"
#include "support/recorded.hpp"

namespace invar {
namespace {

using namespace testing::arm_texts;

class ControlRefused : public ::testing::TestWithParam<Bad> {};

TEST_P(ControlRefused, InWords) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Texts, ControlRefused,
    ::testing::Values(
        Bad{scenario("law = 'tasks'"), "did you mean 'task'"}, Bad{scenario("law = 'task'"), "at least one entry"},
        Bad{scenario("law = 'task'\ntasks = [{ frame = 'tipp', " + kHere + " }]"), "did you mean 'tip'"},
        Bad{scenario("law = 'task'\ntasks = [{ frame = 'tip', path = { position = { kind = 'fixed', p = [9, 0, 0] }, attitude = "
                     "{ kind = 'fixed' } } }]"),
            "leaves what can be reached"},
        Bad{scenario("law = 'task'\ntasks = [{ body = 'hand', follow = 'position', path = { position = { kind = 'fixed', p = [0, "
                     "0, 9] } } }]"),
            "leaves what can be reached"},
        Bad{scenario(task("gains = { linear = 0, angular = 1 }")), "positive definite"},
        Bad{scenario(task("gains = { rate = -1 }")), "at least 0"},
        Bad{scenario("law = 'task'\ntasks = [{ frame = 'tip', follow = 'position', damping = 0.1, " + kHere + " }]"),
            "the first task"},
        // The upper link is carried by two hinges: its centre has two rates, of which the tip needs one.
        Bad{scenario("law = 'task'\ntasks = [{ frame = 'tip', follow = 'position', " + kHere +
                     " }, { body = 'upper', follow = 'position', " + kHere + " }]"),
            "with 'damping' (1e-3) it is followed as well as what is left allows"},
        // What is told to a task after a damped one would be taken from it.
        Bad{scenario("law = 'task'\ntasks = [{ frame = 'tip', follow = 'position', " + kHere +
                     " }, { body = 'upper', follow = 'position', damping = 1e-3, " + kHere +
                     " }, { body = 'fore', follow = 'position', damping = 1e-3, " + kHere + " }]"),
            "must be the last"},
        Bad{scenario("law = 'task'\ntasks = [{ frame = 'tip', follow = 'position', " + kHere +
                     " }, { frame = 'tip', follow = 'position', damping = 1e-3, " + kHere + " }]"),
            "another 'name'"},
        Bad{scenario(task("guard = [{ body = 'fore', at = [0, 0, 0] }]")), "no 'obstacles'"},
        Bad{scenario(
                task("obstacles = [{ kind = 'sphere', at = [0, 0, 0], width = 1e-3 }]\nguard = [{ body = 'fore', from = [0, 0, "
                     "0], to = [0.7, 0, 0] }]")),
            "too long"},
        Bad{scenario(task("joint_limits = { joints = [{ joint = 'elbow', lower = -6, upper = 6 }] }")), "more than a turn"},
        Bad{scenario(task("joint_limits = { joints = [{ joint = 'elbow', lower = 4 }] }")), "beyond half a turn"},
        Bad{scenario(task("obstacles = [{ kind = 'sphere', at = [0.3, 0, 0.6], radius = 1, width = 1e-3 }]")), "not finite"},
        Bad{scenario(task("integral = { linear = 0 }")), "needs 'linear'"},
        Bad{scenario(task("integral = { linear = 1, rate = 1 }")), "not both"},
        Bad{scenario(task("integral = { linear = 1 }\nas_printed = true")), "the printed law has none"},
        Bad{scenario(task("joint_limits = { strength = 1 }")), "no joint of the nominal model has limits"},
        Bad{scenario(task("joint_limits = { joints = [{ joint = 'elbo', lower = 0 }] }")), "did you mean 'elbow'"},
        Bad{scenario(task("joint_limits = { joints = [{ joint = 'elbow', lower = 2, upper = 1 }] }")),
            "the lower below the upper"},
        Bad{scenario(task("obstacles = [{ kind = 'sphere', at = [0, 0, 0], width = 0 }]")), "'width' must be positive"},
        Bad{scenario(task("obstacles = [{ kind = 'capsule', from = [0, 0, 0], to = [0, 0, 0] }]")), "has a length"},
        Bad{scenario(
                task("obstacles = [{ kind = 'sphere', at = [0, 0, 0] }]\nguard = [{ body = 'fore', at = [0, 0, 0], from = [0, "
                     "0, 0], to = [1, 0, 0] }]")),
            "'at' a point"},
        Bad{scenario("law = 'slotine_li'\njoints = [{ joint = 'elbow', reference = { kind = 'constant', value = 1 } }]"),
            "freedoms"},
        Bad{scenario("law = 'impedance'\nframe = 'tip'\nstiffness = -1\npath = { position = { kind = 'fixed', p = [0, 0, 0] } }"),
            "positive semidefinite"},
        Bad{scenario(task(""), "[[disturbance]]\nbody = 'hand'\nforce = [1, 0, 0]\nsignal = { kind = 'random', hold = 0 }"),
            "must be held"}));

// Far from zero times are coarse, and ticks and random numbers must still come one after the other, or be refused.
TEST(Control, GoesOnFarFromTimeZero) {
  int finished = 0;
  for (const auto& [start, period] :
       {std::pair{"1e4", "1e-4"}, {"1e5", "1e-3"}, {"1e11", "1e-6"}, {"1e15", "1e-3"}, {"-3e4", "1e-4"}}) {
    std::string text = scenario(
        task(std::string("period = ") + period),
        std::string("[[disturbance]]\nbody = 'hand'\nforce = [1, 0, 0]\nsignal = { kind = 'random', hold = ") + period + " }");
    text.replace(text.find("end = 1"), 7,
                 "start = " + std::string(start) + "\nend = " + std::to_string(std::stod(start) + 20 * std::stod(period)));
    const auto s = parse_scenario(text, kPath);
    if (!s) continue;  // in words
    const auto outcome = testing::judged_run(*s);
    EXPECT_TRUE(!outcome || outcome->end == Outcome::End::Finished) << start << ", " << period;
    finished += outcome ? 1 : 0;
  }
  EXPECT_GE(finished, 2) << "those whose times can be told apart";
}

// What speaks of a run's numbers by name is looked at before the run begins.
TEST(Must, NamesMetricsThatTheRunHas) {
  const auto s = parse_scenario(scenario(task(""), "[must]\nmetric = [{ name = 'arm.tip.positon.final', below = 1 }]"), kPath);
  ASSERT_TRUE(s) << s.error().text();
  const auto outcome = run(*s);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().what.find("did you mean 'arm.tip.position.final'"), std::string::npos) << outcome.error().text();
}

// The same seed, the same noise; another seed or another stream, another.
TEST(RandomDisturbances, FollowTheSeedOfTheScenario) {
  const auto end = [](int seed, const std::string& stream) {
    const auto s =
        parse_scenario("seed = " + std::to_string(seed) +
                           "\nmodel = '../models/arm.toml'\n[time]\nend = 0.1\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n"
                           "[[disturbance]]\nbody = 'hand'\nforce = [0, 1, 0]\nsignal = { kind = 'random', hold = 0.01" +
                           stream + " }\n",
                       kPath);
    EXPECT_TRUE(s) << s.error().text();
    Load load(*s->model);
    s->environments[0]->add(0.005, Bodies(s->model->bodies().size()), load);
    return load.port.back().force.y();
  };
  EXPECT_EQ(end(1, ""), end(1, ""));
  EXPECT_NE(end(1, ""), end(2, ""));
  EXPECT_NE(end(1, ", stream = 1"), end(1, ", stream = 2"));
  EXPECT_EQ(end(1, ", stream = 1"), end(1, ", stream = 1"));
}

}  // namespace
}  // namespace invar
