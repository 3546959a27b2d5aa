// SPDX-License-Identifier: Apache-2.0
//
// The margin of a sampled loop is that of linear theory where the loop is linear.
#include "invar/run/margin.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "invar/control/impedance_law.hpp"
#include "invar/control/joint_law.hpp"
#include "invar/io/scenario_file.hpp"
#include "support/controlled.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

constexpr double kPeriod = 0.005, kLambda = 6;

/// A slide without weight along its way.
ModelSpec slide() {
  ModelSpec spec;
  spec.gravity = Vec3::Zero();
  spec.bodies.push_back({"cart", solid_box(3, {0.3, 0.2, 0.1}), {}, {}});
  JointSpec j;
  j.name = "way", j.kind = JointKind::Prismatic, j.child = "cart", j.axis = Vec3(1, 0, 0);
  spec.joints.push_back(j);
  return spec;
}

MarginOptions asked(double gain, double delay) {
  MarginOptions options;
  options.gain = gain, options.delay = delay;
  return options;
}

Scenario loop(double kappa, double period, double observer = 0) {
  JointLawSpec law;
  law.rate = kappa, law.observer = observer;
  JointAim aim;
  aim.joint = 0, aim.gain = 0, aim.rate = kLambda;
  aim.path = [](Instant at) { return Jet{0.3 * std::sin(at.t), 0.3 * std::cos(at.t), -0.3 * std::sin(at.t)}; };
  law.aims = {aim};
  ControllerSpec c;
  c.law = [law](const Model& m) { return std::make_unique<JointLaw>(m, law); };
  c.period = period;
  return controlled(slide(), Bodies(1), 4, 0.0025, c);
}

/// The same feedback by a point that yields like a spring and a damper: K = κ Λ m, D = (κ + Λ) m.
Scenario yielding(double kappa, double period, bool through_joints) {
  const double m = build(slide()).bodies()[0].inertia.mass;
  ImpedanceSpec law;
  law.path = [](Instant at) {
    PoseJet j;
    j.p = Vec3(0.3 * std::sin(at.t), 0, 0), j.v = Vec3(0.3 * std::cos(at.t), 0, 0), j.a = -j.p;
    return j;
  };
  law.stiffness = kappa * kLambda * m * Mat3::Identity(), law.damping = (kappa + kLambda) * m * Mat3::Identity();
  law.through_joints = through_joints;
  ControllerSpec c;
  c.law = [law](const Model& model) { return std::make_unique<ImpedanceLaw>(model, law); };
  c.period = period;
  return controlled(slide(), Bodies(1), 4, 0.0025, c);
}

// u/m = -g ((κ + Λ) v + κ Λ x), d ticks late and held: the eigenvalue of largest size.
double slowest(double kappa, double gain, int ticks) {
  const int n = 2 + ticks;
  MatX A = MatX::Zero(n, n);
  A(0, 0) = 1, A(0, 1) = kPeriod, A(1, 1) = 1;
  Eigen::RowVectorXd feedback = Eigen::RowVectorXd::Zero(n);
  feedback[0] = -gain * kappa * kLambda, feedback[1] = -gain * (kappa + kLambda);
  if (ticks == 0) {
    A.row(0) += 0.5 * kPeriod * kPeriod * feedback, A.row(1) += kPeriod * feedback;
  } else {
    A(0, 2) = 0.5 * kPeriod * kPeriod, A(1, 2) = kPeriod;  // the oldest command acts
    for (int i = 2; i + 1 < n; ++i) A(i, i + 1) = 1;
    A.row(n - 1) = feedback;
  }
  return A.eigenvalues().cwiseAbs().maxCoeff();
}

// The gain at which the slowest eigenvalue leaves the circle, by bisection.
double limit(int ticks) {
  double low = 10, high = 1000;
  for (int i = 0; i < 60; ++i) {
    const double kappa = std::sqrt(low * high);
    (slowest(kappa, 1.6, ticks) < 1 ? low : high) = kappa;
  }
  EXPECT_GT(low, 20);
  return low;
}

