// SPDX-License-Identifier: Apache-2.0
// Are jumps in time integrated as if they were not there? Signals, the side of an edge, and what disturbances do to momentum.
#include <gtest/gtest.h>

#include "invar/control/disturbance.hpp"
#include "invar/integrate/make.hpp"
#include "support/free_bodies.hpp"
#include "support/march.hpp"
#include "support/spinning_top.hpp"

namespace invar::testing {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kForever = std::numeric_limits<double>::infinity();

// A body with its centre of mass and a frame away from its origin.
ModelSpec crate_spec() {
  ModelSpec spec;
  spec.gravity = Vec3::Zero();
  BodySpec body;
  body.name = "crate";
  body.inertia = solid_box(2.5, {0.4, 0.6, 0.8});
  body.inertia.p_BC = Vec3(0.05, -0.1, 0.2);
  spec.bodies.push_back(body);
  FrameSpec corner;
  corner.name = "corner";
  corner.body = "crate";
  corner.at = {from_zyx({0.3, 0.2, -0.7}), Vec3(0.25, 0.2, 0.6)};
  FrameSpec ground{"ground", "world", {}, {}};
  spec.frames = {corner, ground};
  return spec;
}

Model crate() { return *Model::build(crate_spec()); }

Disturbance built(const Model& model, const DisturbanceSpec& spec) {
  Result<Disturbance> d = Disturbance::build(model, spec);
  EXPECT_TRUE(d.has_value()) << (d ? "" : d.error().text());
  return *d;
}

DisturbanceSpec push(double on, double off) {
  DisturbanceSpec spec;
  spec.body = "crate";
  spec.force = Vec3(0, 2, 0);
  spec.signal = Pulse{on, off, 1};
  return spec;
}

// The crate at rest, with a pulse along y between two times.
struct Pushed {
  Pushed(double on, double off) : force(built(model, push(on, off))) {
    system.add(force);
    free.set({BodyState{}}, x);
  }
  double momentum() const { return 2.5 * x.v[1]; }

