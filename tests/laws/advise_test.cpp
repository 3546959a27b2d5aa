// SPDX-License-Identifier: Apache-2.0
//
// What a run must be to be scored, and what an advice says where runs fail or it is interrupted.
#include "invar/run/advise.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "invar/control/joint_law.hpp"
#include "invar/run/calibration.hpp"
#include "support/controlled.hpp"
#include "support/recorded.hpp"

namespace invar::testing {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// A cart on a rail, on a spring of its own where asked for.
ModelSpec cart(double stiffness = 0) {
  ModelSpec spec;
  spec.gravity = Vec3::Zero();
  spec.bodies.push_back({"cart", solid_box(3, {0.3, 0.2, 0.1}), {}, {}});
  JointSpec j;
  j.name = "way", j.kind = JointKind::Prismatic, j.child = "cart", j.axis = Vec3(1, 0, 0);
  if (stiffness > 0) j.spring.stiffness = {stiffness};
  spec.joints.push_back(j);
  return spec;
}

// It follows a sine of 0.3 m and 1 rad/s; nobody says where to between two times.
Scenario loop(const LoopWay& way, const LoopGains& gains, double lost_from = 1e9, double lost_to = 1e9, double stiffness = 0) {
  JointLawSpec law;
  law.rate = gains.damping, law.observer = gains.observer;
  JointAim aim;
  aim.joint = 0, aim.gain = 0, aim.rate = gains.error, aim.integral = way.integral ? 3 * gains.integral : 0;
  aim.path = [=](Instant at) {
    const double t = at.t > lost_from && at.t < lost_to ? kNone : at.t;
    return Jet{0.3 * std::sin(t), 0.3 * std::cos(t), -0.3 * std::sin(t)};
  };
  law.aims = {aim};
  ControllerSpec c;
  c.law = [law](const Model& m) { return std::make_unique<JointLaw>(m, law); };
  c.period = 0.005, c.weighs = true;
  return controlled(cart(stiffness), Bodies(1), 2.5, 0.0025, c);
}
MakeLoop maker() {
  return [](const LoopWay& way, const LoopGains& gains) -> Result<Scenario> { return loop(way, gains); };
}

AdviseOptions asked(std::vector<LoopWay> ways) {
  AdviseOptions o;
  o.ways = std::move(ways), o.budget = 40, o.after = 1;
  return o;
}
const LoopWay kPlain{}, kIntegral{LoopWay::Knows::Nominal, true, false};

// For 0.1 s the law has nothing to command: the error of that time says nothing of the loop, and is not even seen.
TEST(Score, IsNoneWhereTheLawWasNotDefined) {
  const Scenario s = loop(kPlain, {}, 1.2, 1.3);
  const LoopScore score = score_of(s, "control", 1);
  EXPECT_NE(score.failure.find("the law is not defined at 1.2"), std::string::npos) << score.failure;
  EXPECT_FALSE(std::isfinite(score.error));
  const auto found = calibrate({s}, "", 0.5);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().what.find("the law is not defined at 1.2"), std::string::npos) << found.error().what;
  EXPECT_EQ(score_of(loop(kPlain, {}), "control", 1).failure, "");
  // A law that never was defined has not failed to settle.
  const auto never = judged_run(loop(kPlain, {}, -1));
  ASSERT_TRUE(never);
  for (const Metric& m : never->metrics)
    if (m.name == "control.remainder") {
      EXPECT_NE(m.reason.find("the law is not defined at 0 s"), std::string::npos) << m.reason;
    }
}

// A first command has none before it, and changes by nothing that could be told.
TEST(Score, HasNoChangeOfTheFirstCommand) {
  Scenario s = loop(kPlain, {});
  s.end_time = 0.1, s.sampling.steps = 2;
  Watched w;
  ASSERT_TRUE(watch(s, w)) << w.outcome.words;
  const auto& change = w.readings.of("command_change");
  EXPECT_TRUE(std::isnan(change.front()));
  for (std::size_t i = 1; i < change.size(); ++i) EXPECT_TRUE(std::isfinite(change[i])) << i;
  EXPECT_TRUE(std::isfinite(score_of(s, "control", 0).jitter));
}

// A spring of 200 rad/s in steps of 10 ms: the run ends, and says itself that it resolved nothing.
TEST(Score, IsNoneWhereTheRunIsUnresolved) {
  Scenario s = loop(kPlain, {}, 1e9, 1e9, 3 * 200.0 * 200.0);
  s.controllers[0].period = s.method.step = 0.01;
  const auto out = judged_run(s);
  ASSERT_TRUE(out);
  ASSERT_EQ(out->end, Outcome::End::Finished) << out->words;
  ASSERT_NE(out->unresolved, "");
  const LoopScore score = score_of(s, "control", 1);
  EXPECT_NE(score.failure.find("unresolved"), std::string::npos) << score.failure;
  const auto found = calibrate({s}, "", 0.5);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().what.find("unresolved"), std::string::npos) << found.error().what;
}

