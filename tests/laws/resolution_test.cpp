// SPDX-License-Identifier: Apache-2.0
// Is the local rate of a passive part that of the motion, and is a run told when its steps do not resolve it?
#include <gtest/gtest.h>

#include "invar/mech/augmented.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/response.hpp"
#include "invar/run/run.hpp"
#include "support/campaign.hpp"
#include "support/linkages.hpp"
#include "support/outcome.hpp"
#include "support/recorded.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

// Accelerations of a freedom with and without a unit effort on it, by the whole equations of motion of the moving mechanism:
// they are linear in efforts, so the difference is the answer, whatever else acts. Rounding of accelerations of up to some
// thousand over inertias that differ by 1e3.
// A unit effort accelerates bodies of these masses by about one; where joints leave no motion rounding is left of that.
TEST(Response, IsWhatAUnitEffortAddsToTheAccelerationOfDrawnMechanisms) {
  int compared = 0;
  for (int draw = 0; draw < cases(20); ++draw) {
    MechanismOptions options;
    options.bodies = 6, options.loops = draw % 3, options.couplings = draw % 2, options.mass_ratio = 100;
    const Sample s = random_sample(seed(400) + static_cast<std::uint64_t>(draw), options);
    Augmented view(s.model);
    State x;
    view.set(s.bodies, x);
    Evaluation without, with;
    if (!view.evaluate(x, s.load, without).ok()) continue;
    Response response(s.model);
    response.at(s.bodies, without.q);
    for (int j = 0; j < static_cast<int>(s.model.joints().size()); ++j) {
      const Joint& joint = s.model.joints()[static_cast<std::size_t>(j)];
      for (int k = 0; k < joint.nv; ++k) {
        Load more = s.load;
        more.efforts[joint.v0 + k] += 1;
        ASSERT_TRUE(view.evaluate(x, more, with).ok());
        const double added = with.vdot[joint.v0 + k] - without.vdot[joint.v0 + k];
        const double size = without.vdot.cwiseAbs().maxCoeff() + with.vdot.cwiseAbs().maxCoeff();
        EXPECT_NEAR(response.of_freedom(j, k), added, 1e-10 * size + 1e-9 * std::abs(added) + 1e-13) << draw << " " << joint.name;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 50);
}

// A drawn mass on a drawn spring or damper along a rail, or a wheel on a torsional one: the rate is sqrt(k/m) or c/m, and a run
// is told if and only if the step is above 2 over it.
Scenario oscillator(Random& random, bool spring, double product, double& rate) {
  ModelSpec spec;
  spec.gravity = Vec3::Zero();
  BodySpec body;
  body.name = "mass";
  body.inertia = solid_sphere(std::exp(random.uniform(-3, 3)), random.uniform(0.05, 0.5));
  spec.bodies.push_back(body);
  JointSpec joint;
  joint.name = "on", joint.kind = random.chance(0.5) ? JointKind::Prismatic : JointKind::Revolute, joint.child = "mass";
  const double inertia = joint.kind == JointKind::Prismatic ? body.inertia.mass : body.inertia.I_C(2, 2);
  rate = random.uniform(5, 500);
  if (spring)
    joint.spring.stiffness = {inertia * rate * rate};
  else
    joint.damping = {inertia * rate};
  spec.joints.push_back(joint);
  Scenario s;
  set_model(s, spec);
  s.method.step = product / rate;
  s.end_time = 20 * s.method.step;
  s.start = Start(*s.model);
  s.start.joints.v[0] = 1e-3;  // what is unstable grows, but not to turns that cannot be counted in the first step
  return s;
}

TEST(Resolution, IsToldWhereTheStepIsAboveTwoOverTheRate) {
  Random random(seed(41));
  for (int draw = 0; draw < cases(40); ++draw) {
    const double product = random.chance(0.5) ? random.uniform(0.05, 1.95) : random.uniform(2.05, 20);
    double rate = 0;
    const Scenario s = oscillator(random, random.chance(0.5), product, rate);
    const auto out = judged_run(s);
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_NEAR(metric(*out, "step_rate_max"), product, 1e-9 * product);
    // Below, rk4 may still lose energy: that is another cause.
    const bool told = out->unresolved.find("too long for the ") != std::string::npos;
    EXPECT_EQ(told, product > 2) << product << " " << out->unresolved;
    EXPECT_TRUE(out->unresolved.empty() || product > 0.5) << product << " " << out->unresolved;
  }
}

/// The power balance of a run over its largest kinetic energy.
double loss_of(const Outcome& out) { return metric(out, "power_balance") / metric(out, "kinetic_max"); }

/// A double pendulum that is dropped, in steps of rk4 that lose more than 2 % of its energy, or less than 0.5 %: far enough from
/// the bound of 1 %, to which potential energies count, too. Longer steps lose more, by the fifth power, until it tumbles.
Scenario lossy_pendulum(Random& random, bool lossy) {
  Scenario s;
  set_model(s, hinge_chain(2));
  s.start = Start(*s.model);
  s.start.joints.q[0] = random.uniform(-1, 1), s.start.joints.q[1] = random.uniform(-2, 2);
  s.method.step = 0.01 * random.uniform(0.8, 1.25);
  for (int trial = 0; trial < 20; ++trial) {
    s.end_time = 200 * s.method.step;
    const auto out = judged_run(s);
    EXPECT_TRUE(out);
    const double loss = out ? loss_of(*out) : 0;
    if (out && out->end == Outcome::End::Finished && (lossy ? loss > 0.02 : loss < 0.005)) return s;
    s.method.step *= lossy ? 1.2 : 1 / 1.2;
  }
  ADD_FAILURE() << "no step of some twenty " << (lossy ? "loses energy" : "keeps energy");
  return s;
}

// A double pendulum swings in steps that lose a part of its energy, or do not, alone and beside a wheel that spins with a
// thousand times as much. The two share nothing: what is said of the pendulum alone is said beside the wheel, and not otherwise.
TEST(Resolution, OfAPartIsJudgedByItsOwnEnergies) {
  Random random(seed(43));
  for (int draw = 0; draw < cases(20); ++draw) {
    const bool lossy = draw % 2 == 0;
    const Scenario alone = lossy_pendulum(random, lossy);
    ModelSpec spec = hinge_chain(2);
    BodySpec wheel;
    wheel.name = "wheel", wheel.inertia = solid_sphere(10, 0.5);
    JointSpec axle;
    axle.name = "axle", axle.kind = JointKind::Revolute, axle.child = "wheel";
    spec.bodies.push_back(wheel), spec.joints.push_back(axle);
    Scenario beside = alone;
    set_model(beside, spec);
    beside.start = Start(*beside.model);
    beside.start.joints.q.head(2) = alone.start.joints.q;
    beside.start.joints.v[2] = 100;

    const auto one = judged_run(alone), both = judged_run(beside);
    ASSERT_TRUE(one && both);
    EXPECT_EQ(one->unresolved.empty(), !lossy) << loss_of(*one) << " " << one->unresolved;
    EXPECT_EQ(both->unresolved.empty(), !lossy) << loss_of(*one) << " " << both->unresolved;
  }
}

// A weight that falls onto a stop which steps do not quite resolve: told by itself, it is told beside something that is not
// connected to it and turns over ten thousand times as much, and the other way round.
TEST(Resolution, OfAPartDoesNotDependOnWhatIsBesideIt) {
  Random random(seed(4800));
  int told = 0;
  for (int draw = 0; draw < cases(40); ++draw) {
    ModelSpec spec;
    const double mass = random.uniform(0.5, 2), rate = random.uniform(50, 500);
    spec.bodies.push_back({"weight", solid_sphere(mass, 0.1), {}, {}});
    JointSpec rail;
    rail.name = "rail", rail.kind = JointKind::Prismatic, rail.child = "weight", rail.axis = Vec3::UnitZ();
    rail.limits.lower = {-random.uniform(0.2, 1)}, rail.limits.stiffness = mass * rate * rate;
    spec.joints.push_back(rail);
    const auto outcome = [&] {
      Scenario s;
      set_model(s, spec);
      s.start = Start(*s.model);
      s.method.step = random.uniform(0.9, 1) * 1.5 / rate, s.end_time = 1.5;
      return *judged_run(s);
    };
    const Random same = random;
    const Outcome alone = outcome();
    random = same;
    spec.bodies.push_back({"other", solid_sphere(1e4 * mass, 0.1), {}, {}});
    const Outcome beside = outcome();
    EXPECT_EQ(alone.unresolved.empty(), beside.unresolved.empty())
        << draw << ": alone \"" << alone.unresolved << "\", beside \"" << beside.unresolved << '"';
    told += !alone.unresolved.empty();
  }
  EXPECT_GT(told, 0);
}

}  // namespace
}  // namespace invar::testing
