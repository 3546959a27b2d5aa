// SPDX-License-Identifier: Apache-2.0
//
// What a whole run tells about a motion: where its energy went, what its pulses gave, and when its samples were taken.
#include "invar/run/run.hpp"

#include <gtest/gtest.h>

#include "invar/control/disturbance.hpp"
#include "invar/io/scenario_file.hpp"
#include "support/campaign.hpp"
#include "support/outcome.hpp"
#include "support/places.hpp"
#include "support/recorded.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

Scenario scenario_of(const ModelSpec& spec, const Bodies& bodies, double end, const char* method, double step) {
  Scenario s;
  set_model(s, spec);
  s.start = Start(*s.model);
  s.start.by_bodies = true;
  s.start.bodies = bodies;
  s.end_time = end;
  s.method.integrator = method;
  s.method.step = step;
  return s;
}

void add(Scenario& s, const DisturbanceSpec& spec) {
  s.environments.push_back(std::make_shared<Disturbance>(*Disturbance::build(*s.model, spec)));
}

Outcome outcome_of(const Scenario& s, Sink* sink = nullptr) {
  const Result<Outcome> outcome = judged_run(s, sink);
  if (!outcome) ADD_FAILURE() << outcome.error().text();
  return outcome ? *outcome : Outcome{};
}

/// A mechanism with every passive part but the printed spring, which has no energy; wrenches on all bodies, some of them
/// turning with the body, and motors on all joints.
Scenario loaded(std::uint64_t seed) {
  MechanismOptions o;
  o.bodies = 2 + static_cast<int>(seed % 4), o.floating = seed % 3 == 1, o.mass_ratio = 10, o.loops = seed % 5 == 4 ? 1 : 0;
  Sample drawn = random_sample(seed, o);
  for (JointSpec& j : drawn.mechanism.spec.joints)
    if (j.spring.law == SpringLaw::EulerPrinted) j.spring.law = SpringLaw::RotationVector;
  Scenario s = scenario_of(drawn.mechanism.spec, drawn.bodies, 0.5, "dopri5", 0);
  Random random(seed, 12);
  for (const Body& body : s.model->bodies()) {
    const double size = 3 * s.model->mean_mass();
    add(s, {body.name, "", random.chance(0.5) ? Axes::World : Axes::Local, random_vector(random, size),
            random_vector(random, size * s.model->length()), Sinusoid{1, 0.8, 0.3, 0.5}});
  }
  for (const Joint& joint : s.model->joints())
    for (int k = 0; k < joint.nv; ++k)
      s.environments.push_back(std::make_shared<EffortSignal>(
          *EffortSignal::build(*s.model, {joint.name, k, Sinusoid{s.model->mean_mass(), 0.5, 0.1, 0.2}})));
  s.method.options.dopri5.relative_tolerance = 1e-9;
  s.method.options.dopri5.position_tolerance = s.method.options.dopri5.velocity_tolerance = 1e-9;
  s.method.options.dopri5.auxiliary_tolerance = 1e-9;
  return s;
}

// Steps are accepted with errors of 1e-9 of the speeds; some thousand of them leave 1e-6 of the energies that were turned over,
// and stops and friction, whose forces have kinks, a few times that.
TEST(Run, EnergyChangesByTheWorkOfLoadsLessWhatJointsDissipate) {
  int finished = 0;
  double work = 0, all = 0;
  for (int i = 0; i < cases(12); ++i) {
    const Outcome out = outcome_of(loaded(seed(1300) + static_cast<std::uint64_t>(i)));
    if (out.end != Outcome::End::Finished) continue;  // a loop at a dead point
    ++finished;
    const double turned_over = metric(out, "kinetic_max") + std::abs(metric(out, "work")) + metric(out, "dissipated");
    if (turned_over < 1e-9) continue;  // all joints locked or fixed: only round-off of the potential energy moves
    EXPECT_LT(metric(out, "power_balance"), 1e-5 * turned_over) << i << ": " << turned_over;
    work += std::abs(metric(out, "work")), all += turned_over;
  }
  EXPECT_GT(work, 0.01 * all) << "nothing came in";
  EXPECT_GE(finished, cases(12) * 3 / 4);
}

/// A floating ball pushed along y by 2 N while the pulse lasts.
Scenario pushed(const char* method, double on, double off) {
  ModelSpec spec;
  spec.gravity.setZero();
  spec.bodies.push_back({"ball", solid_sphere(2.5, 0.1), {}, {}});
  Scenario s = scenario_of(spec, Bodies(1), 1, method, 0.05);
  add(s, {"ball", "", Axes::World, Vec3(0, 2, 0), Vec3::Zero(), Pulse{on, off, 1}});
  return s;
}

TEST(Run, PulsesGiveForceTimesDurationWhereverTheirEdgesLie) {
  for (const std::string& method : flow_names())
    for (const auto& [on, off] : {std::pair{0.3, 0.7}, {0.123, 0.777}, {0.41, 0.42}, {0.9, 1.5}}) {
      const Outcome out = outcome_of(pushed(method.c_str(), on, off));
      EXPECT_EQ(out.end, Outcome::End::Finished) << out.words;
      const double impulse = 2 * (std::min(off, 1.0) - on);
      // Sums of at most 40 steps, each rounded a few times.
      EXPECT_NEAR(metric(out, "momentum_max"), impulse, 1e-13) << method << " " << on << " " << off;
      EXPECT_NEAR(metric(out, "energy_gain"), impulse * impulse / 5, 1e-13) << method << " " << on << " " << off;
    }
}

