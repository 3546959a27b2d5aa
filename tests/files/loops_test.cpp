// SPDX-License-Identifier: Apache-2.0
//
// Water, observers, rates, bounds and mountings in scenario files: read as meant, refused in words with their place.
#include <gtest/gtest.h>

#include "invar/run/run.hpp"
#include "support/arm_texts.hpp"
#include "support/recorded.hpp"

namespace invar {
namespace {

using namespace testing::arm_texts;

// One freedom: the law in freedoms of a pendulum.
std::string pendulum(const std::string& law, const std::string& joint = "") {
  return "model = '../models/pendulum.toml'\n[time]\nend = 1\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n[[control]]\n" + law +
         "\njoints = [{ joint = 'hinge', reference = { kind = 'constant', value = 0.4 }" + joint + " }]\n";
}

class LoopRefused : public ::testing::TestWithParam<Bad> {};

TEST_P(LoopRefused, InWords) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Texts, LoopRefused,
    ::testing::Values(
        Bad{scenario(task("observer = { }")), "needs its 'rate'"}, Bad{scenario(task("observer = { rate = -3 }")), "positive"},
        Bad{scenario(task("observer = { rate = 300 }\nperiod = 0.005")), "at most 200"},
        Bad{scenario(task("observer = { rate = 30 }\nas_printed = true")), "the printed law has none"},
        Bad{scenario(task("bound = { remainder = 1 }\nas_printed = true")), "promises nothing"},
        Bad{scenario(task("bound = { remainder = 0 }")), "must be positive"},
        Bad{scenario(task("bound = { confidence = 0.9, runs = 20 }")), "give it as 'remainder'"},
        Bad{scenario(task("bound = { remainder = 1, confidence = 0.9 }")), "go together"},
        Bad{scenario(task("bound = { remainder = 1, confidence = 0.99, runs = 20 }")), "0.99 takes 99 runs"},
        // A number of runs is compared, not made room for.
        Bad{scenario(task("bound = { remainder = 1, confidence = 1.5, runs = 2000000000 }")), "lies between 0 and 1"},
        Bad{scenario(task("bound = { remainder = 1, after = -1 }")), "at least 0"},
        Bad{scenario(task("lag = 0.01")), "'lag' needs a 'period'"},
        Bad{scenario(task("lag = 0.01\nperiod = 0.01\nactuators = [{ kind = 'motor', joint = 'elbow' }]")), "say it there"},
        Bad{scenario(task("hold = 'body'")), "it needs a 'period'"},
        Bad{scenario(task("actuators = [{ kind = 'motor', joint = 'elbow', mounted = { turn = [0, 0, 1] } }]")), "'gain' only"},
        Bad{scenario(task("actuators = [{ kind = 'motor', joint = 'elbow', mounted = { gain = 1 } }]")), "as it is told"},
        Bad{scenario(task("actuators = [{ kind = 'force', frame = 'tip', axes = 'world', mounted = { turn = [0, 0, 1] } }]")),
            "take the axes of its frame"},
        Bad{pendulum("law = 'computed_torque'\ngains = { rate = 3 }"), "per unit of inertia already"},
        Bad{pendulum("law = 'slotine_li'\ngains = { rate = 3 }\nmodel_based = false"), "needs the inertias of the model"},
        Bad{pendulum("law = 'slotine_li'\ngains = { }"), "have a 'rate'"},
        Bad{pendulum("law = 'slotine_li'", ", gain = 0"), "'gain' must be positive"},
        Bad{pendulum("law = 'slotine_li'\nas_printed = true"), "as_printed"},
        Bad{scenario(task(""), "[[strip_drag]]\nbodies = ['hand']\nfrom = [0, 0, 0]\nto = [1, 0, 0]"), "a drag needs"},
        Bad{scenario(task(""), "[[strip_drag]]\nacross = -1\nbodies = ['hand']\nfrom = [0, 0, 0]\nto = [1, 0, 0]"),
            "drag gives no energy"},
        Bad{scenario(task(""), "[[strip_drag]]\nacross = 1\nbodies = ['hnad']\nfrom = [0, 0, 0]\nto = [1, 0, 0]"),
            "did you mean 'hand'"},
        Bad{scenario(task(""), "[[strip_drag]]\nacross = 1\nbodies = ['hand']\nfrom = [0, 0, 0]\nto = [0, 0, 0]"), "no length"},
        Bad{scenario(task(""), "[[strip_drag]]\nacross = 1\nbodies = ['hand', 'fore']\nfrom = [0, 0, 0]\nto = [1, 0, 0]"),
            "name that one alone"},
        Bad{scenario(task(""), "[[strip_drag]]\nacross = 1\nbodies = ['hand', 'fore', 'hand']"), "'hand' is named twice"},
        Bad{scenario(task(""), "[[strip_drag]]\nacross = 1\nbodies = []"), "leave 'bodies' out"},
        Bad{scenario(task(""), "[flow]\nvelocity = [1, 0, 0]\ngusts = [{ amplitude = [1, 0, 0], frequency = -1 }]"),
            "positive 'frequency'"},
        Bad{scenario(task(""), "[flow]\nvelocity = [1, 0, 0]\nmeasured = { deviation = -1 }"), "not negative"},
        Bad{scenario(task(""), "[flow]\nvelocity = [1, 0, 0]\nmeasured = { deviation = 1, hold = 0 }"), "must be held"},
        Bad{scenario(task(""), "[[edit]]\nat = 0.5\nkind = 'lock'\njoint = 'elbow'"), "not 'lock'"}));

// The edit that stands in the way is where the error is.
TEST(Edits, UnderControlAreRefusedWhereTheyStand) {
  const std::string text = scenario(task(""),
                                    "[[edit]]\nat = 0.2\nkind = 'attach'\nname = 'load'\nbody = 'hand'\nmass = 1\ninertia = { xx "
                                    "= 0.1, yy = 0.1, zz = 0.1 }\n[[edit]]\nat = 0.5\nkind = 'lock'\njoint = 'elbow'");
  const auto s = parse_scenario(text, kPath);
  ASSERT_FALSE(s);
  int line = 1;
  for (std::size_t i = 0; i < text.find("kind = 'lock'"); ++i) line += text[i] == '\n';
  EXPECT_NE(s.error().where.find(":" + std::to_string(line) + ":"), std::string::npos) << s.error().text() << line;
}

TEST(Loops, AreReadAsTheyAreWritten) {
  const auto s = parse_scenario(
      scenario(task("gains = { rate = 10 }\nobserver = { rate = 30 }\nperiod = 0.005\ndelay = 0.005\nlag = 0.01\nhold = 'body'\n"
                    "bound = { remainder = 2.5, after = 0.4, confidence = 0.9, runs = 20 }"),
               "[flow]\nvelocity = [0.1, 0, 0]\ngusts = [{ amplitude = [0.5, 0, 0], frequency = 0.7, phase = 1 }]\nmeasured = { "
               "deviation = 0.03 }\n[[strip_drag]]\nbodies = ['hand']\nfrom = [0, 0, 0]\nto = [0.2, 0, 0]\nacross = 2\nalong = "
               "0.15\nlinear = 0.5\n[[edit]]\nat = 0.5\nkind = 'attach'\nname = 'load'\nbody = 'hand'\nmass = 1\ninertia = { xx "
               "= 0.1, yy = 0.1, zz = 0.1 }"),
      kPath);
  ASSERT_TRUE(s) << s.error().text();
  ASSERT_EQ(s->controllers.size(), 1u);
  EXPECT_TRUE(s->controllers[0].with_body);
  EXPECT_EQ(s->controllers[0].lag, 0.01);
  ASSERT_TRUE(s->flow);
  EXPECT_NEAR(s->flow->velocity(0.0).x(), 0.1 + 0.5 * std::sin(1), 1e-15);
  EXPECT_TRUE(s->flow->is_measured());
  const auto law = s->controllers[0].law(*s->controllers[0].nominal);
  ASSERT_NE(law->remainder(), nullptr);
  EXPECT_EQ(law->remainder()->bound().most, 2.5);
  EXPECT_EQ(law->remainder()->bound().after, 0.4);
  EXPECT_EQ(law->remainder()->bound().runs, 20);
  EXPECT_TRUE(law->observes());
  bool stated = false;
  for (const Finding& f : law->certificate().findings) stated = stated || (f.name == "ultimate_bound" && f.value == 0.25);
  EXPECT_TRUE(stated) << "before the run";
  const auto out = testing::judged_run(*s);
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ(out->end, Outcome::End::Finished) << out->words;
  EXPECT_EQ(out->edits.size(), 1u);
  bool scored = false;
  for (const Metric& m : out->metrics) scored = scored || (m.name == "arm.remainder" && m.value > 0);
  EXPECT_TRUE(scored);
}

}  // namespace
}  // namespace invar
