// SPDX-License-Identifier: Apache-2.0
//
// Gains in units of inertia, and what is left of a loop beyond its equation of errors: rates, remainders and bounds.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/base/random.hpp"
#include "invar/control/body_law.hpp"
#include "invar/control/disturbance.hpp"
#include "invar/control/joint_law.hpp"
#include "invar/run/calibration.hpp"
#include "support/campaign.hpp"
#include "support/controlled.hpp"
#include "support/joint_cases.hpp"

namespace invar::testing {
namespace {

using Kind = JointLawSpec::Kind;

JointLawSpec with_rate(const Model& model, const Bodies& start, double kappa) {
  JointLawSpec spec;
  spec.rate = kappa;
  spec.aims = aims_from(model, start, true);
  for (JointAim& aim : spec.aims) {
    aim.gain = 0, aim.rate = 4;
    aim.path = [path = aim.path](Instant at) {
      Jet j = path(at);
      j.q += 0.02;
      return j;
    };
  }
  return spec;
}

Scenario under(const JointCase& c, const JointLawSpec& law, double h, int steps) {
  ControllerSpec controller;
  controller.law = [=](const Model& m) { return std::make_unique<JointLaw>(m, law); };
  return controlled(c.spec, c.start, steps * h, h, controller);
}

/// A law on all bodies whose paths begin 2 cm beside where they are.
Scenario bodies_under(const Sample& s, const PortGains& gains, double h, int steps, std::uint64_t draw) {
  BodyLawSpec spec;
  spec.gains = gains;
  Random random(seed(12301), draw);
  for (const BodyState& b : s.bodies) {
    const Vec3 origin = b.p_WC - b.q_WB * s.model.bodies()[spec.paths.size()].inertia.p_BC;
    spec.paths.push_back(drawn_path(random, origin + Vec3(0.02, 0, 0), b.q_WB));
  }
  ControllerSpec c;
  c.law = [=](const Model& m) { return std::make_unique<BodyLaw>(m, spec); };
  return controlled(s.mechanism.spec, s.bodies, steps * h, h, c);
}

// V̇ = -2 κ V where nothing else acts; rk4 in steps of 1 ms leaves (κ h)⁴ and the like, 1e-8 with rates near 10.
TEST(GainsInUnitsOfInertia, LetVFallLikeTheExponentialOfTwiceTheRate) {
  int judged = 0;
  for (int k = 0; k < cases(24); ++k) {
    const JointCase c = drawn_joint_case(k, false);
    const Model model = build(c.spec);
    const double kappa = 3 + k % 5;
    const JointLawSpec law = with_rate(model, c.start, kappa);
    if (law.aims.empty()) continue;
    Watched w;
    if (!watch(under(c, law, 1e-3, 200), w)) continue;
    const auto& V = w.readings.of("V");
    for (std::size_t i = 0; i < V.size(); ++i)
      ASSERT_NEAR(V[i] / V[0], std::exp(-2 * kappa * w.readings.t()[i]), 1e-6) << c.what << " at " << w.readings.t()[i];
    EXPECT_GT(V[0], 0);
    for (const Clause& clause : w.outcome.control.at(0).certificate.clauses())
      EXPECT_TRUE(clause.held()) << c.what << ", " << clause.name << ": " << clause.text();
    ++judged;
  }
  EXPECT_GT(judged, cases(24) / 2);
}

// PD with a rate brakes like κ Γ ė: with a reference at rest V falls and is as promised.
TEST(GainsInUnitsOfInertia, BrakeAMechanismThatIsHeld) {
  int judged = 0;
  for (int k = 0; k < cases(12); ++k) {
    const JointCase c = drawn_joint_case(k, false);
    const Model model = build(c.spec);
    JointLawSpec law;
    law.kind = Kind::PdGravity, law.rate = 8;
    law.aims = aims_from(model, c.start, false);
    if (law.aims.empty()) continue;
    JointLaw trial(model, law);
    ASSERT_EQ(trial.objection(0.0, c.start), "");
    for (std::size_t i = 0; i < law.aims.size(); ++i)
      law.aims[i].damping = 0,
      law.aims[i].stiffness = 20 / trial.mobility()(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(i));
    Watched w;
    if (!watch(under(c, law, 1e-3, 50), w)) continue;
    for (const char* name : {"V_dot_as_promised", "V_falls", "disturbance_is_absent"})
      EXPECT_TRUE(clause(w.outcome, name).held()) << c.what << ", " << clause(w.outcome, name).text();
    ++judged;
  }
  EXPECT_GT(judged, cases(12) / 2);
}

DisturbanceSpec shaking(const Model& model, double size) {
  DisturbanceSpec push;
  push.body = model.bodies().back().name;
  push.force = size * Vec3(1, -2, 0.5).normalized();
  push.signal = Sinusoid{1, 1.5, 0.3, 0};
  return push;
}

double finding(const Outcome& o, const std::string& name) {
  for (const Finding& f : o.control.at(0).certificate.findings)
    if (f.name == name) return f.value;
  ADD_FAILURE() << "no finding " << name;
  return 0;
}

double metric(const Outcome& o, const std::string& name) {
  for (const Metric& m : o.metrics)
    if (m.name == name) return m.value;
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

// Without integral, observer and sampling the remainder is the disturbance: e differs from d by what joints carry, which moves
// nothing. Both come from solves whose round-off is 1e-12 of forces near 100 N.
TEST(Remainder, OfAnIdealLoopIsTheDisturbance) {
  int judged = 0, moved = 0;
  for (int k = 0; k < cases(12); ++k) {
    MechanismOptions o;
    o.bodies = 2 + k % 3, o.loops = k % 4 == 3 ? 1 : 0, o.floating = k % 3 == 1, o.passive = false, o.locked = false,
    o.mass_ratio = 5;
    const Sample s = random_sample(seed(12300) + static_cast<std::uint64_t>(k), o);
    for (const double push : {0.0, 3.0}) {
      Scenario run = bodies_under(s, {2, 0.5, 4}, 2e-3, 100, static_cast<std::uint64_t>(k));
      if (push > 0)
        run.environments.push_back(
            std::make_shared<const Disturbance>(*Disturbance::build(*run.model, shaking(*run.model, push))));
      Watched w;
      if (!watch(run, w)) continue;
      const double largest = metric(w.outcome, "control.remainder");
      EXPECT_NEAR(largest, finding(w.outcome, "disturbance"), 1e-8) << describe(s.mechanism.spec);
      ++judged, moved += push > 0 && largest > 1e-6;  // unless joints hold it
    }
  }
  EXPECT_GT(judged, cases(12));
  EXPECT_GT(moved, cases(12) / 3);
}

// V̇ = -sᵀ K_d s + sᵀ e <= -2 rate V + |s|_M |e|_A at every sample, whatever integral action and observer do inside of e.
TEST(Remainder, BoundsHowVChangesWithIntegralAndObserverInside) {
  int judged = 0;
  for (int k = 0; k < cases(8); ++k) {
    MechanismOptions o;
    o.bodies = 2 + k % 3, o.floating = true, o.passive = false, o.locked = false, o.mass_ratio = 5;
    const Sample s = random_sample(seed(12340) + static_cast<std::uint64_t>(k), o);
    PortGains gains{0, 0, 6};
    if (k % 2 == 0) gains.integral_linear = gains.integral_angular = 5;
    if (k % 3 != 0) gains.observer = 15;
    gains.bound.most = 1e3;  // far away: the clauses are there, and hold
    Scenario run = bodies_under(s, gains, 2e-3, 300, static_cast<std::uint64_t>(k));
    run.environments.push_back(std::make_shared<const Disturbance>(*Disturbance::build(*run.model, shaking(*run.model, 3))));
    Watched w;
    if (!watch(run, w)) continue;
    const auto &e = w.readings.of("remainder"), &V = w.readings.of("V");
    // |s|_M from samples: with the integral V has more in it, so the bound is looked at where there is none.
    for (std::size_t i = 0; i < V.size() && !gains.integrates(); ++i)
      ASSERT_LE(w.readings.of("V_dot")[i], -2 * gains.rate * V[i] + std::sqrt(2 * V[i]) * e[i] + 1e-9) << k << " " << i;
    EXPECT_TRUE(clause(w.outcome, "V_dot_as_promised").held()) << clause(w.outcome, "V_dot_as_promised").text();
    EXPECT_TRUE(clause(w.outcome, "remainder_within_bound").held());
    EXPECT_TRUE(clause(w.outcome, "ultimate_bound").held()) << clause(w.outcome, "ultimate_bound").text();
    ++judged;
  }
  EXPECT_GT(judged, cases(8) / 2);
}

// A bound that the remainder keeps is kept by s, and one that it does not keep is told; nobody asks for the absence of
// disturbances then.
TEST(UltimateBound, HoldsWhereTheRemainderKeepsItsBoundAndIsStatedBefore) {
  int judged = 0;
  for (int k = 0; k < cases(8); ++k) {
    MechanismOptions o;
    o.bodies = 2 + k % 3, o.floating = true, o.passive = false, o.locked = false, o.mass_ratio = 5;
    const Sample s = random_sample(seed(12360) + static_cast<std::uint64_t>(k), o);
    PortGains gains{0, 0, 5};
    const auto result = [&](Watched& w) {
      Scenario run = bodies_under(s, gains, 2e-3, 500, static_cast<std::uint64_t>(k));
      run.environments.push_back(std::make_shared<const Disturbance>(*Disturbance::build(*run.model, shaking(*run.model, 3))));
      return watch(run, w);
    };
    Watched free, told, wrong;
    gains.bound.after = 0.3;
    if (!result(free)) continue;
    const double score = metric(free.outcome, "control.remainder");
    gains.bound.most = 1.001 * score;
    if (!result(told)) continue;
    EXPECT_TRUE(clause(told.outcome, "remainder_within_bound").held());
    EXPECT_TRUE(clause(told.outcome, "ultimate_bound").held()) << clause(told.outcome, "ultimate_bound").text();
    EXPECT_DOUBLE_EQ(finding(told.outcome, "ultimate_bound"), gains.bound.most / gains.rate);
    for (const Clause& c : told.outcome.control.at(0).certificate.clauses()) EXPECT_NE(c.name, "disturbance_is_absent");
    gains.bound.most = 0.5 * score;
    if (!result(wrong)) continue;
    EXPECT_FALSE(clause(wrong.outcome, "remainder_within_bound").held());
    EXPECT_GE(clause(wrong.outcome, "remainder_within_bound").first, 0.3) << "while it settles nothing is promised";
    ++judged;
  }
  EXPECT_GT(judged, cases(8) / 2);
}

// The same in freedoms, where the rate of K_d = κ Γ is κ.
TEST(UltimateBound, HoldsInFreedomsToo) {
  int judged = 0;
  for (int k = 0; k < cases(12); ++k) {
    const JointCase c = drawn_joint_case(k, false);
    const Model model = build(c.spec);
    JointLawSpec law = with_rate(model, c.start, 6);
    if (law.aims.empty()) continue;
    const auto result = [&](Watched& w) {
      Scenario run = under(c, law, 1e-3, 400);
      double mass = 0;
      for (const Body& b : model.bodies()) mass += b.inertia.mass;
      run.environments.push_back(
          std::make_shared<const Disturbance>(*Disturbance::build(*run.model, shaking(*run.model, 0.1 * mass))));
      return watch(run, w);
    };
    Watched free, told;
    if (!result(free)) continue;
    law.bound.most = 1.001 * metric(free.outcome, "control.remainder");
    if (!result(told)) continue;
    EXPECT_TRUE(clause(told.outcome, "remainder_within_bound").held()) << c.what;
    EXPECT_TRUE(clause(told.outcome, "ultimate_bound").held()) << c.what << clause(told.outcome, "ultimate_bound").text();
    EXPECT_GT(clause(told.outcome, "ultimate_bound").worst, 0) << c.what;
    ++judged;
  }
  EXPECT_GT(judged, cases(12) / 2);
}

TEST(Calibration, TakesTheRightOneInOrderAndRefusesWhatItCannotClaim) {
  std::vector<double> scores;
  for (int k = 0; k < 19; ++k) scores.push_back((7 * k) % 19 + 1);  // 1 … 19 in another order
  EXPECT_EQ(*bound_of(scores, 0.9), 18);
  EXPECT_EQ(*bound_of(scores, 0.5), 10);
  EXPECT_EQ(*bound_of(scores, 0.95), 19);
  EXPECT_EQ(runs_needed(0.9), 9);
  EXPECT_EQ(runs_needed(0.95), 19);
  EXPECT_EQ(runs_needed(0.99), 99);
  const auto no = bound_of(scores, 0.96);
  ASSERT_FALSE(no);
  EXPECT_NE(no.error().what.find("24 runs"), std::string::npos) << no.error().what;
  EXPECT_NE(no.error().what.find("0.95"), std::string::npos) << no.error().what;
  EXPECT_FALSE(bound_of(scores, 1.0));
  EXPECT_FALSE(bound_of({}, 0.1));
}

TEST(Calibration, RefusesRunsThatSettleForDifferentTimes) {
  const JointCase c = drawn_joint_case(0, false);
  const auto settling = [&](double after, double push = 1) {
    JointLawSpec law = with_rate(build(c.spec), c.start, 5);
    law.bound.after = after;
    Scenario s = under(c, law, 1e-3, 20);
    s.environments.push_back(std::make_shared<const Disturbance>(*Disturbance::build(*s.model, shaking(*s.model, push))));
    return s;
  };
  const auto found = calibrate({settling(0.01), settling(0.01, 2)}, "", 0.5);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->after, 0.01);
  // Two runs that are the same are one.
  const auto twice = calibrate({settling(0.01), settling(0.01)}, "", 0.5);
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().what.find("the same run"), std::string::npos) << twice.error().what;
  const auto mixed = calibrate({settling(0.01), settling(0.005)}, "", 0.5);
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().what.find("settling takes 0.005 s here and 0.01 s in the first run"), std::string::npos)
      << mixed.error().what;
}

