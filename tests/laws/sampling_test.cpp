// SPDX-License-Identifier: Apache-2.0
//
// Controllers at work on a plant: held commands, delay and noise of what is seen, and commands that go through actuators.
#include <gtest/gtest.h>

#include "invar/control/controller.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/system.hpp"
#include "invar/run/run.hpp"
#include "support/campaign.hpp"
#include "support/moving_mechanisms.hpp"
#include "support/recorded.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

/// Pulls every body to a place that swings about where it started, and brakes it: wrenches on the bodies themselves.
class Pull final : public ControlLaw {
 public:
  Pull(const Model& model, Bodies about) : model_(model), about_(std::move(about)) { read({"pulls", "1", "how many"}); }

  Verdict command(Instant at, const Bodies& bodies, Load& out) override {
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      const double mass = model_.bodies()[b].inertia.mass, spin = mass * model_.length() * model_.length();
      const Vec3 place = about_[b].p_WC + 0.1 * std::sin(3 * at.t) * Vec3(1, 2, -1);
      out.port[b] += Wrench{-2 * spin * bodies[b].w_WB, mass * (30 * (place - bodies[b].p_WC) - 4 * bodies[b].v_WC)};
    }
    return {};
  }
  void witness(const Witness&) override { show(0, ++looks_); }

 private:
  const Model& model_;
  Bodies about_;
  double looks_ = 0;
};

/// The same load whatever happens.
class Steady final : public ControlLaw {
 public:
  explicit Steady(Load load) : load_(std::move(load)) {}
  Verdict command(Instant, const Bodies&, Load& out) override {
    for (std::size_t b = 0; b < load_.port.size(); ++b) out.port[b] += load_.port[b];
    out.efforts += load_.efforts;
    return {};
  }
  void witness(const Witness&) override {}

 private:
  Load load_;
};

ControllerSpec pull(const Moving& m, double period = 0) {
  ControllerSpec spec;
  spec.nominal = std::make_shared<const Model>(m.model);
  spec.law = [about = m.start](const Model& model) { return std::make_unique<Pull>(model, about); };
  spec.period = period;
  return spec;
}

std::vector<ActuatorSpec> all_motors(const Model& model) {
  std::vector<ActuatorSpec> out;
  for (const Joint& joint : model.joints())
    for (int k = 0; k < joint.nv; ++k) {
      ActuatorSpec a;
      a.joint = joint.name, a.freedom = k;
      out.push_back(a);
    }
  return out;
}

std::unique_ptr<Controller> built(const ControllerSpec& spec, const Model& plant, std::uint64_t seed = 0) {
  auto made = Controller::build(spec, plant, 0, seed);
  if (!made) ADD_FAILURE() << made.error().text();
  return made ? std::move(*made) : nullptr;
}

/// Where the bodies are after `end` s, in rk4 steps of h; dt is what the controller settles at, its period or a step.
Bodies after(const Moving& m, const ControllerSpec& spec, double end, double dt, double h) {
  Augmented formulation(m.model);
  System system(formulation);
  const auto controller = built(spec, m.model);
  system.add(*controller);
  State x;
  formulation.set(m.start, x);
  const auto integrator = std::move(*make_integrator("rk4"));
  Bodies bodies;
  for (int k = 0; k < static_cast<int>(std::lround(end / dt)); ++k) {
    formulation.bodies(x, bodies);
    controller->settle(k * dt, bodies);
    system.enter(k * dt, (k + 1) * dt);
    const int n = std::max(1, static_cast<int>(std::lround(dt / h)));
    integrator->reset(system, x, dt / n);
    for (int i = 0; i < n; ++i) {
      double done = 0;
      EXPECT_TRUE(integrator->step(system, k * dt + i * dt / n, dt / n, x, done).ok());
    }
  }
  formulation.bodies(x, bodies);
  return bodies;
}

double distance(const Bodies& a, const Bodies& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (a[k].p_WC - b[k].p_WC).squaredNorm() + (a[k].v_WC - b[k].v_WC).squaredNorm();
  return std::sqrt(sum);
}

