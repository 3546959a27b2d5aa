// SPDX-License-Identifier: Apache-2.0
//
// Certificates of perfect runs are perfect, and only those: with the plant as nominal mechanism every clause holds, whatever the
// mechanism, its size and its masses; a force of a millionth of the weight is told by every law.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/control/disturbance.hpp"
#include "invar/control/joint_law.hpp"
#include "support/campaign.hpp"
#include "support/controlled.hpp"
#include "support/joint_cases.hpp"
#include "support/moving_mechanisms.hpp"

namespace invar::testing {
namespace {

using Kind = JointLawSpec::Kind;

JointLawSpec law_on_reference(const Model& model, const Bodies& start, Kind kind, double kappa, bool moving) {
  JointLawSpec spec;
  spec.kind = kind;
  spec.aims = aims_from(model, start, moving);
  for (JointAim& aim : spec.aims) aim.robust = kappa, aim.rate = 4, aim.layer = 1e-2;
  return spec;
}

// Gains that are the same for all mechanisms: errors decay with some 10 /s.
void scale_gains(JointLawSpec& spec, const Model& model, const Bodies& start) {
  JointLaw law(model, spec);
  ASSERT_EQ(law.objection(0.0, start), "");
  for (std::size_t i = 0; i < spec.aims.size(); ++i) {
    const double inertia = 1 / law.mobility()(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(i));
    JointAim& aim = spec.aims[i];
    aim.gain = 10 * inertia;
    if (spec.kind == Kind::PdGravity) aim.stiffness = 20 * inertia, aim.damping = 10 * inertia;
  }
}

Scenario under(const JointCase& c, const JointLawSpec& law, double h, int steps) {
  ControllerSpec controller;
  controller.law = [=](const Model& m) { return std::make_unique<JointLaw>(m, law); };
  return controlled(c.spec, c.start, steps * h, h, controller);
}

void expect_perfect(const Scenario& s, const std::string& what) {
  Watched w;
  ASSERT_TRUE(watch(s, w)) << what << ": " << w.outcome.words;
  EXPECT_TRUE(w.outcome.control.at(0).certificate.held()) << what;
  for (const Clause& c : w.outcome.control.at(0).certificate.clauses())
    EXPECT_TRUE(c.held()) << what << ", " << c.name << ": " << c.text();
}

// How near perfect runs come to what round-off is allowed: far enough below that no seed decides.
double share_of_allowance(const Outcome& outcome) {
  double worst = 0;
  for (const Clause& c : outcome.control.at(0).certificate.clauses()) {
    const double allowed = c.allowed + c.worst_round_off;
    if (allowed > 0 && allowed < 1) worst = std::max(worst, c.worst / allowed);
  }
  return worst;
}

TEST(Certificate, OfAPerfectRunHasNoException) {
  int judged = 0;
  double share = 0;
  for (int k = 0; k < cases(24); ++k) {
    const JointCase c = drawn_joint_case(k, false);
    const Model model = build(c.spec);
    for (const Kind kind : {Kind::SlotineLi, Kind::ComputedTorque}) {
      for (const double kappa : {0.0, 1.0}) {
        if (kind == Kind::ComputedTorque && kappa > 0) continue;
        JointLawSpec law = law_on_reference(model, c.start, kind, kappa, true);
        if (law.aims.empty()) continue;
        scale_gains(law, model, c.start);
        const Scenario s = under(c, law, 1e-3, 50);
        const std::string what = c.what + (kind == Kind::SlotineLi ? " Slotine-Li" : " computed torque");
        expect_perfect(s, what);
        Watched w;
        if (watch(s, w)) share = std::max(share, share_of_allowance(w.outcome));
        ++judged;
      }
    }
  }
  EXPECT_GT(judged, cases(24));
  EXPECT_LT(share, 0.1);
  RecordProperty("share", std::to_string(share));
}

TEST(Certificate, OfAMechanismThatIsHeldAtRestHasNoException) {
  int judged = 0;
  for (int k = 0; k < cases(24); ++k) {
    JointCase c = drawn_joint_case(k, true);
    for (BodyState& b : c.start) b.v_WC = b.w_WB = Vec3::Zero();
    const Model model = build(c.spec);
    JointLawSpec law = law_on_reference(model, c.start, Kind::PdGravity, 0, false);
    if (law.aims.empty()) continue;
    scale_gains(law, model, c.start);
    expect_perfect(under(c, law, 1e-3, 50), c.what + " PD and gravity");
    ++judged;
  }
  EXPECT_GT(judged, cases(24) / 2);
}

// Away from the reference V falls by what each law's own V promises: no clause asks for more than the law can give.
TEST(Certificate, OfAnExactModelHoldsAwayFromTheReferenceToo) {
  for (int k = 0; k < cases(12); ++k) {
    const JointCase c = drawn_joint_case(k, false);
    const Model model = build(c.spec);
    for (const Kind kind : {Kind::SlotineLi, Kind::ComputedTorque}) {
      JointLawSpec law = law_on_reference(model, c.start, kind, 0, true);
      if (law.aims.empty()) continue;
      scale_gains(law, model, c.start);
      for (JointAim& aim : law.aims)
        aim.path = [path = aim.path](Instant at) {
          Jet j = path(at);
          j.q += 0.02;
          return j;
        };
      expect_perfect(under(c, law, 1e-3, 50), c.what);
    }
  }
}

// Planted: a force of a millionth of the weight, on the last body. A loop may hold it: then it disturbs nothing.
TEST(Certificate, TellsAForceOfAMillionthOfTheWeight) {
  int judged = 0;
  for (int k = 0; k < cases(24); ++k) {
    const JointCase c = drawn_joint_case(k, false);
    const Model model = build(c.spec);
    for (const Kind kind : {Kind::SlotineLi, Kind::ComputedTorque, Kind::PdGravity}) {
      JointLawSpec law = law_on_reference(model, c.start, kind, 0, true);
      if (law.aims.empty()) continue;
      scale_gains(law, model, c.start);
      Scenario s = under(c, law, 1e-3, 10);
      double mass = 0;
      for (const Body& b : model.bodies()) mass += b.inertia.mass;
      DisturbanceSpec push;
      push.body = model.bodies().back().name;
      push.force = Vec3(1, 2, -3).normalized() * 1e-6 * 9.81 * mass;
      s.environments.push_back(std::make_shared<const Disturbance>(*Disturbance::build(*s.model, push)));
      Watched w;
      if (!watch(s, w)) continue;
      EXPECT_FALSE(clause(w.outcome, "disturbance_is_absent").held())
          << c.what << ": " << clause(w.outcome, "disturbance_is_absent").text();
      ++judged;
    }
  }
  EXPECT_GT(judged, cases(24));
}

TEST(Certificate, OfLawsWithoutKappaHasNoClauseAboutIt) {
  const Moving start = shipped("four_bar");
  for (const Kind kind : {Kind::SlotineLi, Kind::Robust, Kind::ComputedTorque, Kind::PdGravity})
    for (const double kappa : {0.0, 2.0}) {
      const JointLaw law(start.model, law_on_reference(start.model, start.start, kind, kappa, true));
      int clauses = 0;
      for (const Clause& c : law.certificate().clauses()) clauses += c.name == "kappa_exceeds_disturbance";
      EXPECT_EQ(clauses, kappa > 0 && (kind == Kind::SlotineLi || kind == Kind::Robust) ? 1 : 0);
    }
}

TEST(Certificate, AllowsRoundOffAtTheLookThatHasIt) {
  Certificate c;
  const int clause = c.add({"V_falls", "V_dot", "W", 0, {"a", "b"}});
  c.look(clause, 0, 1e-12, 0, 1e-11);
  EXPECT_TRUE(c.held());
  EXPECT_EQ(c.clauses()[0].text(), "held: at most 1e-12 W (allowed 0, round-off 1e-11)");
  c.look(clause, 1, 1e-12, 1, 1e-13);
  EXPECT_FALSE(c.held());
  EXPECT_EQ(c.clauses()[0].first_subject, 1);
  c.look(clause, 2, std::numeric_limits<double>::quiet_NaN(), 1, 1);
  EXPECT_TRUE(std::isnan(c.clauses()[0].worst));
}

}  // namespace
}  // namespace invar::testing
