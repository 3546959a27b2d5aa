// SPDX-License-Identifier: Apache-2.0
//
// Compositions of a symmetric method: the order rises by two each time, the direction of time does not matter, and a step that
// fails leaves no trace. The inner method is the leapfrog, as small as a symmetric method can be.
#include "invar/integrate/composition.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "invar/mech/natural.hpp"
#include "support/march.hpp"

namespace invar::testing {
namespace {

/// Half a kick, a drift, half a kick: order 2 and symmetric for forces that depend on positions and time alone.
class Leapfrog final : public Stepper {
 public:
  explicit Leapfrog(int* steps_left = nullptr) : steps_left_(steps_left) {}
  const char* name() const override { return "leapfrog"; }
  int order() const override { return 2; }
  void stage(int) override {}
  void reset(const System&, const State& x, double) override {
    start_ = end_ = x;
    rate_ = {x.v, x.v, x.aux};
  }
  Verdict step(System& system, double t, double h, State& x, double& h_done) override {
    if (steps_left_ != nullptr && (*steps_left_)-- == 0) return {Status::NotConverged};
    start_ = x;
    if (const Verdict s = system.rate(t, x, rate_); !s.ok()) return s;
    x.v += 0.5 * h * rate_.a;
    u_ = h * x.v;
    system.retract(start_, u_, x);
    if (const Verdict s = system.rate(t + h, x, rate_); !s.ok()) return s;
    x.v += 0.5 * h * rate_.a;
    end_ = x;
    h_done = h;
    return {};
  }
  void interpolate(const System&, double theta, State& out) const override {
    out = start_;
    out.q += theta * (end_.q - start_.q);
    out.v += theta * (end_.v - start_.v);
  }
  StepReport report() const override { return {2, 1, 7.0}; }

