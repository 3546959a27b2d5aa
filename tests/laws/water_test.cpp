// SPDX-License-Identifier: Apache-2.0
//
// Drag strip by strip in a flow: it takes energy, turns with the World, and does what integrals over simple bodies say.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "invar/control/strip_drag.hpp"
#include "invar/run/run.hpp"
#include "support/campaign.hpp"
#include "support/controlled.hpp"
#include "support/moving_mechanisms.hpp"
#include "support/recorded.hpp"

namespace invar::testing {
namespace {

ModelSpec rod(double mass, double length) {
  ModelSpec spec;
  spec.gravity = Vec3::Zero();
  spec.bodies.push_back({"rod", solid_box(mass, {length, 0.1, 0.1}), {}, {}});
  return spec;
}

StripDragSpec drag_on(double from, double to, double across, double along, double linear) {
  StripDragSpec d;
  d.body = "rod", d.axis = {Vec3(from, 0, 0), Vec3(to, 0, 0)};
  d.across = across, d.along = along, d.linear = linear;
  return d;
}

Wrench on(const Environment& drag, const Model& model, const Bodies& bodies, double t = 0) {
  Load load(model);
  drag.add(t, bodies, load);
  return load.port[0];
}

// A rod of length L across the water at speed u, along it, and turning about one of its ends: polynomials that nine points
// integrate exactly, up to some roundings.
TEST(StripDrag, OnARodIsWhatIntegralsSay) {
  const double L = 1.4, c = 2, a = 0.15, l = 0.5, u = 0.8, w = 1.7;
  const Model model = build(rod(1, L));
  const StripDrag drag = *StripDrag::build(model, drag_on(-L / 2, L / 2, c, a, l));
  Bodies bodies(1);
  bodies[0].v_WC = Vec3(0, u, 0);
  Wrench f = on(drag, model, bodies);
  EXPECT_LT((f.force - Vec3(0, -(c * u * u + l * u) * L, 0)).norm(), 1e-14);
  EXPECT_LT(f.moment.norm(), 1e-14);
  bodies[0].v_WC = Vec3(-u, 0, 0);
  f = on(drag, model, bodies);
  EXPECT_LT((f.force - Vec3((a * u * u + l * u) * L, 0, 0)).norm(), 1e-14);
  // About the end at -L/2: f(x) = -(c w² x² + l w x), its moment about that end -(c w² L⁴/4 + l w L³/3).
  bodies[0] = BodyState{};
  bodies[0].w_WB = Vec3(0, 0, w), bodies[0].v_WC = Vec3(0, w * L / 2, 0);
  f = on(drag, model, bodies);
  const double force = c * w * w * L * L * L / 3 + l * w * L * L / 2;
  const double moment = c * w * w * std::pow(L, 4) / 4 + l * w * L * L * L / 3;
  EXPECT_LT((f.force - Vec3(0, -force, 0)).norm(), 1e-14 * 10);
  EXPECT_LT((f.about(Vec3(L / 2, 0, 0)).moment - Vec3(0, 0, -moment)).norm(), 1e-14 * 10);
}

struct Drawn {
  Mechanism mechanism;
  Model model;
  Bodies bodies;
  std::vector<StripDragSpec> drags;
  FlowSpec flow;
};

Drawn drawn(int k) {
  MechanismOptions o;
  o.bodies = 1 + k % 4, o.loops = k % 4 == 3 ? 1 : 0, o.mass_ratio = 10, o.passive = false, o.floating = k % 2 == 0;
  const Sample s = random_sample(seed(11200) + static_cast<std::uint64_t>(k), o);
  Random random(seed(11201), static_cast<std::uint64_t>(k));
  Drawn out{s.mechanism, s.model, s.bodies, {}, {}};
  for (const Body& b : s.model.bodies()) {
    StripDragSpec d;
    d.body = b.name, d.axis = {random_vector(random, 0.5), random_vector(random, 0.5)};
    d.across = random.uniform(0, 3), d.along = random.uniform(0, 1), d.linear = random.uniform(0, 1);
    out.drags.push_back(d);
  }
  out.flow.velocity = random_vector(random, 0.5);
  for (int i = 0; i < 3; ++i)
    out.flow.gusts.push_back({random_vector(random, 0.5), random.uniform(0.5, 2), random.uniform(0, 6)});
  return out;
}

Load load_of(const Drawn& d, const Model& model, const Bodies& bodies, const std::shared_ptr<const Flow>& flow, double t) {
  Load load(model);
  for (const StripDragSpec& spec : d.drags) StripDrag::build(model, spec, flow)->add(t, bodies, load);
  return load;
}

// f · u <= 0 at every point, so their sum is; and moving with the flow nothing is felt but round-off of u.
TEST(StripDrag, NeverGivesEnergyRelativeToTheFlow) {
  for (int k = 0; k < cases(200); ++k) {
    const Drawn d = drawn(k);
    const auto flow = std::make_shared<const Flow>(*Flow::build(d.flow));
    const double t = 0.13 * k;
    const Load still = load_of(d, d.model, d.bodies, nullptr, t), moved = load_of(d, d.model, d.bodies, flow, t);
    double in_still = 0, relative = 0, felt = 0;
    Bodies drifting = d.bodies;
    for (BodyState& b : drifting) b.v_WC = flow->velocity(t), b.w_WB = Vec3::Zero();
    const Load none = load_of(d, d.model, drifting, flow, t);
    for (std::size_t b = 0; b < d.bodies.size(); ++b) {
      const Twist V{d.bodies[b].w_WB, d.bodies[b].v_WC}, rest{Vec3::Zero(), flow->velocity(t)};
      in_still += power(still.port[b], V);
      relative += power(moved.port[b], V - rest);
      felt += none.port[b].force.norm() + none.port[b].moment.norm();
    }
    EXPECT_LT(in_still, 0) << k;
    EXPECT_LT(relative, 0) << k;
    EXPECT_LT(felt, 1e-13) << k;
  }
}

// A few hundred roundings of numbers near 10.
TEST(StripDrag, TurnsWithTheWorld) {
  for (int k = 0; k < cases(40); ++k) {
    const Drawn d = drawn(k);
    Random random(seed(11202), static_cast<std::uint64_t>(k));
    const Quat turn = random_attitude(random);
    FlowSpec turned_flow = d.flow;
    turned_flow.velocity = turn * d.flow.velocity;
    for (Gust& g : turned_flow.gusts) g.amplitude = turn * g.amplitude;
    Bodies turned_bodies = d.bodies;
    for (BodyState& b : turned_bodies)
      b.p_WC = turn * b.p_WC, b.v_WC = turn * b.v_WC, b.w_WB = turn * b.w_WB, b.q_WB = turn * b.q_WB;
    const Load here = load_of(d, d.model, d.bodies, std::make_shared<const Flow>(*Flow::build(d.flow)), 1.1);
    const Load there = load_of(d, d.model, turned_bodies, std::make_shared<const Flow>(*Flow::build(turned_flow)), 1.1);
    for (std::size_t b = 0; b < here.port.size(); ++b) {
      EXPECT_LT((turn * here.port[b].force - there.port[b].force).norm(), 1e-11) << k;
      EXPECT_LT((turn * here.port[b].moment - there.port[b].moment).norm(), 1e-11) << k;
    }
  }
}

Scenario in_water(const ModelSpec& spec, const Bodies& start, const char* formulation, const char* method, double step,
                  double end, const std::vector<StripDragSpec>& drags, const std::shared_ptr<const Flow>& flow) {
  Scenario s;
  set_model(s, spec);
  s.start = Start(*s.model);
  s.start.by_bodies = true, s.start.bodies = start;
  s.end_time = end;
  s.method.formulation = formulation, s.method.integrator = method, s.method.step = step;
  s.flow = flow;
  for (const StripDragSpec& d : drags)
    s.environments.push_back(std::make_shared<const StripDrag>(*StripDrag::build(*s.model, d, flow)));
  return s;
}

double metric(const Outcome& o, const std::string& name) {
  for (const Metric& m : o.metrics)
    if (m.name == name) return m.value;
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

/// Energies at every sample.
class Energies final : public Sink {
 public:
  Result<void> begin(const Layout& layout) override {
    int at = 0;
    for (const Channel& c : layout.channels) {
      if (c.path == "energy/total") total_ = static_cast<std::size_t>(at);
      if (c.path == "flow/velocity") flow_ = at;
      if (c.path == "flow/measured") measured_ = at;
      at += c.size;
    }
    return {};
  }
  Result<void> sample(std::span<const double> row) override {
    total.push_back(row[total_]);
    if (flow_ >= 0)
      seen.emplace_back(row[0], Vec3(row[static_cast<std::size_t>(flow_)], row[static_cast<std::size_t>(flow_) + 1],
                                     row[static_cast<std::size_t>(flow_) + 2]));
    return {};
  }
  Result<void> end() override { return {}; }
  bool measures() const { return measured_ >= 0; }
  std::vector<double> total;
  std::vector<std::pair<double, Vec3>> seen;

 private:
  std::size_t total_ = 0;
  int flow_ = -1, measured_ = -1;
};

// m v' = -a L v²: v = v0/(1 + a L v0 t/m), which rk4 in steps of 10 ms follows to 1e-9; and with linear drag v0 exp(-l L t/m).
TEST(StripDrag, SlowsARodAsItsEquationSays) {
  const double L = 1, m = 2, v0 = 3;
  Bodies start(1);
  start[0].v_WC = Vec3(v0, 0, 0);
  for (const bool square : {true, false}) {
    const double a = square ? 1.5 : 0, l = square ? 0 : 1.5, t = 2;
    Scenario s = in_water(rod(m, L), start, "augmented", "rk4", 0.01, t, {drag_on(-0.5, 0.5, 0.7, a, l)}, nullptr);
    Energies sink;
    const auto out = judged_run(s, &sink);
    ASSERT_TRUE(out) << out.error().text();
    const double v = square ? v0 / (1 + a * L * v0 * t / m) : v0 * std::exp(-l * L * t / m);
    EXPECT_NEAR(sink.total.back(), 0.5 * m * v * v, 1e-8);
  }
}

// In still water energy falls in every step, of whatever method. What drag takes is in the balance: exactly where a method
// accounts for loads over steps, else to its order; the steps of 2 ms of rk4 leave 1e-9 of the energies at play.
TEST(StripDrag, IsAccountedForInEveryFormulation) {
  const Moving m = spring_chain();
  std::vector<StripDragSpec> drags;
  for (const Body& b : m.model.bodies()) {
    StripDragSpec d;
    d.body = b.name, d.axis = {Vec3(-0.3, 0, 0.1), Vec3(0.4, 0.1, 0)};
    d.across = 2, d.along = 0.15, d.linear = 0.5;
    drags.push_back(d);
  }
  std::vector<double> ends;
  for (const auto& [formulation, method, bound] : {std::tuple{"augmented", "rk4", 1e-7},
                                                   {"minimal", "rk4", 1e-7},
                                                   {"natural", "rk4", 1e-7},
                                                   {"natural", "conserving", 1e-9}}) {
    Scenario s;
    set_model(s, m.spec);
    s.start = Start(*s.model);
    s.start.by_bodies = true, s.start.bodies = m.start;
    s.end_time = 1;
    s.method.formulation = formulation, s.method.integrator = method, s.method.step = 0.002;
    for (const StripDragSpec& d : drags)
      s.environments.push_back(std::make_shared<const StripDrag>(*StripDrag::build(m.model, d)));
    Energies sink;
    const auto out = judged_run(s, &sink);
    ASSERT_TRUE(out) << out.error().text();
    const double scale = metric(*out, "kinetic_max");
    EXPECT_LT(metric(*out, "power_balance"), bound * scale) << formulation << " " << method;
    EXPECT_LT(metric(*out, "work"), -0.05 * scale) << formulation << " " << method;
    for (std::size_t k = 1; k < sink.total.size(); ++k)
      EXPECT_LT(sink.total[k], sink.total[k - 1] + 1e-12 * scale) << formulation << " " << method << " " << k;
    ends.push_back(sink.total.back());
  }
  // Flows agree to their order; the stepper is of second order.
  EXPECT_NEAR(ends[1], ends[0], 1e-7);
  EXPECT_NEAR(ends[2], ends[0], 1e-7);
  EXPECT_NEAR(ends[3], ends[0], 1e-3);
}

TEST(Flow, IsTheSumOfItsSinesAndIsRecorded) {
  FlowSpec spec;
  spec.velocity = Vec3(0.2, 0, -0.1);
  spec.gusts = {{Vec3(0.5, 0, 0), 0.7, 0.3}, {Vec3(0, 0.3, 0.1), 1.3, 0}};
  const auto flow = std::make_shared<const Flow>(*Flow::build(spec));
  Bodies start(1);
  Scenario s = in_water(rod(1, 1), start, "augmented", "rk4", 0.01, 1, {drag_on(-0.5, 0.5, 1, 1, 1)}, flow);
  Energies sink;
  ASSERT_TRUE(judged_run(s, &sink));
  ASSERT_EQ(sink.seen.size(), 101u);
  EXPECT_FALSE(sink.measures());
  for (const auto& [t, v] : sink.seen) {
    const Vec3 expected = spec.velocity + std::sin(2 * std::numbers::pi * 0.7 * t + 0.3) * Vec3(0.5, 0, 0) +
                          std::sin(2 * std::numbers::pi * 1.3 * t) * Vec3(0, 0.3, 0.1);
    EXPECT_LT((v - expected).norm(), 1e-14);
  }
  EXPECT_GT(sink.total.back(), 0) << "the flow carries what rests";
  EXPECT_FALSE(flow->measured(0.5));
}

// Estimates from n draws scatter by σ/sqrt(2n); five times that is beyond chance.
TEST(Flow, IsMeasuredWithTheDeviationItWasToldAndHeld) {
  FlowSpec spec;
  spec.gusts = {{Vec3(0.5, 0.1, 0), 0.7, 0.3}};
  spec.measured = FlowMeter{0.03, 0.005, 7};
  const Flow flow = *Flow::build(spec);
  constexpr int n = 4000;
  Vec3 squares = Vec3::Zero();
  for (int k = 0; k < n; ++k) {
    const Vec3 error = *flow.measured(0.005 * k + 0.001) - flow.velocity(0.005 * k + 0.001);
    const Vec3 later = *flow.measured(0.005 * k + 0.004) - flow.velocity(0.005 * k + 0.004);
    EXPECT_LT((error - later).norm(), 1e-15);
    squares += error.cwiseAbs2();
  }
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(std::sqrt(squares[i] / n), 0.03, 5 * 0.03 / std::sqrt(2.0 * n));
}

// A load attached to the body moves its centre of mass, and nothing of the drag but the point that it is told about.
TEST(StripDrag, StaysOnItsBodyWhenTheInertiaIsEdited) {
  const ModelSpec spec = rod(1, 1);
  Inertia load = solid_sphere(2, 0.1);
  load.p_BC = Vec3(0.4, 0.1, 0);
  const Model before = build(spec), after = build(*edited(spec, std::vector<Edit>{Attach{"load", "rod", load}}));
  const StripDrag drag = *StripDrag::build(before, drag_on(-0.5, 0.5, 2, 0.3, 0.5));
  const auto bound = drag.bound_to(after);
  ASSERT_TRUE(bound && *bound);
  Random random(3, 1);
  Bodies a(1), b(1);
  a[0] = {random_vector(random, 1), random_vector(random, 1), random_vector(random, 1), random_attitude(random)};
  const Vec3 shift = a[0].q_WB * (after.bodies()[0].inertia.p_BC - before.bodies()[0].inertia.p_BC);
  b[0] = {a[0].p_WC + shift, a[0].v_WC + a[0].w_WB.cross(shift), a[0].w_WB, a[0].q_WB};
  const Wrench here = on(drag, before, a), there = on(**bound, after, b).about(shift);
  EXPECT_GT(shift.norm(), 0.1);
  EXPECT_LT((here.force - there.force).norm(), 1e-13);
  EXPECT_LT((here.moment - there.moment).norm(), 1e-13);
}

}  // namespace
}  // namespace invar::testing
