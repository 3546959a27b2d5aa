// SPDX-License-Identifier: Apache-2.0
// Does dopri5 keep what it was told to keep, and do the methods end as they say when they cannot go on?
#include <gtest/gtest.h>

#include "invar/base/largest.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/augmented.hpp"
#include "support/free_bodies.hpp"
#include "support/march.hpp"
#include "support/spinning_top.hpp"

namespace invar::testing {
namespace {

Dopri5Options tolerance(double value) {
  Dopri5Options o;
  o.relative_tolerance = o.position_tolerance = o.velocity_tolerance = o.auxiliary_tolerance = value;
  return o;
}

struct Ride {
  double error = 0;  ///< rad, at the end
  long steps = 0;
  std::vector<double> lengths;
};

// The free top for 5 s in one offer, its world turned by q_VW.
Ride ride(double tol, const Quat& q_VW = Quat::Identity()) {
  SpinningTop top;
  top.q0 = q_VW * top.q0;
  top.w0 = q_VW * top.w0;
  const Model model = top.model();
  FreeBodies free(model);
  System system(free);
  State x;
  free.set({top.at(0)}, x);
  Dopri5 dopri5(tolerance(tol));
  Ride r;
  const March m = march(top.spec(), system, dopri5, 0, 5, 5, x, [&](double, double h) { r.lengths.push_back(h); });
  EXPECT_TRUE(m.verdict.ok());
  EXPECT_EQ(m.t, 5);
  r.steps = m.steps;
  Bodies bodies;
  free.bodies(x, bodies);
  r.error = angle_between(bodies[0].q_WB, top.at(5).q_WB);
  return r;
}

TEST(Dopri5, KeepsTheToleranceThatItIsGiven) {
  for (const double tol : {1e-5, 1e-7, 1e-9, 1e-11}) {
    const Ride r = ride(tol);
    // Each step adds at most tol to the attitude and (1 + |w|) tol to the rate, |w| < 4, which the remaining 5 s turn into angle.
    EXPECT_LT(r.error, static_cast<double>(r.steps) * tol * (1 + 5 * 5)) << tol;
    // A control that were a hundred times too careful would spend 100^(1/5) = 2.5 times the steps.
    EXPECT_GT(r.error, 1e-2 * tol) << tol;
  }
}

// A disc (C = 2 A) spun about an axis near its own, in the product's formulation, with a free joint or none.
struct Disc {
  double error = 0;  ///< rad
  long steps = 0;
};
Disc spun_disc(double tol, const SpinningTop& disc, bool free_joint) {
  ModelSpec spec;
  spec.gravity = Vec3::Zero();
  BodySpec body;
  body.name = "disc";
  body.inertia.mass = 1;
  body.inertia.I_C = Vec3(disc.A, disc.A, disc.C).asDiagonal();
  spec.bodies.push_back(body);
  JointSpec joint;
  joint.name = "float", joint.kind = JointKind::Free, joint.child = "disc";
  if (free_joint) spec.joints.push_back(joint);
  const Result<Model> model = Model::build(spec);
  Augmented dynamics(*model);
  System system(dynamics);
  State x;
  dynamics.set({disc.at(0)}, x);
  Dopri5 dopri5(tolerance(tol));
  const March m = march(spec, system, dopri5, 0, 2, 2, x);
  EXPECT_TRUE(m.verdict.ok());
  Bodies bodies;
  dynamics.bodies(x, bodies);
  return {angle_between(bodies[0].q_WB, disc.at(2).q_WB), m.steps};
}

TEST(Dopri5, KeepsTheToleranceOnASpinningDiscThatWobbles) {
  SpinningTop disc;
  disc.A = 0.01, disc.C = 0.02;
  disc.w0 = disc.q0 * Vec3(1, -2, 30);
  for (const bool free_joint : {false, true})
    for (const double tol : {1e-5, 1e-7, 1e-9}) {
      const Disc d = spun_disc(tol, disc, free_joint);
      // Per step at most tol of attitude, and (1 + |w|) tol of rate, which changes L/A by C/A = 2 times that for 2 s.
      EXPECT_LT(d.error, static_cast<double>(d.steps) * tol * (1 + 2 * 2 * (1 + disc.w0.norm()))) << tol;
      EXPECT_GT(d.error, 1e-3 * tol) << tol;  // nor is it a thousand times too careful
    }
}

// Spun about its axis it moves in a straight line of the chart: there is no error to estimate, steps grow until rounding has
// grown into one that is (rates beside the axis turn at 30 /s), and then the same law holds.
TEST(Dopri5, KeepsTheToleranceOnADiscSpunAboutItsAxis) {
  SpinningTop disc;
  disc.A = 0.01, disc.C = 0.02;
  disc.w0 = disc.q0 * Vec3(0, 0, 30);
  for (const double tol : {1e-5, 1e-7, 1e-9}) {
    const Disc d = spun_disc(tol, disc, true);
    EXPECT_LT(d.error, static_cast<double>(d.steps) * tol * (1 + 2 * 2 * (1 + disc.w0.norm()))) << tol;
  }
}

TEST(Dopri5, StepsGrowWithTheFifthRootOfTheTolerance) {
  // err ~ h^5 per step: five decades of tolerance are one decade of steps. The start and the rounding of the last step to
  // the end move the count by a few steps in 30.
  const double ratio = static_cast<double>(ride(1e-11).steps) / static_cast<double>(ride(1e-6).steps);
  EXPECT_NEAR(ratio, 10, 2);
}

TEST(Dopri5, StepsDoNotDependOnTheAxesOfTheWorld) {
  const Ride a = ride(1e-8), b = ride(1e-8, from_zyx({1.1, -0.4, 2.3}));
  ASSERT_EQ(a.lengths.size(), b.lengths.size());
  // The control takes the fifth root of an error that is itself a difference of slopes with relative round-off
  // eps |slope| h / tol = 2e-16 · 4 · 0.1 / 1e-8 = 1e-8; steps inherit a fifth of it, summed over a hundred steps.
  for (std::size_t i = 0; i < a.lengths.size(); ++i) EXPECT_NEAR(a.lengths[i], b.lengths[i], 1e-6 * a.lengths[i]) << i;
}

TEST(Dopri5, DenseOutputIsAsGoodAsTheSteps) {
  const SpinningTop top;
  const Model model = top.model();
  FreeBodies free(model);
  System system(free);
  State x, between;
  free.set({top.at(0)}, x);
  const double tol = 1e-8;
  Dopri5 dopri5(tolerance(tol));
  Bodies bodies;
  double worst = 0;
  const March m = march(top.spec(), system, dopri5, 0, 2, 2, x, [&](double t, double h) {
    for (const double theta : {0.25, 0.5, 0.75}) {
      dopri5.interpolate(system, theta, between);
      free.bodies(between, bodies);
      keep_largest(worst, angle_between(bodies[0].q_WB, top.at(t + theta * h).q_WB));
    }
  });
  // The error of the steps as above, and inside a step one error of the same power h^5, some ten times the estimate.
  EXPECT_LT(worst, static_cast<double>(m.steps) * tol * (1 + 5 * 2) + 10 * tol);
}

TEST(Dopri5, UsesTheLastSlopeAgainOnlyWhereItWasTaken) {
  // Six evaluations per step and one at the start while settle leaves the state; seven as soon as it moves it.
  const SpinningTop top;
  const Model model = top.model();
  for (const double nudge : {0.0, 1e-15}) {
    FreeBodies free(model);
    free.nudge = nudge;
    System system(free);
    State x;
    free.set({top.at(0)}, x);
    Dopri5Options options = tolerance(1e9);
    options.h_first = 0.01;
    Dopri5 dopri5(options);
    dopri5.reset(system, x, 0.0625);
    const long steps = 10;
    for (long k = 0; k < steps; ++k) {
      double done = 0;
      ASSERT_TRUE(dopri5.step(system, 0.0625 * static_cast<double>(k), 0.0625, x, done).ok());
      ASSERT_EQ(done, k == 0 ? 0.01 : 0.0625);
    }
    // The first step was shorter than the grid, so the second one starts at another time: one evaluation more.
    EXPECT_EQ(free.evaluations, nudge == 0 ? 6 * steps + 2 : 7 * steps);
  }
}

TEST(Dopri5, ReusedSlopesChangeNoBit) {
  const SpinningTop top;
  const Model model = top.model();
  FreeBodies free(model);
  System system(free);
  State kept, forgotten;
  free.set({top.at(0)}, kept);
  forgotten = kept;
  Dopri5Options options = tolerance(1e9);
  options.h_first = 1;
  Dopri5 with(options), without(options);
  with.reset(system, kept, 0.03125);
  for (int k = 0; k < 50; ++k) {
    double done = 0;
    const double t = 0.03125 * k;
    ASSERT_TRUE(with.step(system, t, 0.03125, kept, done).ok());
    without.reset(system, forgotten, 0.03125);
    ASSERT_TRUE(without.step(system, t, 0.03125, forgotten, done).ok());
  }
  EXPECT_EQ(kept.q, forgotten.q);
  EXPECT_EQ(kept.v, forgotten.v);
  EXPECT_EQ(kept.aux, forgotten.aux);
}

// f = m v²: v = 1/(1 - t) for v(0) = 1, which no step passes.
class BlowUp final : public Environment {
 public:
  void add(Instant, const Bodies& bodies, Load& load) const override {
    load.port[0].force.x() += bodies[0].v_WC.x() * bodies[0].v_WC.x();
  }
};

TEST(Dopri5, ASingularityEndsInStepTooSmall) {
  const Model model = SpinningTop{}.model();
  FreeBodies free(model);
  System system(free);
  const BlowUp blow_up;
  system.add(blow_up);
  BodyState start;
  start.v_WC.x() = 1;
  State x;
  free.set({start}, x);
  Dopri5Options options = tolerance(1e-10);
  options.h_min = 1e-7;
  Dopri5 dopri5(options);
  const March m = march(SpinningTop{}.spec(), system, dopri5, 0, 2, 2, x);
  EXPECT_EQ(m.verdict.status, Status::StepTooSmall);
  EXPECT_LT(m.verdict.value, options.h_min);
  EXPECT_GT(m.verdict.value, 0);
  // Steps are a fixed share of the way that is left (a few percent at this tolerance), so the end is near h_min / share.
  EXPECT_LT(std::abs(1 - m.t), 1e-4);
  EXPECT_TRUE(x.v.allFinite());
}

class PoisonedAfter final : public Environment {
 public:
  explicit PoisonedAfter(double t) : t_(t) {}
  void add(Instant at, const Bodies&, Load& load) const override {
    if (at.t > t_) load.port[0].moment.y() = std::numeric_limits<double>::quiet_NaN();
  }