 private:
  State start_, end_;
  Rate rate_;
  VecX u_;
  int* steps_left_;
};

/// A stiffening spring to the origin and a force that sways.
class Pull final : public Environment {
 public:
  void add(Instant at, const Bodies& b, Load& load) const override {
    const Vec3 p = b[0].p_WC;
    load.port[0].force += -(2 + p.squaredNorm()) * p + Vec3(std::sin(3 * at.t), 0, 0);
  }
};

struct Swing {
  ModelSpec spec = [] {
    ModelSpec ball;
    ball.gravity.setZero();
    BodySpec body;
    body.name = "ball", body.inertia = solid_sphere(1, 0.1);
    ball.bodies.push_back(body);
    return ball;
  }();
  Model model = *Model::build(spec);
  Natural free{model};
  System system{free};
  Pull pull;
  State x;
  Swing() {
    system.add(pull);
    BodyState start;
    start.p_WC = {1, 0.2, -0.3}, start.v_WC = {0, 0.8, 0.1};
    free.set({start}, x);
  }
};

using Factory = std::function<std::unique_ptr<Stepper>()>;
Factory leapfrog() {
  return [] { return std::make_unique<Leapfrog>(); };
}
Factory composed(Composition kind, Factory inner) {
  return [kind, inner] { return std::make_unique<Composed>(kind, inner()); };
}

VecX after(const Factory& method, double T, int steps) {
  Swing s;
  EXPECT_TRUE(march(s.spec, s.system, *method(), 0, T, T / steps, s.x).verdict.ok());
  return (VecX(6) << s.x.q.head<3>(), s.x.v.head<3>()).finished();
}

// Differences of runs with h and h/2: even powers only, so that the slope over one halving is p up to O(h²), below 0.2 here. A
// composition that failed to raise the order would be off by two.
void expect_order(const Factory& method, int order, int coarsest, const char* what) {
  EXPECT_EQ(method()->order(), order) << what;
  const VecX a = after(method, 2, coarsest), b = after(method, 2, 2 * coarsest), c = after(method, 2, 4 * coarsest);
  EXPECT_NEAR(std::log2((a - b).norm() / (b - c).norm()), order, 0.2) << what << ": " << (b - c).norm();
}

TEST(Composition, RaisesTheOrderByTwoEachTime) {
  expect_order(leapfrog(), 2, 50, "leapfrog");
  for (const Composition kind : {Composition::TripleJump, Composition::Suzuki}) {
    const std::string word = composition_names()[static_cast<std::size_t>(kind)];
    const auto once = composed(kind, leapfrog());
    expect_order(once, 4, 50, word.c_str());
    expect_order(composed(kind, once), 6, 25, (word + " twice").c_str());
  }
  expect_order(composed(Composition::Suzuki, composed(Composition::TripleJump, leapfrog())), 6, 25, "Suzuki of a triple jump");
}

TEST(Composition, SharesMeetTheirConditions) {
  for (const Composition kind : {Composition::TripleJump, Composition::Suzuki})
    for (const int order : {2, 4, 6, 8}) {
      double sum = 0, power = 0;
      const auto shares = sub_steps(kind, order);
      for (std::size_t i = 0; i < shares.size(); ++i) {
        sum += shares[i], power += std::pow(shares[i], order + 1);
        EXPECT_EQ(shares[i], shares[shares.size() - 1 - i]);
      }
      EXPECT_NEAR(sum, 1, 1e-15);
      EXPECT_NEAR(power, 0, 1e-13);  // powers of 1.7 up to the ninth
    }
}

TEST(Composition, GoesBackTheWayItCame) {
  for (const Composition kind : {Composition::TripleJump, Composition::Suzuki}) {
    Swing s;
    const State start = s.x;
    Composed method(kind, leapfrog()());
    method.reset(s.system, s.x, 0.1);
    double done = 0;
    ASSERT_TRUE(method.step(s.system, 0.3, 0.2, s.x, done).ok());
    EXPECT_EQ(done, 0.2);
    EXPECT_GT((s.x.q - start.q).norm(), 0.01);
    ASSERT_TRUE(method.step(s.system, 0.5, -0.2, s.x, done).ok());
    EXPECT_LE((s.x.q - start.q).norm() + (s.x.v - start.v).norm(), 1e-14);  // round-off of ten sub-steps of size one
  }
}

TEST(Composition, AStepThatFailsInsideLeavesNoTrace) {
  for (int left = 0; left < 5; ++left) {
    Swing s;
    const State start = s.x;
    int steps_left = left;
    Composed method(Composition::Suzuki, std::make_unique<Leapfrog>(&steps_left));
    method.reset(s.system, s.x, 0.1);
    double done = 1;
    EXPECT_EQ(method.step(s.system, 0, 0.1, s.x, done).status, Status::NotConverged);
    EXPECT_EQ(done, 0);
    EXPECT_TRUE(s.x.q == start.q && s.x.v == start.v && s.x.aux == start.aux);
  }
}

TEST(Composition, ReportsTheSumOfItsParts) {
  Swing s;
  Composed method(Composition::Suzuki, leapfrog()());
  method.reset(s.system, s.x, 0.1);
  double done = 0;
  ASSERT_TRUE(method.step(s.system, 0, 0.1, s.x, done).ok());
  EXPECT_EQ(method.report().iterations, 10);
  EXPECT_EQ(method.report().substeps, 1);
  EXPECT_EQ(method.report().hamiltonian, 7.0);
  EXPECT_EQ(method.family(), Family::Stepper);
}

TEST(Composition, DenseOutputMeetsBothEndsAndTheMiddle) {
  for (const Composition kind : {Composition::TripleJump, Composition::Suzuki}) {
    Swing s;
    const State start = s.x;
    Composed method(kind, leapfrog()());
    method.reset(s.system, s.x, 0.02);
    double done = 0;
    const double h = 0.02;
    ASSERT_TRUE(method.step(s.system, 0, h, s.x, done).ok());
    State at = start;
    method.interpolate(s.system, 0, at);
    EXPECT_EQ(at.q, start.q);
    method.interpolate(s.system, 1, at);
    EXPECT_EQ(at.q, s.x.q);
    const VecX middle = after(leapfrog(), h / 2, 64);
    method.interpolate(s.system, 0.5, at);
    // A cubic through values and slopes errs by x h⁴/384: forces change by rates below 10/s, so x is below 400 m/s⁴.
    EXPECT_LE((at.q.head<3>() - middle.head<3>()).norm(), 400 * std::pow(h, 4) / 384);
  }
}

}  // namespace
}  // namespace invar::testing