// A command held for T is late by T/2 on average, which is an error of the first order with coefficients of second order behind
// it: halving T halves the error up to a part of some rates (10 /s) times T. Steps of 1 ms leave (0.02)⁴.
TEST(Controller, SampledTendsToContinuousWithTheFirstOrderOfItsPeriod) {
  const Moving m = spring_chain();
  for (const bool motors : {false, true}) {
    ControllerSpec spec = pull(m);
    if (motors) spec.actuators = all_motors(m.model);
    const Bodies exact = after(m, spec, 0.4, 0.001, 0.001);
    double before = 0;
    for (const double T : {0.008, 0.004, 0.002}) {
      spec.period = T;
      const double error = distance(after(m, spec, 0.4, T, 0.001), exact);
      EXPECT_GT(error, 1e-5);
      EXPECT_NEAR(before > 0 ? before / error : 2, 2, 0.2) << T;
      before = error;
    }
  }
}

// Commands differ by what allocation leaves, 1e-12 of them, for 0.4 s.
TEST(Controller, MotorsOnAllFreedomsOfATreeMoveItAsThePortWould) {
  const Moving m = spring_chain();
  ControllerSpec spec = pull(m);
  const Bodies port = after(m, spec, 0.4, 0.004, 0.004);
  spec.actuators = all_motors(m.model);
  EXPECT_LT(distance(after(m, spec, 0.4, 0.004, 0.004), port), 1e-10);
  spec.actuators.pop_back();
  EXPECT_GT(distance(after(m, spec, 0.4, 0.004, 0.004), port), 1e-4) << "one of them was not needed";
}

/// A motion to be looked at, one entry per tick.
std::vector<Bodies> recorded(const Moving& m, int ticks, double T) {
  std::vector<Bodies> out;
  for (int k = 0; k < ticks; ++k) out.push_back(k == 0 ? m.start : after(m, pull(m), k * T, T, T));
  return out;
}

TEST(Controller, ADelayOfSomePeriodsGivesTheSameCommandsThatMuchLater) {
  const Moving m = spring_chain();
  constexpr double T = 0.01;
  constexpr int kDelay = 3;
  const std::vector<Bodies> motion = recorded(m, 10, T);
  Pull law(m.model, m.start);
  for (const bool motors : {false, true}) {
    ControllerSpec spec = pull(m, T);
    if (motors) spec.actuators = all_motors(m.model);
    const auto prompt = built(spec, m.model);
    spec.delay = kDelay * T;
    const auto late = built(spec, m.model);
    std::vector<Load> commands;
    for (int k = 0; k < static_cast<int>(motion.size()); ++k) {
      Load load(m.model), delayed(m.model);
      prompt->settle(k * T, motion[static_cast<std::size_t>(k)]);
      late->settle(k * T, motion[static_cast<std::size_t>(k)]);
      prompt->add(k * T, m.start, load);
      late->add(k * T, m.start, delayed);
      commands.push_back(load);
      if (!motors) {
        Load now(m.model);
        law.command(k * T, motion[static_cast<std::size_t>(k)], now);
        EXPECT_EQ(load.port[0].force, now.port[0].force) << "without a delay it acts at once";
      }
      const Load expected = k < kDelay ? Load(m.model) : commands[static_cast<std::size_t>(k - kDelay)];
      EXPECT_EQ(delayed.efforts, expected.efforts) << k;
      for (std::size_t b = 0; b < expected.port.size(); ++b) {
        EXPECT_EQ(delayed.port[b].force, expected.port[b].force) << k;
        EXPECT_EQ(delayed.port[b].moment, expected.port[b].moment) << k;
      }
    }
    EXPECT_GT(commands.back().efforts.norm() + commands.back().port[0].force.norm(), 0.1);
  }
}

TEST(Controller, HoldsInputsNotForcesSoThatAThrusterTurnsWithItsFrame) {
  ModelSpec spec;
  spec.bodies.push_back({"hull", solid_box(2, {0.3, 0.2, 0.1}), {}, {}});
  spec.frames.push_back({"nozzle", "hull", {from_zyx({0, 0, 0.5}), Vec3(-0.1, 0, 0)}, {}});
  const Model plant = build(spec);
  ControllerSpec c;
  c.nominal = std::make_shared<const Model>(plant);
  Load wanted(plant);
  wanted.port[0].force = Vec3(3, 1, 0);
  c.law = [wanted](const Model&) { return std::make_unique<Steady>(wanted); };
  c.period = 1;
  ActuatorSpec thruster;
  thruster.kind = ActuatorSpec::Kind::Thruster, thruster.frame = "nozzle";
  c.actuators = {thruster};
  const auto controller = built(c, plant);
  Bodies bodies(1);
  controller->settle(0, bodies);
  Load first(plant), later(plant);
  controller->add(0.1, bodies, first);
  const Quat turn = from_zyx({1, -0.5, 2});
  bodies[0].q_WB = turn;
  controller->add(0.9, bodies, later);
  EXPECT_GT(first.port[0].force.norm(), 1);
  EXPECT_LT((turn * first.port[0].force - later.port[0].force).norm(), 1e-14);
}