// A few per cent below that gain the disturbance is forgotten, and as much above it grows: 5 ms of delay of its own and 5 ms
// more.
TEST(Margin, IsLostWhereLinearTheorySaysSo) {
  const double most = limit(2);
  for (const double part : {0.9, 1.1}) {
    Scenario s = loop(part * most, kPeriod);
    s.controllers[0].delay = kPeriod;
    const auto found = margin(s);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->kept({}), part < 1) << part * most << ": " << found->worst();
    EXPECT_DOUBLE_EQ(found->delay, 0.005);
    if (part < 1) {
      EXPECT_EQ(found->windows.size(), 2u);
    }
  }
}

// A law without a reference velocity has a margin like any other: held commands by efforts on the joints or by a force at the
// point; and one that commands at every instant gets ticks of 1 ms.
TEST(Margin, OfAnImpedanceIsThatOfTheSameFeedback) {
  const double most = limit(2);
  for (const bool through_joints : {true, false})
    for (const double part : {0.9, 1.1}) {
      Scenario s = yielding(part * most, kPeriod, through_joints);
      s.controllers[0].delay = kPeriod;
      const auto found = margin(s);
      ASSERT_TRUE(found) << found.error().text();
      EXPECT_EQ(found->kept({}), part < 1) << part * most << ": " << found->worst();
    }
  const auto at_once = margin(yielding(20, 0, true));
  ASSERT_TRUE(at_once) << at_once.error().text();
  EXPECT_TRUE(at_once->kept({})) << at_once->worst();
  EXPECT_DOUBLE_EQ(at_once->period, 1e-3);
}

// What is left after 1.8 to 2 s is at least the power of the slowest eigenvalue, and not more than a few times it at 1.8 s: an
// overshoot of other modes is gone by then.
TEST(Margin, TellsHowFastADisturbanceIsForgotten) {
  for (const double kappa : {3.0, 8.0}) {
    const auto found = margin(loop(kappa, kPeriod), asked(1.6, 0));
    ASSERT_TRUE(found);
    const double at = std::pow(slowest(kappa, 1.6, 0), 1.8 / kPeriod);
    EXPECT_GT(found->windows[0].left, 0.2 * at) << kappa;
    EXPECT_LT(found->windows[0].left, 5 * at) << kappa;
  }
}

// Changes are per tick: a window that began between two ticks of 3 ms, as every other one of 2 s would, had a short first change
// and three times as much left. The loop is linear: windows differ by what is left of the one before, a tenth at most.
TEST(Margin, LeavesAsMuchInEveryWindowWhateverTheTicks) {
  Scenario s = loop(3, 0.003);
  s.end_time = 8, s.method.step = 0.003;
  const auto found = margin(s, asked(1.6, 0));
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->windows.size(), 4u);
  EXPECT_LT(found->windows[0].left, 0.1);
  for (const MarginWindow& w : found->windows) EXPECT_NEAR(w.left, found->windows[0].left, 0.1 * found->windows[0].left) << w.t;
}

// More delay and more gain never help a loop near its limit; a controller at every instant is looked at with ticks of its own.
TEST(Margin, OfALawAtEveryInstantIsMeasuredWithTicks) {
  const auto found = margin(loop(20, 0));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->kept({})) << found->worst();
  EXPECT_DOUBLE_EQ(found->period, 1e-3);
  EXPECT_DOUBLE_EQ(found->delay, 5e-3);
  const auto lost = margin(loop(20, 0), asked(20, 0.02));
  ASSERT_TRUE(lost);
  EXPECT_FALSE(lost->kept({}));
}