TEST(Run, MomentumIsComparedOnlyWhileNoLoadActs) {
  const Outcome out = outcome_of(pushed("rk4", 0.123, 0.777));
  EXPECT_EQ(out.end, Outcome::End::Finished) << out.words;
  EXPECT_LT(metric(out, "momentum_drift"), 1e-14);
  EXPECT_NEAR(metric(out, "quiet_time"), 1 - (0.777 - 0.123), 1e-14);
}

/// Keeps time and the position of the first body.
class Places final : public Sink {
 public:
  Result<void> begin(const Layout& layout) override {
    for (int at = 0; const Channel& c : layout.channels) {
      if (c.path == "time") time_ = at;
      if (c.path.ends_with("/p") && position_ < 0) position_ = at;
      at += c.size;
    }
    return {};
  }
  Result<void> sample(std::span<const double> row) override {
    const double* p = row.data() + position_;
    seen.push_back({row[static_cast<std::size_t>(time_)], Vec3(p[0], p[1], p[2])});
    return {};
  }
  Result<void> end() override { return {}; }

  std::vector<std::pair<double, Vec3>> seen;

 private:
  int time_ = -1, position_ = -1;
};

// A stone on its parabola: polynomials of second degree are integrated and interpolated exactly by every method but Euler's.
TEST(Run, SamplesShowTheStateOfTheirOwnTime) {
  ModelSpec spec;
  spec.bodies.push_back({"stone", solid_sphere(1, 0.1), {}, {}});
  const Vec3 v(3, -1, 6);
  for (const char* method : {"rk4", "dopri5"}) {
    Bodies start(1);
    start[0].v_WC = v;
    Scenario s = scenario_of(spec, start, 1, method, 0.013);
    s.sampling.interval = 0.01;
    s.method.options.dopri5.h_max = 0.037;
    Places sink;
    EXPECT_EQ(outcome_of(s, &sink).end, Outcome::End::Finished);
    ASSERT_GT(sink.seen.size(), 70u) << method;
    for (const auto& [t, p] : sink.seen) EXPECT_LT((p - t * v - 0.5 * t * t * spec.gravity).norm(), 1e-13) << method << " " << t;
    for (std::size_t k = 0; std::string(method) == "dopri5" && k < sink.seen.size(); ++k)
      EXPECT_NEAR(sink.seen[k].first, 0.01 * static_cast<double>(k), 1e-15);
  }
}

// A torsion spring turned up by a flywheel over several turns and back: its energy is that of the whole angle.
TEST(Run, SpringsRememberWholeTurns) {
  ModelSpec spec;
  spec.gravity.setZero();
  spec.bodies.push_back({"wheel", solid_cylinder(1, 0.2, 0.1, 2), {}, {}});
  JointSpec hinge;
  hinge.name = "hinge", hinge.kind = JointKind::Revolute, hinge.child = "wheel";
  hinge.spring.stiffness = {0.05};
  spec.joints.push_back(hinge);
  Bodies start(1);
  start[0].w_WB = Vec3(0, 0, 30);
  const Outcome out = outcome_of(scenario_of(spec, start, 3, "rk4", 1e-3));
  EXPECT_EQ(out.end, Outcome::End::Finished) << out.words;
  // Inertia 0.02: the angle is 30 sin(t sqrt(2.5)) / sqrt(2.5), almost 19 rad. rk4: (h 1.6)⁴ per radian, 1e-11.
  EXPECT_LT(metric(out, "energy_drift"), 1e-9 * metric(out, "kinetic_max"));
}

TEST(Run, SaysWhenASingularConfigurationIsPassed) {
  // The parallelogram swings through its flat position, 1e-3 s at a time: the cranks are flat at a zero of theta, which energy
  // gives (theta' of some 4 rad/s there), so no step meets it closely.
  const auto scenario = read_scenario_file(source_path("scenarios/parallelogram.toml"));
  ASSERT_TRUE(scenario) << scenario.error().text();
  const Outcome outcome = outcome_of(*scenario);
  EXPECT_EQ(metric(outcome, "singular_passages"), 3);
  ASSERT_EQ(outcome.notes.size(), 1u);
  EXPECT_NE(outcome.notes[0].find("rank is 16 and mobility 2: 3 times, first at t = "), std::string::npos) << outcome.notes[0];
}

TEST(Run, SaysNothingWhereNoneIsPassed) {
  for (const char* name : {"four_bar", "ring7", "stewart"}) {
    auto scenario = read_scenario_file(source_path("scenarios/") + name + ".toml");
    ASSERT_TRUE(scenario) << scenario.error().text();
    scenario->end_time = std::min(scenario->end_time, scenario->start_time + 1);
    EXPECT_TRUE(outcome_of(*scenario).notes.empty()) << name;
  }
}

}  // namespace
}  // namespace invar::testing