// At the tick both act as commanded; later one keeps World axes and the other those of the body.
TEST(Controller, HoldsWrenchesInTheAxesThatItIsTold) {
  ModelSpec spec;
  spec.bodies.push_back({"hull", solid_box(2, {0.3, 0.2, 0.1}), {}, {}});
  const Model plant = build(spec);
  Load wanted(plant);
  wanted.port[0] = {Vec3(0.3, -1, 2), Vec3(3, 1, 0)};
  const Quat at_tick = from_zyx({0.4, 0.2, -1}), turn = from_zyx({1, -0.5, 2});
  for (const bool with_body : {false, true}) {
    ControllerSpec c;
    c.nominal = std::make_shared<const Model>(plant);
    c.law = [wanted](const Model&) { return std::make_unique<Steady>(wanted); };
    c.period = 1, c.with_body = with_body;
    const auto controller = built(c, plant);
    Bodies bodies(1);
    bodies[0].q_WB = at_tick;
    controller->settle(0, bodies);
    Load first(plant), later(plant);
    controller->add(0.1, bodies, first);
    EXPECT_LT((first.port[0].force - wanted.port[0].force).norm(), 1e-14);
    EXPECT_LT((first.port[0].moment - wanted.port[0].moment).norm(), 1e-14);
    bodies[0].q_WB = turn * at_tick;
    controller->add(0.9, bodies, later);
    const Quat moved = with_body ? turn : Quat::Identity();
    EXPECT_LT((moved * wanted.port[0].force - later.port[0].force).norm(), 1e-14);
    EXPECT_LT((moved * wanted.port[0].moment - later.port[0].moment).norm(), 1e-14);
  }
}

// A command without actuators that lags follows like a first-order filter at ticks.
TEST(Controller, WithALagFollowsLikeAFilter) {
  const Moving m = spring_chain();
  ControllerSpec c = pull(m, 0.02);
  Load wanted(m.model);
  wanted.efforts[0] = 2, wanted.port[1].force = Vec3(1, 2, 3);
  c.law = [wanted](const Model&) { return std::make_unique<Steady>(wanted); };
  c.lag = 0.05;
  const auto controller = built(c, m.model);
  for (int k = 0; k < 12; ++k) {
    controller->settle(0.02 * k, m.start);
    Load load(m.model);
    controller->add(0.02 * k, m.start, load);
    const double part = 1 - std::exp(-0.4 * (k + 1));
    EXPECT_NEAR(load.efforts[0], 2 * part, 1e-14);
    EXPECT_LT((load.port[1].force - part * wanted.port[1].force).norm(), 1e-14);
  }
}

// u ← a + (u - a) e^(-T/lag): after k ticks a (1 - e^(-kT/lag)), to a rounding per tick; a rate moves it by T rate per tick.
TEST(Controller, LagAndRateMoveInputsAsFirstOrderFiltersAndRampsDo) {
  const Moving m = spring_chain();
  ControllerSpec c = pull(m, 0.02);
  Load wanted(m.model);
  wanted.efforts[0] = 2;
  c.law = [wanted](const Model&) { return std::make_unique<Steady>(wanted); };
  c.actuators = all_motors(m.model);
  c.actuators[0].lag = 0.05;
  const auto lagged = built(c, m.model);
  c.actuators[0].lag = 0, c.actuators[0].rate = 15;
  const auto ramped = built(c, m.model);
  for (int k = 0; k < 12; ++k) {
    lagged->settle(0.02 * k, m.start);
    ramped->settle(0.02 * k, m.start);
    EXPECT_NEAR(lagged->inputs()[0], 2 * (1 - std::exp(-0.4 * (k + 1))), 1e-11);
    EXPECT_NEAR(ramped->inputs()[0], std::min(2.0, 0.3 * (k + 1)), 1e-11);
  }
  const Certificate certificate = lagged->certificate();
  for (const Clause& clause : certificate.clauses()) {
    if (clause.name == "commands_are_given") continue;  // nobody looked at a plant
    EXPECT_EQ(clause.held(), clause.name != "actuators_keep_up") << clause.text();
    if (clause.name != "actuators_keep_up") continue;
    EXPECT_NEAR(clause.first_value, 2 * std::exp(-0.4), 1e-11);
    EXPECT_EQ(clause.subjects[static_cast<std::size_t>(clause.first_subject)], c.actuators[0].joint);
  }
}