// A push between two samples is seen at the ticks: the score of a sampled loop is the same to the last bit whether every tick is
// recorded or every twentieth. All look at the same instants, before and after the same ticks.
TEST(Remainder, DoesNotDependOnWhatIsRecorded) {
  const JointCase c = drawn_joint_case(0, false);
  for (const char* method : {"rk4", "dopri5"}) {
    std::vector<double> scores;
    for (const int ticks : {1, 20}) {
      Scenario s = under(c, with_rate(build(c.spec), c.start, 5), 1e-3, 100);
      DisturbanceSpec push = shaking(*s.model, 5);
      push.signal = Pulse{0.031, 0.034, 1};
      s.environments.push_back(std::make_shared<const Disturbance>(*Disturbance::build(*s.model, push)));
      s.controllers[0].period = 0.005;
      s.method.integrator = method;
      s.sampling.steps = 5 * ticks, s.sampling.interval = 0.005 * ticks;
      Watched w;
      ASSERT_TRUE(watch(s, w)) << w.outcome.words;
      scores.push_back(metric(w.outcome, "control.remainder"));
    }
    EXPECT_EQ(scores[0], scores[1]) << method;
  }
}

// Of n new runs from the same family k/(m+1) = 0.9 keep the bound; a share of n trials scatters by sqrt(0.09/n), five times that
// is beyond chance.
TEST(Calibration, CoversWhatItClaims) {
  constexpr int n = 4000;
  Random random(seed(12400), 1);
  int kept = 0;
  for (int i = 0; i < n; ++i) {
    std::vector<double> scores;
    for (int k = 0; k < 19; ++k) scores.push_back(std::exp(random.normal()));
    kept += std::exp(random.normal()) <= *bound_of(scores, 0.9);
  }
  EXPECT_NEAR(static_cast<double>(kept) / n, 0.9, 5 * std::sqrt(0.09 / n));
}

}  // namespace
}  // namespace invar::testing