// The first grid of a way without integral and observer has 16 candidates; after 20 of 40 gains that keep the margin are known.
TEST(Advice, KeepsTheBestSoFarWhereItIsInterrupted) {
  std::atomic<bool> stop = false;
  AdviseOptions o = asked({kPlain, kIntegral});
  int tried = 0;
  o.stop = &stop, o.progress = [&](const std::string&, double) { stop = ++tried == 20; };
  const auto found = advise(maker(), o);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_TRUE(found->interrupted);
  ASSERT_TRUE(found->loops[0].found);
  EXPECT_EQ(found->loops[0].error(), found->loops[0].searched.error);
  EXPECT_TRUE(std::isfinite(found->loops[0].error()));
  EXPECT_EQ(found->taken, 0);
  EXPECT_EQ(found->loops[1].searched.failure, "not tried");
  const std::string words = sentence(*found, false);
  EXPECT_EQ(words.rfind("interrupted", 0), 0u) << words;
  EXPECT_NE(words.find("take nothing: "), std::string::npos) << words;
  // Before anything: nobody says that no gains keep the margin.
  stop = true;
  const auto none = advise(maker(), o);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->taken, -1);
  for (const AdvisedLoop& l : none->loops) EXPECT_EQ(l.searched.failure, "not tried");
  EXPECT_EQ(sentence(*none, false).rfind("interrupted", 0), 0u) << sentence(*none, false);
}

// Some candidates cannot be made, the others run and lose the margin: that is why there are no gains. Where none can be made, the
// reason is theirs.
TEST(Advice, SaysWhyAWayWasNotFound) {
  const auto with = [&](double most) {
    AdviseOptions o = asked({kPlain});
    o.margin.left = -1;  // nothing keeps it
    const auto found = advise(
        [&](const LoopWay& way, const LoopGains& gains) -> Result<Scenario> {
          if (gains.damping > most && gains.damping != LoopGains{}.damping) return fail(ErrorKind::Scenario, "too fast");
          return loop(way, gains);
        },
        o);
    EXPECT_TRUE(found);
    EXPECT_FALSE(found->loops[0].found);
    return found->loops[0].searched.failure;
  };
  EXPECT_EQ(with(100), "");
  EXPECT_NE(with(0).find("too fast"), std::string::npos);
}

// Before any candidate: a run without a margin, one that settles to its end, a learned file that no loop can take.
TEST(Advice, RefusesWhatCannotBeJudged) {
  const auto refused = [](const MakeLoop& make, AdviseOptions o) {
    int tried = 0;
    o.progress = [&](const std::string&, double) { ++tried; };
    const auto found = advise(make, o);
    EXPECT_EQ(tried, 0);
    return found ? std::string("searched") : found.error().what;
  };
  const MakeLoop brief = [](const LoopWay& way, const LoopGains& gains) -> Result<Scenario> {
    Scenario s = loop(way, gains);
    s.end_time = 1.5;
    return s;
  };
  const MakeLoop foreign = [](const LoopWay& way, const LoopGains& gains) -> Result<Scenario> {
    if (way.knows == LoopWay::Knows::Identified) return fail(ErrorKind::Scenario, "of another mechanism");
    return loop(way, gains);
  };
  AdviseOptions o = asked({kPlain, {LoopWay::Knows::Identified, false, false}});
  EXPECT_NE(refused(brief, o).find("the run lasts 1.5 s, a disturbance is given 2 s"), std::string::npos) << refused(brief, o);
  EXPECT_EQ(refused(foreign, o), "of another mechanism");
  o.after = 2.5;
  EXPECT_NE(refused(maker(), o).find("of which 2.5 s are for settling"), std::string::npos) << refused(maker(), o);
}

AdvisedLoop found_with(LoopWay::Knows knows, double error) {
  AdvisedLoop l;
  l.way.knows = knows, l.found = true, l.candidates = 1;
  LoopScore s;
  s.error = error;
  l.judged = {s};
  return l;
}

// A judge whose run failed leaves nothing to compare with.
TEST(Advice, ComparesWithWhatWasJudgedOnly) {
  Advice a;
  a.loops = {found_with(LoopWay::Knows::Nominal, std::numeric_limits<double>::infinity()),
             found_with(LoopWay::Knows::Learned, 1e-3)};
  a.taken = 1;
  EXPECT_EQ(sentence(a, false).find("inf"), std::string::npos) << sentence(a, false);
  a.loops[1].judged[0].error = a.loops[0].judged[0].error, a.taken = -1;
  EXPECT_EQ(sentence(a, false).find("no way keeps the margin"), std::string::npos) << sentence(a, false);
  a.loops[1].judged[0].error = 1e-3, a.taken = 1;
  a.loops[0].judged[0].error = 2e-3;
  EXPECT_NE(sentence(a, false).find("leaves 2 mm"), std::string::npos) << sentence(a, false);
}

// A margin is one of candidates that ran: where none did, why is said, and nothing of margins. One that ran is enough.
TEST(Advice, SaysWhyNoCandidateRan) {
  Advice a;
  a.loops.resize(3);
  for (AdvisedLoop& l : a.loops) l.candidates = 4, l.searched.failure = "the drive is too fast";
  EXPECT_EQ(sentence(a, false), "no candidate could be judged: the drive is too fast");
  a.loops[1].searched.failure.clear();
  EXPECT_EQ(sentence(a, false).rfind("no way keeps the margin", 0), 0u) << sentence(a, false);
}

}  // namespace
}  // namespace invar::testing