// Estimates of a mean and of a deviation from n draws scatter by σ/sqrt(n) and σ/sqrt(2n); five times that is beyond chance.
TEST(Measurement, HasTheDeviationsItWasTold) {
  ModelSpec spec;
  spec.bodies.push_back({"ball", solid_sphere(1, 0.1), {}, {}});
  const Model model = build(spec);
  const NoiseSpec noise{0.01, 0.02, 0.3, 0.4};
  Measurement measurement(model, noise, 0, 5, "c");
  Bodies bodies(1);
  bodies[0] = {Vec3(1, 2, 3), Vec3(-1, 0, 1), Vec3(2, 0, 0), from_zyx({0.3, 0.2, 0.1})};
  constexpr int n = 4000;
  Eigen::Matrix<double, 12, 1> sum = Eigen::Matrix<double, 12, 1>::Zero(), squares = sum, e;
  for (int k = 0; k < n; ++k) {
    const BodyState& seen = measurement.look(k, bodies)->bodies[0];
    e << seen.p_WC - bodies[0].p_WC, log_so3(seen.q_WB * bodies[0].q_WB.conjugate()), seen.v_WC - bodies[0].v_WC,
        seen.w_WB - bodies[0].w_WB;
    sum += e, squares += e.cwiseAbs2();
  }
  const double sizes[] = {noise.position, noise.attitude, noise.velocity, noise.angular_velocity};
  for (int i = 0; i < 12; ++i) {
    EXPECT_LT(std::abs(sum[i] / n), 5 * sizes[i / 3] / std::sqrt(n)) << i;
    EXPECT_NEAR(std::sqrt(squares[i] / n), sizes[i / 3], 5 * sizes[i / 3] / std::sqrt(2 * n)) << i;
  }
}

// Newton's iteration closes joints to round-off from a tolerance of 1e-6 m: its last correction squares what was left.
TEST(Measurement, IsAMotionThatTheJointsAllow) {
  for (int k = 0; k < cases(20); ++k) {
    MechanismOptions options;
    options.bodies = 4, options.loops = k % 2, options.couplings = k % 3 == 0, options.mass_ratio = 10,
    options.planar = k % 4 == 3;
    const Sample s = random_sample(seed(700) + static_cast<std::uint64_t>(k), options);
    Measurement measurement(s.model, {1e-3, 1e-3, 1e-2, 1e-2}, 0, 1, "c");
    const VecX wound = wound_at(s.model, s.bodies, VecX());
    for (int i = 0; i < 5; ++i) {
      const Bodies& seen = measurement.look(i, s.bodies)->bodies;
      const ConstraintError error = constraint_error(s.model, seen, wound);
      EXPECT_LT(error.position, 1e-9) << k << ": " << describe(s.mechanism.spec);
      EXPECT_LT(error.velocity, 1e-8) << k << ": " << describe(s.mechanism.spec);
    }
  }
}

TEST(Measurement, IsTheSameToTheBitForTheSameSeedAndName) {
  const Moving m = spring_chain();
  const NoiseSpec noise{1e-3, 1e-3, 1e-2, 1e-2};
  const auto seen = [&](std::uint64_t seed, const char* name) {
    Measurement measurement(m.model, noise, 0, seed, name);
    VecX out(7 * 20);
    for (int k = 0; k < 20; ++k) {
      const BodyState& b = measurement.look(k, m.start)->bodies[1];
      out.segment<7>(7 * k) << b.p_WC, b.q_WB.coeffs();
    }
    return out;
  };
  EXPECT_EQ(seen(3, "a"), seen(3, "a"));
  EXPECT_NE(seen(3, "a"), seen(4, "a"));
  EXPECT_NE(seen(3, "a"), seen(3, "b"));
}

