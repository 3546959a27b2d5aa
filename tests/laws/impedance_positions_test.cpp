// SPDX-License-Identifier: Apache-2.0
//
// Impedance that measures positions only, and the filter that makes rates of them.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support/campaign.hpp"
#include "support/moving_mechanisms.hpp"
#include "support/yielding.hpp"

namespace invar::testing {
namespace {

// What it is told of velocities does not matter to a law that measures positions.
TEST(ImpedanceLaw, FromPositionsDoesNotLookAtVelocities) {
  int judged = 0;
  for (const Sort sort : {Sort::Space, Sort::Plane, Sort::Loops})
    for (int i = 0; i < cases(8); ++i) {
      const auto d = drawn(sort, seed(6800) + static_cast<std::uint64_t>(i), true);
      if (!d) continue;
      Random random(6801, static_cast<std::uint64_t>(i));
      ImpedanceSpec spec = drawn_spec(random, d->model, d->bodies);
      spec.filter = 30;
      for (const bool true_ones : {true, false}) {
        ImpedanceLaw told(d->model, spec), lied(d->model, spec), measured(d->model, [&] {
          ImpedanceSpec other = spec;
          other.filter = 0;
          return other;
        }());
        Bodies first = d->bodies, later = d->bodies;
        Random motion(6802, static_cast<std::uint64_t>(i));
        for (BodyState& b : later) b.p_WC += random_vector(motion, 0.01), b.q_WB = exp_so3(random_vector(motion, 0.01)) * b.q_WB;
        const auto distort = [&](Bodies bodies) {
          for (BodyState& b : bodies)
            b.v_WC = random_vector(motion, true_ones ? 0 : 5), b.w_WB = random_vector(motion, true_ones ? 0 : 5);
          return bodies;
        };
        Load a(d->model), b(d->model), c(d->model);
        told.settle(0, first), lied.settle(0, distort(first));
        ASSERT_TRUE(told.command(0.01, later, a).ok() && lied.command(0.01, distort(later), b).ok());
        told.settle(0.02, later), lied.settle(0.02, distort(later));
        ASSERT_TRUE(told.command(0.025, first, a).ok() && lied.command(0.025, distort(first), b).ok());
        EXPECT_EQ((a.efforts - b.efforts).norm(), 0) << d->what;
        ASSERT_TRUE(measured.command(0.01, later, c).ok() && measured.command(0.025, first, c).ok());
        EXPECT_GT((a.efforts - c.efforts).norm(), 1e-3) << "the filter says something, and not what velocities say";
        ++judged;
      }
    }
  EXPECT_GT(judged, cases(8) * 3);
}

// z' = ω (x - z) for a path that is straight: against the solution of that equation, in one part or in many; and over steps the
// account of ½ ω u² is exact.
TEST(PositionFilter, FollowsStraightPathsExactlyAndAccountsForWhatItTakes) {
  for (int i = 0; i < cases(20); ++i) {
    Random random(6900, static_cast<std::uint64_t>(i));
    const double rate = random.uniform(1, 200), speed = random.uniform(-3, 3), end = random.uniform(0.01, 0.2),
                 from = random.uniform(2, 3);
    PositionFilter filter(rate, {true});
    const auto x = [&](double t) {
      const double angle = from + speed * t;
      return VecX::Constant(1, angle - 2 * std::numbers::pi * std::round(angle / (2 * std::numbers::pi))).eval();
    };
    VecX u(1);
    filter.settle(0, x(0), false);
    for (const int parts : {1, 5}) {
      PositionFilter again = filter;
      for (int k = 1; k < parts; ++k) again.settle(end * k / parts, x(end * k / parts), false);
      again.at(end, x(end), u);
      EXPECT_NEAR(u[0], speed / rate * (1 - std::exp(-rate * end)), 1e-14);
    }
    // Over steps along any path.
    double position = from, storage = 0;
    const double h = 0.01;
    for (int k = 0; k < 50; ++k) {
      const double change = random.uniform(-0.3, 0.3);
      const VecX start = VecX::Constant(1, position), way = VecX::Constant(1, change);
      filter.over(k * h, h, start, way, u);
      const double taken = rate * u[0];
      position += change;
      filter.settle((k + 1) * h, VecX::Constant(1, position), true);
      filter.at((k + 1) * h, VecX::Constant(1, position), u);
      const double now = 0.5 * rate * u[0] * u[0];
      EXPECT_NEAR(now - storage, taken * (change - h * taken), 1e-14 * (1 + rate));
      storage = now;
    }
  }
}

TEST(ImpedanceLaw, FromPositionsGivesUpOverEveryStepWhatTheFilterTakes) {
  int judged = 0;
  for (const char* method : {"discrete_gradient", "conserving"})
    for (const Sort sort : {Sort::Space, Sort::Plane, Sort::Loops})
      for (const bool through : {false, true})
        for (int i = 0; i < cases(5); ++i) {
          const auto d = drawn(sort, seed(7000) + static_cast<std::uint64_t>(i), true);
          if (!d) continue;
          Random random(7001, static_cast<std::uint64_t>(i));
          ImpedanceSpec spec = drawn_spec(random, d->model, d->bodies);
          spec.through_joints = through, spec.filter = 50;
          if (!ImpedanceLaw(d->model, spec).objection(0.0, d->bodies).empty()) spec.joint_damping = 0;
          if (!ImpedanceLaw(d->model, spec).objection(0.0, d->bodies).empty()) continue;
          const StepBalance b = balance(d->mechanism.spec, d->model, d->bodies, spec, method, 5e-3, 200);
          ASSERT_TRUE(b.verdict.ok()) << d->what;
          if (b.wound) continue;
          EXPECT_LE(b.clause, 1e-13) << d->what << " " << method;
          EXPECT_GT(b.clause, 0) << d->what;
          ++judged;
        }
  EXPECT_GT(judged, cases(5) * 3);
}

/// Counts how often it may remember something.
class Counting final : public ControlLaw {
 public:
  explicit Counting(int& count) : count_(count) {}
  Verdict command(Instant, const Bodies&, Load&) override { return {}; }
  void settle(Instant, const Bodies&) override { ++count_; }
  void witness(const Witness&) override {}

 private:
  int& count_;
};

TEST(Controller, LetsASampledLawRememberWhatItSeesAtTicksOnly) {
  const Moving start = shipped("paper_c_pendulum");
  for (const double period : {0.0, 0.1}) {
    int count = 0;
    ControllerSpec c;
    c.nominal = std::make_shared<const Model>(start.model);
    c.law = [&](const Model&) { return std::make_unique<Counting>(count); };
    c.period = period;
    const auto controller = std::move(*Controller::build(c, start.model, 0));
    for (int k = 0; k <= 20; ++k) controller->settle(0.02 * k, start.start);
    EXPECT_EQ(count, period > 0 ? 5 : 21);
  }
}

}  // namespace
}  // namespace invar::testing
