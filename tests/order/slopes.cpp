// SPDX-License-Identifier: Apache-2.0
// Do the methods have the orders that they claim? Measured slopes of the error over the step.
#include <gtest/gtest.h>

#include <functional>

#include "invar/base/largest.hpp"
#include "invar/control/disturbance.hpp"
#include "invar/integrate/make.hpp"
#include "support/fixed_step.hpp"
#include "support/free_bodies.hpp"
#include "support/march.hpp"
#include "support/spinning_top.hpp"

namespace invar::testing {
namespace {

struct Choice {
  const char* name;
  double order;
  int coarsest;  ///< steps per run: chosen so that the finest error stays two digits above round-off
};
const Choice kChoices[] = {{"rk4", 4, 80}, {"semi_implicit_euler", 1, 640}, {"dopri5", 5, 60}, {"radau", 5, 40}};

// With err = C h^p (1 + c h + ...), halving h shows the slope p + c h / (2 ln 2) + ...: the deviation halves with h, too. Hence
// the extrapolated slope 2 s(h/2) - s(h) is p up to O(h²), and what remains at these steps is below 0.15.
void expect_order(const std::function<double(int)>& error, int coarsest, double order, const char* what) {
  const double e1 = error(coarsest), e2 = error(2 * coarsest), e4 = error(4 * coarsest);
  const double s1 = std::log2(e1 / e2), s2 = std::log2(e2 / e4);
  ::testing::Test::RecordProperty(what, std::to_string(s2));
  EXPECT_NEAR(2 * s2 - s1, order, 0.15) << what << ": slopes " << s1 << ", " << s2 << "; errors " << e1 << ", " << e2 << ", "
                                        << e4;
}

// Error of the attitude of the free top after 2 s (about one and a half turns).
double top_error(const char* name, int steps, bool drop_correction) {
  const SpinningTop top;
  const Model model = top.model();
  FreeBodies free(model);
  free.drop_correction = drop_correction;
  System system(free);
  State x;
  free.set({top.at(0)}, x);
  const double h = 2.0 / steps;
  EXPECT_EQ(march(top.spec(), system, *fixed_step(name, h), 0, 2, h, x).steps, steps);
  Bodies bodies;
  free.bodies(x, bodies);
  return angle_between(bodies[0].q_WB, top.at(2).q_WB);
}

TEST(SpinningTop, AttitudeHasTheFullOrderOfEveryMethod) {
  for (const Choice& c : kChoices) expect_order([&](int n) { return top_error(c.name, n, false); }, c.coarsest, c.order, c.name);
}

TEST(SpinningTop, WithoutTheTangentCorrectionOnlyOrderTwoRemains) {
  // u' = w keeps the first term of Magnus' series; the next one, the commutator of w and w', is O(h³) per step.
  for (const char* name : {"rk4", "dopri5", "radau"}) expect_order([&](int n) { return top_error(name, n, true); }, 80, 2, name);
}

// Two bodies joined by a spring between off-centre points, in gravity, stirred by a follower moment: nothing is constant.
class Rope final : public Environment {
 public:
  void add(Instant, const Bodies& b, Load& load) const override {
    const Vec3 arm0 = b[0].q_WB * Vec3(0.3, 0.1, 0), arm1 = b[1].q_WB * Vec3(-0.2, 0, 0.2);
    const Vec3 force = 20 * (b[1].p_WC + arm1 - b[0].p_WC - arm0);
    load.port[0] += Wrench{Vec3::Zero(), force}.about(arm0);
    load.port[1] -= Wrench{Vec3::Zero(), force}.about(arm1);
  }
};

ModelSpec pair_spec() {
  ModelSpec spec;
  for (const char* name : {"left", "right"}) {
    BodySpec body;
    body.name = name;
    body.inertia = solid_box(name[0] == 'l' ? 1.0 : 0.4, {0.2, 0.4, 0.7});
    spec.bodies.push_back(body);
  }
  return spec;
}

Model pair() { return *Model::build(pair_spec()); }

VecX stirred_pair_after_one_second(const char* name, int steps) {
  const Model model = pair();
  FreeBodies free(model);
  System system(free);
  const Rope rope;
  DisturbanceSpec stir;
  stir.body = "left";
  stir.axes = Axes::Local;
  stir.moment = Vec3(0.3, -0.2, 0.5);
  stir.signal = Sinusoid{1, 0.7, 0.4, 0.2};
  const Result<Disturbance> stirring = Disturbance::build(model, stir);
  system.add(rope);
  system.add(*stirring);
  State x;
  free.set({BodyState{Vec3::Zero(), Vec3(0.1, 0, 0), Vec3(3, 1, -2), Quat::Identity()},
            BodyState{Vec3(1, 0.2, 0), Vec3(0, 0.5, 0), Vec3(-1, 2, 1), from_zyx({0.2, 0.4, -1})}},
           x);
  const double h = 1.0 / steps;
  EXPECT_EQ(march(pair_spec(), system, *fixed_step(name, h), 0, 1, h, x).steps, steps);
  VecX all(x.q.size() + x.v.size() + x.aux.size());
  all << x.q, x.v, x.aux;
  return all;
}

TEST(StirredPair, WholeStateIncludingWorkHasTheFullOrderOfEveryMethod) {
  // The spring makes rates of about 20 /s, so four times as many steps as for the top. No closed form here: the difference of two
  // runs with h and h/2 is C h^p (1 - 2^-p), so it has the slope of the error.
  for (const Choice& c : kChoices) {
    const auto difference = [&](int n) {
      return (stirred_pair_after_one_second(c.name, n) - stirred_pair_after_one_second(c.name, 2 * n)).norm();
    };
    expect_order(difference, 4 * c.coarsest, c.order, c.name);
  }
}

TEST(DenseOutput, OneStepFromExactDataHasItsStatedLocalError) {
  // Largest error inside one step: order of the dense output plus one. rk4 3 + 1, Euler 1 + 1, dopri5 4 + 1, radau 3 + 1.
  const struct {
    const char* name;
    double slope;
  } cases[] = {{"rk4", 4}, {"semi_implicit_euler", 2}, {"dopri5", 5}, {"radau", 4}};
  const SpinningTop top;
  const Model model = top.model();
  for (const auto& c : cases) {
    const auto inside = [&](int n) {
      FreeBodies free(model);
      System system(free);
      State x, between;
      free.set({top.at(0)}, x);
      const double h = 2.0 / n;
      const auto integrator = fixed_step(c.name, h);
      march(top.spec(), system, *integrator, 0, h, h, x);
      double worst = 0;
      Bodies bodies;
      for (const double theta : {0.15, 0.3, 0.5, 0.7, 0.85}) {
        integrator->interpolate(system, theta, between);
        free.bodies(between, bodies);
        const BodyState exact = top.at(theta * h);
        keep_largest(worst, angle_between(bodies[0].q_WB, exact.q_WB));
        keep_largest(worst, (bodies[0].w_WB - exact.w_WB).norm());
      }
      return worst;
    };
    expect_order(inside, 20, c.slope, c.name);
  }
}

TEST(DenseOutput, MeetsBothEndsOfTheStep) {
  const SpinningTop top;
  const Model model = top.model();
  for (const Choice& c : kChoices) {
    FreeBodies free(model);
    System system(free);
    State x, out;
    free.set({top.at(0)}, x);
    const State before = x;
    const auto integrator = fixed_step(c.name, 0.1);
    march(top.spec(), system, *integrator, 0, 0.1, 0.1, x);
    // A dozen additions of numbers of size 4 at most, each rounded once: 12 · 4 · eps = 1e-14.
    integrator->interpolate(system, 0, out);
    EXPECT_LT((out.q - before.q).norm() + (out.v - before.v).norm(), 1e-14) << c.name;
    integrator->interpolate(system, 1, out);
    EXPECT_LT((out.q - x.q).norm() + (out.v - x.v).norm(), 1e-14) << c.name;
  }
}

TEST(SpinningTop, QuaternionKeepsItsNormOverAHundredThousandSteps) {
  const SpinningTop top;
  const Model model = top.model();
  for (const char* name : {"rk4", "semi_implicit_euler"}) {
    FreeBodies free(model);
    System system(free);
    State x;
    free.set({top.at(0)}, x);
    ASSERT_EQ(march(top.spec(), system, *fixed_step(name, 1e-3), 0, 100, 1e-3, x).steps, 100000);
    // Normalisation rounds four products and one root: |q|² is 1 within 4 eps, after any number of steps.
    EXPECT_NEAR(x.q.segment<4>(3).squaredNorm(), 1, 4 * std::numeric_limits<double>::epsilon()) << name;
  }
}

}  // namespace
}  // namespace invar::testing