/// Keeps every row, and where the input of the first motor stands.
class Rows final : public Sink {
 public:
  Result<void> begin(const Layout& layout) override {
    for (const Channel& c : layout.channels) paths.push_back(c.path);
    return {};
  }
  Result<void> sample(std::span<const double> row) override { return rows.emplace_back(row.begin(), row.end()), Result<void>{}; }
  Result<void> end() override { return {}; }
  std::vector<std::string> paths;
  std::vector<std::vector<double>> rows;
};

TEST(Controller, ARunRecordsInputsAndJudgesWhatBecameOfCommands) {
  const Moving m = spring_chain();
  Scenario s;
  set_model(s, m.spec);
  s.start = Start(*s.model);
  s.start.by_bodies = true, s.start.bodies = m.start;
  s.end_time = 0.1;
  s.method.integrator = "rk4", s.method.step = 0.005;
  s.controllers = {pull(m, 0.01)};
  s.controllers[0].name = "c";
  s.controllers[0].actuators = all_motors(m.model);
  s.controllers[0].noise = {1e-4, 1e-4, 1e-3, 1e-3};
  s.controllers[0].delay = 0.01;
  s.seed = 9;
  const auto rows = [&](Outcome& out) {
    Rows sink;
    auto ran = judged_run(s, &sink);
    EXPECT_TRUE(ran) << ran.error().text();
    out = *ran;
    const std::string path = "control/c/input_" + s.model->joints()[0].name;
    EXPECT_NE(std::find(sink.paths.begin(), sink.paths.end(), path), sink.paths.end()) << path;
    return sink.rows;
  };
  Outcome first, again, other;
  const auto bits = rows(first);
  EXPECT_EQ(bits, rows(again)) << "the same seed";
  s.seed = 10;
  EXPECT_NE(bits, rows(other)) << "another seed";
  ASSERT_EQ(first.control.size(), 1u);
  EXPECT_TRUE(first.control[0].certificate.held());

  // One motor too weak, one missing.
  s.controllers[0].actuators[0].upper = 1e-3, s.controllers[0].actuators[0].lower = -1e-3;
  s.controllers[0].actuators.pop_back();
  rows(other);
  int judged = 0;
  for (const Clause& clause : other.control[0].certificate.clauses()) {
    if (clause.name == "commands_are_given") continue;
    EXPECT_FALSE(clause.held()) << clause.name;
    EXPECT_GT(clause.worst, 1e-3) << clause.text();
    judged += clause.name == "port_is_allocated";
    if (clause.name == "actuators_within_limits") judged += clause.first_subject == 0;
  }
  EXPECT_EQ(judged, 2);
}

TEST(Controller, RefusesTimesThatMakeNoSense) {
  const Moving m = spring_chain();
  const auto expect = [&](ControllerSpec spec, const char* words) {
    const auto made = Controller::build(spec, m.model, 0);
    ASSERT_FALSE(made) << words;
    EXPECT_NE(made.error().what.find(words), std::string::npos) << made.error().what;
  };
  ControllerSpec spec = pull(m);
  spec.delay = 0.01;
  expect(spec, "'delay' needs a 'period'");
  spec.period = 0.004;
  expect(spec, "2.5 periods");
  spec.delay = -1;
  expect(spec, "'delay' is a time");
  spec = pull(m), spec.noise.position = 1e-3;
  expect(spec, "'noise' needs a 'period'");
  spec.noise.position = -1, spec.period = 0.01;
  expect(spec, "standard deviation");
  spec = pull(m), spec.actuators = all_motors(m.model), spec.actuators[1].lag = 0.1;
  expect(spec, "'lag' and 'rate' need a 'period'");
  spec.actuators[1].lag = 0, spec.actuators[1].rate = 1;
  expect(spec, "'lag' and 'rate' need a 'period'");
  spec.actuators[1].rate = -1, spec.period = 0.01;
  expect(spec, "'rate' must be positive");
}

}  // namespace
}  // namespace invar::testing