  Model model = crate();
  FreeBodies free{model};
  System system{free};
  Disturbance force;
  State x;
};

// Momentum along y after 1 s with steps of 0.05 s.
double pushed(const std::string& method, double on, double off) {
  Pushed crate(on, off);
  EXPECT_TRUE(march(crate_spec(), crate.system, **make_integrator(method), 0, 1, 0.05, crate.x).verdict.ok());
  return crate.momentum();
}

TEST(Pulse, GivesForceTimesDurationWhereverItsEdgesLie) {
  // On the grid, off it, closer together than a step, and cut by the end of the run.
  const double edges[][2] = {{0.3, 0.7}, {0.123, 0.777}, {0.41, 0.42}, {0.0, 0.05}, {0.9, 1.5}, {0.333333333, 0.35}};
  for (const std::string& method : flow_names())
    for (const auto& [on, off] : edges)
      // 20 to 40 additions to a number of at most 2, and as many roundings of h: 40 · 2 · 2 eps.
      EXPECT_NEAR(pushed(method, on, off), 2 * (std::min(off, 1.0) - on), 160 * kEps) << method << " " << on << " " << off;
}

TEST(Pulse, WouldLeakOverItsEdgesWithoutSegments) {
  // The same steps, but every time seen from the right: rk4's last stage of the step before `on` sees the force, that of the
  // step before `off` does not. Shown on the first edge alone: too much by F h/6.
  Pushed crate(0.5, 2);
  const auto rk4 = std::move(*make_integrator("rk4"));
  const double h = 0.0625;
  rk4->reset(crate.system, crate.x, h);
  for (int k = 0; k < 16; ++k) {
    double done = 0;
    ASSERT_TRUE(rk4->step(crate.system, k * h, h, crate.x, done).ok());
  }
  EXPECT_NEAR(crate.momentum() - 2 * 0.5, 2 * h / 6, 160 * kEps);
}

TEST(Pulse, DoesNotReachDopri5ThroughTheSlopeOfTheSegmentBefore) {
  // Without a reset at the edge the step after it starts at the same time and state as the last slope, on the other side.
  Pushed crate(0.5, 2);
  Dopri5Options options;
  options.h_first = 0.5;
  Dopri5 dopri5(options);
  dopri5.reset(crate.system, crate.x, 0.5);
  double done = 0;
  crate.system.enter(0, 0.5);
  ASSERT_TRUE(dopri5.step(crate.system, 0, 0.5, crate.x, done).ok());
  ASSERT_EQ(done, 0.5);
  crate.system.enter(0.5, 1);
  ASSERT_TRUE(dopri5.step(crate.system, 0.5, 0.5, crate.x, done).ok());
  ASSERT_EQ(done, 0.5);
  EXPECT_NEAR(crate.momentum(), 2 * 0.5, 160 * kEps);
}

TEST(Ramp, ItsImpulseIsItsAreaWithRk4) {
  // Linear pieces are integrated exactly by any method of order 2 or more, provided that no step crosses a kink.
  const Model model = crate();
  FreeBodies free(model);
  System system(free);
  DisturbanceSpec spec = push(0, 1);
  spec.signal = Ramp{0.21, 0.56, -1, 3};
  DisturbanceSpec second = push(0, 1);
  second.signal = Table{{0.1, 0.33, 0.9}, {1, -2, 4}};
  const Disturbance ramp = built(model, spec), table = built(model, second);
  system.add(ramp);
  system.add(table);
  State x;
  free.set({BodyState{}}, x);
  ASSERT_TRUE(march(crate_spec(), system, **make_integrator("rk4"), 0, 1, 0.05, x).verdict.ok());
  const double ramp_area = -0.21 + 0.35 * (-1 + 3) / 2 + 3 * 0.44;
  const double table_area = 0.1 * 1 + 0.23 * (1 - 2) / 2.0 + 0.57 * (-2 + 4) / 2.0 + 0.1 * 4;
  EXPECT_NEAR(2.5 * x.v[1], 2 * (ramp_area + table_area), 200 * kEps);
}

TEST(Signal, ShowsTheSideOfAnEdge) {
  const struct {
    Signal signal;
    double edge, left, right;
  } cases[] = {
      {Jump{0.5, 2, 7}, 0.5, 2, 7},
      {Pulse{0.5, 1.5, 3}, 0.5, 0, 3},
      {Pulse{0.5, 1.5, 3}, 1.5, 3, 0},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(value(c.signal, Instant(c.edge, c.edge - 0.1)), c.left);
    EXPECT_EQ(value(c.signal, Instant(c.edge, c.edge + 0.1)), c.right);
    EXPECT_EQ(value(c.signal, c.edge), c.right) << "a time on its own is seen from the right";
  }
}

TEST(Signal, KinksKeepTheirSlopesOnBothSides) {
  const Signal ramp = Ramp{1, 3, 0, 4};
  EXPECT_EQ(value(ramp, Instant(3, 2)), 4);
  EXPECT_EQ(value(ramp, Instant(3.5, 2)), 5) << "the line goes on: the segment decides, not the time";
  EXPECT_EQ(value(ramp, Instant(0.5, 0.2)), 0);
  EXPECT_EQ(value(ramp, 10), 4);
  const Signal table = Table{{0, 1, 2}, {5, 7, 3}};
  EXPECT_EQ(value(table, Instant(1, 0.5)), 7);
  EXPECT_EQ(value(table, Instant(1, 1.5)), 7);
  EXPECT_EQ(value(table, Instant(1.25, 0.5)), 7.5);
  EXPECT_EQ(value(table, -1), 5);
  EXPECT_EQ(value(table, 2), 3);
}

TEST(Signal, SmoothKindsAreTheirFormulas) {
  EXPECT_EQ(value(Constant{4}, 17), 4);
  EXPECT_EQ(value(Polynomial{{1, -2, 3}, 0.5}, 2.5), 1 - 2 * 2 + 3 * 4);
  // A quarter of a period after the phase is taken off: the sine is at its top, where roundings of the angle do not show.
  EXPECT_NEAR(value(Sinusoid{2, 0.5, 0.25, 1}, 0.5 - 0.25 / 3.14159265358979), 3, 4 * kEps);
}

TEST(Signal, ListsEveryEventOnceAndInOrder) {
  EXPECT_EQ(next_event(Pulse{0.5, 1.5, 3}, -1), 0.5);
  EXPECT_EQ(next_event(Pulse{0.5, 1.5, 3}, 0.5), 1.5);
  EXPECT_EQ(next_event(Pulse{0.5, 1.5, 3}, 1.5), kForever);
  EXPECT_EQ(next_event(Jump{2, 0, 1}, 0), 2);
  EXPECT_EQ(next_event(Ramp{1, 3, 0, 4}, 1), 3);
  EXPECT_EQ(next_event(Table{{0, 1, 2}, {5, 7, 3}}, 0.5), 1);
  EXPECT_EQ(next_event(Table{{0, 1, 2}, {5, 7, 3}}, 2), kForever);
  EXPECT_EQ(next_event(Sinusoid{}, 0), kForever);
}

TEST(Signal, RandomIsAFunctionOfTimeThatIsHeldBetweenItsEvents) {
  const Noise noise{2, 0.1, 7};
  const Signal signal = noise, other = Noise{2, 0.1, 8};
  // Events are where the stretches meet, each once, whatever 0.1 rounds to; on both sides other numbers.
  double t = 0;
  for (int k = 1; k <= 3000; ++k) {
    const double next = next_event(signal, t);
    ASSERT_EQ(next, k * 0.1);
    EXPECT_EQ(value(signal, Instant(next, t + 0.05)), value(signal, t));
    EXPECT_NE(value(signal, next), value(signal, t));
    t = next;
  }
  EXPECT_EQ(value(signal, 12.34), value(Signal(noise), 12.34));
  // Moments of n normal numbers: the mean within 5 σ/√n, the variance within 5 √(2/n) σ², neighbours and seeds uncorrelated.
  constexpr int n = 20000;
  double mean = 0, square = 0, neighbours = 0, seeds = 0;
  for (int k = -n / 2; k < n / 2; ++k) {
    const double x = value(signal, 0.1 * k + 0.05) / 2;
    mean += x / n, square += x * x / n;
    neighbours += x * value(signal, 0.1 * k + 0.15) / 2 / n, seeds += x * value(other, 0.1 * k + 0.05) / 2 / n;
  }
  const double five = 5 / std::sqrt(double(n));
  EXPECT_NEAR(mean, 0, five);
  EXPECT_NEAR(square, 1, five * std::sqrt(2.0));
  EXPECT_NEAR(neighbours, 0, five);
  EXPECT_NEAR(seeds, 0, five);
}

TEST(Signal, NamesTheFlawOfANonFunction) {
  EXPECT_NE(flaw(Signal(Noise{1, 0, 0})), "");
  EXPECT_NE(flaw(Signal(Noise{-1, 1, 0})), "");
  EXPECT_EQ(flaw(Signal(Pulse{0, 1, 1})), "");
  EXPECT_NE(flaw(Signal(Pulse{1, 1, 1})), "");
  EXPECT_NE(flaw(Signal(Ramp{2, 1, 0, 1})), "");
  EXPECT_NE(flaw(Signal(Table{{0, 1, 1}, {0, 1, 2}})), "");
  EXPECT_NE(flaw(Signal(Table{{0, 1}, {0}})), "");
  EXPECT_NE(flaw(Signal(Table{})), "");
  EXPECT_NE(flaw(Signal(Polynomial{})), "");
  EXPECT_NE(flaw(Signal(Constant{std::nan("")})), "");
}

// Load of one disturbance on the crate in some pose.
Wrench load_of(const Model& model, const DisturbanceSpec& spec, const BodyState& state) {
  Load load(model);
  built(model, spec).add(0.5, {state}, load);
  return load.port[0];
}

TEST(Disturbance, AtAFrameDoesTheWorkOfAForceAtThatPoint) {
  // Power of the Port about the centre of mass = force · velocity of the point + moment · rate, for any motion.
  const Model model = crate();
  const BodyState s{Vec3(1, 2, 3), Vec3(0.3, -0.2, 0.5), Vec3(1.5, 0.7, -2), from_zyx({0.4, -0.3, 1.2})};
  DisturbanceSpec spec;
  spec.frame = "corner";
  spec.force = Vec3(3, -1, 2);
  spec.moment = Vec3(0.2, 0.5, -0.4);
  spec.signal = Constant{1.5};
  const Pose X_WE = s.X_WB(model.bodies()[0]) * model.frames()[0].X_BE;
  for (const Axes axes : {Axes::World, Axes::Local}) {
    spec.axes = axes;
    const Mat3 R = axes == Axes::World ? Mat3::Identity() : X_WE.R();
    const double expected = 1.5 * ((R * spec.force).dot(s.velocity_at(X_WE.p)) + (R * spec.moment).dot(s.w_WB));
    // Products of numbers up to 15, some thirty roundings.
    EXPECT_NEAR(power(load_of(model, spec, s), Twist{s.w_WB, s.v_WC}), expected, 30 * 15 * kEps);
  }
}

TEST(Disturbance, OnABodyActsAtItsCentreOfMass) {
  const Model model = crate();
  const BodyState s{Vec3(1, 2, 3), Vec3::Zero(), Vec3::Zero(), from_zyx({0.4, -0.3, 1.2})};
  DisturbanceSpec spec;
  spec.body = "crate";
  spec.force = Vec3(3, -1, 2);
  EXPECT_EQ(load_of(model, spec, s).moment, Vec3::Zero());
  EXPECT_EQ(load_of(model, spec, s).force, spec.force);
  // A (55): a body-fixed moment is turned into the World by the attitude.
  spec.axes = Axes::Local;
  spec.force = Vec3::Zero();
  spec.moment = Vec3(0.2, 0.5, -0.4);
  EXPECT_LT((s.q_WB.toRotationMatrix() * spec.moment - load_of(model, spec, s).moment).norm(), 4 * kEps);
}

TEST(Disturbance, RefusesWhatItCannotMove) {
  const Model model = crate();
  const auto why = [&](const char* body, const char* frame) {
    DisturbanceSpec spec;
    spec.body = body;
    spec.frame = frame;
    const Result<Disturbance> d = Disturbance::build(model, spec);
    return d ? std::string() : d.error().what;
  };
  EXPECT_EQ(why("crate", ""), "");
  EXPECT_NE(why("crat", "").find("did you mean 'crate'?"), std::string::npos) << why("crat", "");
  EXPECT_NE(why("", "cornor").find("did you mean 'corner'?"), std::string::npos) << why("", "cornor");
  EXPECT_NE(why("world", ""), "");
  EXPECT_NE(why("", "ground"), "");
  EXPECT_NE(why("", ""), "");
  EXPECT_NE(why("crate", "corner"), "");
}

TEST(EffortSignal, ActsOnItsFreedomAlone) {
  ModelSpec spec;
  for (const char* name : {"a", "b"}) {
    BodySpec body;
    body.name = name;
    body.inertia = solid_sphere(1, 0.1);
    spec.bodies.push_back(body);
  }
  JointSpec hinge, wrist;
  hinge.name = "hinge";
  hinge.kind = JointKind::Revolute;
  hinge.child = "a";
  wrist.name = "wrist";
  wrist.kind = JointKind::Universal;
  wrist.parent = "a";
  wrist.child = "b";
  spec.joints = {hinge, wrist};
  const Result<Model> model = Model::build(spec);
  ASSERT_TRUE(model.has_value()) << model.error().text();

  const Result<EffortSignal> effort = EffortSignal::build(*model, {"wrist", 1, Pulse{1, 2, 5}});
  ASSERT_TRUE(effort.has_value()) << effort.error().text();
  Load load(*model);
  effort->add(1.5, Bodies(2), load);
  EXPECT_EQ(load.efforts, Vec3(0, 0, 5));
  effort->add(2.5, Bodies(2), load);
  EXPECT_EQ(load.efforts, Vec3(0, 0, 5));
  EXPECT_EQ(effort->next_event(0), 1);

  EXPECT_FALSE(EffortSignal::build(*model, {"wrist", 2, Constant{1}}).has_value());
  EXPECT_FALSE(EffortSignal::build(*model, {"hinge", -1, Constant{1}}).has_value());
  const Result<EffortSignal> unknown = EffortSignal::build(*model, {"wrst", 0, Constant{1}});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().what.find("did you mean 'wrist'?"), std::string::npos) << unknown.error().what;
}

}  // namespace
}  // namespace invar::testing