 private:
  double t_;
};

TEST(EveryIntegrator, StopsAtTheFirstNumberThatIsNone) {
  const SpinningTop top;
  const Model model = top.model();
  const PoisonedAfter poison(0.505);
  for (const std::string& name : flow_names()) {
    FreeBodies free(model);
    System system(free);
    system.add(poison);
    State x;
    free.set({top.at(0)}, x);
    const March m = march(top.spec(), system, **make_integrator(name), 0, 1, 0.01, x);
    EXPECT_EQ(m.verdict.status, Status::NotFinite) << name;
    // A step may end at 0.51 at most: Euler looks at its start alone, the others look into the step.
    EXPECT_GE(m.t, 0.5 - 0.01) << name;
    EXPECT_LE(m.t, 0.51 + 1e-12) << name;
    EXPECT_TRUE(x.q.allFinite() && x.v.allFinite()) << name;
  }
}

TEST(EveryIntegrator, LeavesTheStateAloneWhenSettleFails) {
  const SpinningTop top;
  const Model model = top.model();
  for (const std::string& name : flow_names()) {
    FreeBodies free(model);
    free.settles = Status::Singular;
    System system(free);
    State x;
    free.set({top.at(0)}, x);
    const State before = x;
    const auto integrator = std::move(*make_integrator(name));
    integrator->reset(system, x, 0.01);
    double done = 1;
    EXPECT_EQ(integrator->step(system, 0, 0.01, x, done).status, Status::Singular) << name;
    EXPECT_EQ(done, 0) << name;
    EXPECT_EQ(x.q, before.q) << name;
    EXPECT_EQ(x.v, before.v) << name;
  }
}

TEST(MakeIntegrator, KnowsEveryNameThatItLists) {
  for (const std::string& name : flow_names()) {
    const auto made = make_integrator(name);
    ASSERT_TRUE(made.has_value()) << name;
    EXPECT_EQ((*made)->name(), name);
  }
}

TEST(MakeIntegrator, RefusesWithTheNearestNameAndWithTheOptionThatIsWrong) {
  const auto unknown = make_integrator("dopri4");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().what.find("did you mean 'dopri5'?"), std::string::npos) << unknown.error().what;

  IntegratorOptions options;
  options.dopri5.position_tolerance = 0;
  const auto zero = make_integrator("dopri5", options);
  ASSERT_FALSE(zero.has_value());
  EXPECT_NE(zero.error().what.find("position_tolerance"), std::string::npos) << zero.error().what;

  options = {};
  options.dopri5.h_max = 1e-12;
  EXPECT_FALSE(make_integrator("dopri5", options).has_value());
}

}  // namespace
}  // namespace invar::testing