// The copy's plant receives g times what its commands differ, its observer is told of them once: it takes the other g - 1 for a
// disturbance and takes it off the next commands, a loop of its own with the gain g - 1 and the delay. At g = 3 that is lost
// where the observer is fast beside the delay, whatever the law itself stands; who would show it the extra gain would not notice.
TEST(Margin, DoesNotShowTheObserverTheExtraGain) {
  const auto measured = [&](double observer) {
    Scenario s = loop(10, kPeriod, observer);
    s.controllers[0].delay = kPeriod;
    return *margin(s, asked(3, 0.005));
  };
  EXPECT_TRUE(measured(0).kept({})) << measured(0).worst();
  EXPECT_TRUE(measured(3).kept({})) << measured(3).worst();
  EXPECT_FALSE(measured(190).kept({})) << measured(190).worst();
}

// Windows that were not tried say nothing: after the first of two the same loop has no verdict.
TEST(Margin, IsNoVerdictWhereItWasInterrupted) {
  std::atomic<bool> stop = false;
  MarginOptions options;
  options.stop = &stop, options.progress = [&](const Progress&) { stop = true; };
  const auto found = margin(loop(10, kPeriod), options);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->interrupted);
  ASSERT_EQ(found->windows.size(), 1u);
  EXPECT_LE(found->worst(), options.left);
  EXPECT_FALSE(found->kept(options));
}

// What is attached when the run begins belongs to the plant: the margin is that of a plant that was built with it, to the bit,
// and not that of the nominal one, which at these gains has none. An edit on the way makes another mechanism.
TEST(Margin, OfAPlantThatIsEditedAtItsStartIsThatOfTheEditedPlant) {
  const Attach load{"load", "cart", {6, Vec3(0.1, -0.05, 0.2), Mat3::Identity()}, {}};
  const double kappa = 180;
  Scenario s = loop(kappa, kPeriod);
  EXPECT_FALSE(margin(s)->kept({}));
  s.spec = std::make_shared<const ModelSpec>(slide());
  s.edits = {{0, {load}}};
  const auto folded = margin(s);
  ASSERT_TRUE(folded) << folded.error().text();
  EXPECT_TRUE(folded->kept({})) << folded->worst();

  Scenario built = loop(kappa, kPeriod);
  const auto nominal = built.model;
  built.model = std::make_shared<const Model>(build(*edited(slide(), std::vector<Edit>{load})));
  built.start.bodies = seen_as(*built.model, *nominal, built.start.bodies);
  const auto same = margin(built);
  ASSERT_TRUE(same) << same.error().text();
  ASSERT_EQ(folded->windows.size(), same->windows.size());
  for (std::size_t k = 0; k < same->windows.size(); ++k) EXPECT_EQ(folded->windows[k].left, same->windows[k].left);

  s.edits.push_back({1.5, {Detach{"load"}}});
  const auto refused = margin(s);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("at 1.5 s this one becomes another: leave out the edit 'detach 'load''"), std::string::npos)
      << refused.error().what;
}

// Whether the load is taken at the start or was always there: the same run, with drag, noise, delay and a learned load. Poses of
// metres carried over by the edit have other last bits (1e-15 m); a loop that forgets disturbances does not let them grow, and a
// thousand times that is left to the noise-free differences of a second.
TEST(Margin, EditsAtTheStartMakeTheRunThatTheyMadeBefore) {
  auto s = read_scenario_file(source_path("scenarios/underwater_arm.toml"));
  ASSERT_TRUE(s) << s.error().text();
  s->end_time = 1, s->laws.clear();
  const auto folded = with_start_edited(*s);
  ASSERT_TRUE(folded) << folded.error().text();
  EXPECT_TRUE(folded->edits.empty());
  Watched before, after;
  ASSERT_TRUE(watch(*s, before) && watch(*folded, after));
  const auto &a = before.readings.of("error_body5.position"), &b = after.readings.of("error_body5.position");
  ASSERT_GT(a.size(), 100u);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-12) << k;
}

TEST(Margin, RefusesWhatItCannotMeasure) {
  Scenario s = loop(20, kPeriod);
  s.end_time = 1;
  EXPECT_NE(margin(s).error().what.find("let it end later"), std::string::npos);
  s = loop(20, kPeriod);
  s.controllers.clear();
  EXPECT_NE(margin(s).error().what.find("no controller"), std::string::npos);
}

}  // namespace
}  // namespace invar::testing
