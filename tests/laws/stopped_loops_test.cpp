// SPDX-License-Identifier: Apache-2.0
//
// A controller that is stopped between two steps and goes on in another one that is newly built and takes its snapshot commands
// the same to the bit as one that was never stopped: whatever it remembers is in the snapshot.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "invar/control/body_law.hpp"
#include "invar/control/impedance_law.hpp"
#include "invar/control/joint_law.hpp"
#include "invar/integrate/make.hpp"
#include "invar/learn/adaptive_load.hpp"
#include "invar/mech/system.hpp"
#include "support/campaign.hpp"
#include "support/joint_cases.hpp"
#include "support/reference_loop.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

constexpr int kSteps = 48;

/// Where the bodies are after every step, with the controller exchanged before step `stop` (none: kSteps); what the last one
/// notes.
std::vector<Bodies> ridden(const Scenario& s, int stop, std::vector<std::string>* notes = nullptr) {
  const auto formulation = make_formulation(*s.model, s.method, false);
  const auto integrator = std::move(*make_integrator(s.method.integrator));
  const double h = s.method.step;
  State x = *state_at(*formulation, s.start);
  std::unique_ptr<Controller> controller;
  std::unique_ptr<System> system;
  const auto take = [&](std::unique_ptr<Controller> next) {
    controller = std::move(next);
    system = std::make_unique<System>(*formulation);
    for (const auto& e : s.environments) system->add(*e);
    system->add(*controller);
  };
  const auto built = [&] {
    auto made = Controller::build(s.controllers[0], *s.model, 0, s.seed);
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    return std::move(*made);
  };
  take(built());
  std::vector<Bodies> out;
  Bodies bodies;
  for (int k = 0; k < kSteps; ++k) {
    formulation->bodies(x, bodies);
    if (k == stop) {
      auto next = built();
      EXPECT_TRUE(next->restore(controller->snapshot()));
      take(std::move(next));
    }
    controller->settle(k * h, bodies);
    system->enter(k * h, (k + 1) * h);
    integrator->reset(*system, x, h);
    double done = 0;
    EXPECT_TRUE(integrator->step(*system, k * h, h, x, done).ok());
    EXPECT_TRUE(x.v.allFinite());
    formulation->bodies(x, bodies);
    out.push_back(bodies);
  }
  if (notes != nullptr) *notes = controller->law().notes();
  return out;
}

bool same(const Bodies& a, const Bodies& b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (a[k].p_WC != b[k].p_WC || a[k].v_WC != b[k].v_WC || a[k].w_WB != b[k].w_WB || a[k].q_WB.coeffs() != b[k].q_WB.coeffs())
      return false;
  return true;
}

// Stops before any tick, after the first ones, while commands are on their way, and somewhere.
void expect_the_same(const Scenario& s, Random& random, const std::string& what) {
  const std::vector<Bodies> whole = ridden(s, kSteps);
  std::vector<int> stops = {0, 1, 2, 3, 5, 9};
  for (int k = 0; k < 4; ++k) stops.push_back(10 + random.below(kSteps - 10));
  for (const int stop : stops) {
    const std::vector<Bodies> again = ridden(s, stop);
    for (std::size_t k = 0; k < whole.size(); ++k)
      ASSERT_TRUE(same(whole[k], again[k])) << what << ", stopped at " << stop << ", " << k;
  }
}

// What makes a loop remember: ticks, delay, lag, noise.
void sample(ControllerSpec& c, double h) {
  c.period = 2 * h, c.delay = 4 * h, c.lag = 0.01, c.with_body = c.weighs = true;
  c.noise = {2e-4, 2e-4, 2e-3, 5e-3};
}

// Integral action, observer, and a load that is learned on top of a file, with generic terms that the fallback may drop.
TEST(StoppedLoops, OfTasksGoOnToTheBit) {
  Random random(seed(17800));
  const UnknownLoad load = UnknownLoad::reference();
  auto learned = std::make_shared<Learned>(learned_from(load, seed(17801), 100, TermKind::Fourier));
  learned->coefficients.tail(learned->counts.back()) *= -30;  // so that they are dropped soon
  AdaptSpec adapt;
  adapt.terms.emplace_back().kind = TermKind::Inertia;
  adapt.terms[0].on = {"body5"};
  for (const bool sampled : {true, false}) {
    ReferenceLoop loop;
    loop.step = 0.0025, loop.speed = 2.5;
    loop.gains.linear = loop.gains.angular = 0, loop.gains.rate = 15;
    loop.gains.integral_rate = 60, loop.gains.observer = 12;
    loop.learned = learned;
    loop.gains.known.fallback = true, loop.gains.known.patience = 0.01;
    loop.gains.known.make = [&adapt, shared = learned](const Model& m) -> std::unique_ptr<KnownLoad> {
      auto base = std::make_unique<LearnedInLoop>(*LearnedLoad::build(std::make_shared<const Model>(m), shared), nullptr,
                                                  std::vector<Vec3>());
      return std::move(*AdaptiveLoad::build(m, std::move(base), adapt, nullptr, {}));
    };
    Scenario s = loop.scenario();
    if (sampled) sample(s.controllers[0], loop.step);
    expect_the_same(s, random, sampled ? "sampled" : "at every instant");
    std::vector<std::string> notes;
    ridden(s, kSteps, &notes);
    std::string all;
    for (const std::string& note : notes) all += note;
    EXPECT_NE(all.find("they are dropped"), std::string::npos) << all;
    EXPECT_NE(all.find("is learned anew"), std::string::npos) << all;
  }
}

// Laws in freedoms of trees and loops; commands through motors with lag and limited rate where every freedom can have one.
TEST(StoppedLoops, InFreedomsGoOnToTheBit) {
  Random random(seed(17810));
  int judged = 0, through_motors = 0;
  for (int k = 0; k < cases(8); ++k) {
    const JointCase c = drawn_joint_case(k, k % 2 == 0);
    const Model model = build(c.spec);
    for (const auto kind : {JointLawSpec::Kind::SlotineLi, JointLawSpec::Kind::ComputedTorque, JointLawSpec::Kind::PdGravity}) {
      JointLawSpec law;
      law.kind = kind;
      law.aims = aims_from(model, c.start, kind != JointLawSpec::Kind::PdGravity);
      if (law.aims.empty()) continue;
      law.observer = k % 3 == 0 ? 0 : 15;
      ControllerSpec spec;
      for (JointAim& aim : law.aims) {
        aim.integral = 5;
        ActuatorSpec motor;
        motor.joint = model.joints()[static_cast<std::size_t>(aim.joint)].name, motor.freedom = aim.freedom;
        motor.lag = 0.01, motor.rate = 200;
        if (k % 4 < 2) spec.actuators.push_back(motor);
      }
      spec.law = [law](const Model& m) { return std::make_unique<JointLaw>(m, law); };
      if (k % 4 != 3) sample(spec, 1e-3);
      if (!spec.actuators.empty()) spec.lag = 0, spec.with_body = false;
      expect_the_same(controlled(c.spec, c.start, 1, 1e-3, spec), random,
                      c.what + ", law " + std::to_string(static_cast<int>(kind)));
      ++judged, through_motors += spec.actuators.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(judged, 2 * cases(8));
  EXPECT_GT(through_motors, cases(8) / 2);
}

// Poses of all bodies, and a point that yields and sees positions only.
TEST(StoppedLoops, OfBodiesAndOfImpedancesGoOnToTheBit) {
  Random random(seed(17820));
  for (int k = 0; k < cases(6); ++k) {
    const Sample m = drawn_mechanism(seed(17830) + static_cast<std::uint64_t>(k), k);
    const Model& model = m.model;
    BodyLawSpec poses;
    poses.gains.integral_linear = 20, poses.gains.integral_angular = 2, poses.gains.observer = 10;
    for (const BodyState& b : m.bodies) poses.paths.push_back(drawn_path(random, b.p_WC, b.q_WB));
    ImpedanceSpec yields;
    yields.body = static_cast<int>(model.bodies().size()) - 1, yields.filter = 30, yields.joint_damping = 0.1;
    yields.path = drawn_path(random, m.bodies.back().p_WC, m.bodies.back().q_WB);
    for (const bool sampled : {true, false})
      for (const bool body : {true, false}) {
        ControllerSpec spec;
        spec.law = [=](const Model& of) -> std::unique_ptr<ControlLaw> {
          if (body) return std::make_unique<BodyLaw>(of, poses);
          return std::make_unique<ImpedanceLaw>(of, yields);
        };
        if (sampled) sample(spec, 1e-3);
        expect_the_same(controlled(m.mechanism.spec, m.bodies, 1, 1e-3, spec), random,
                        std::string(body ? "poses" : "impedance") + std::to_string(k));
      }
  }
}

TEST(StoppedLoops, TakeNoSnapshotOfAnotherController) {
  const JointCase c = drawn_joint_case(0, false);
  const Model model = build(c.spec);
  JointLawSpec law;
  law.aims = aims_from(model, c.start, true);
  ASSERT_FALSE(law.aims.empty());
  ControllerSpec spec;
  spec.nominal = std::make_shared<const Model>(model);
  spec.law = [law](const Model& m) { return std::make_unique<JointLaw>(m, law); };
  const auto plain = std::move(*Controller::build(spec, model, 0));
  sample(spec, 1e-3);
  const auto sampled = std::move(*Controller::build(spec, model, 0));
  const std::vector<double> before = plain->snapshot();
  const auto done = plain->restore(sampled->snapshot());
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().what.find("it is built otherwise than the one that kept them"), std::string::npos) << done.error().what;
  EXPECT_EQ(plain->snapshot(), before);
}

// As many numbers are not the same ones: what was kept with another period or delay, or counts no ticks, changes nothing.
TEST(StoppedLoops, TakeNoNumbersOfOthersThatAreAsMany) {
  const JointCase c = drawn_joint_case(0, false);
  const Model model = build(c.spec);
  JointLawSpec law;
  law.aims = aims_from(model, c.start, true);
  ASSERT_FALSE(law.aims.empty());
  const auto made = [&](double period) {
    ControllerSpec spec;
    spec.nominal = std::make_shared<const Model>(model);
    spec.law = [law](const Model& m) { return std::make_unique<JointLaw>(m, law); };
    sample(spec, period);
    return std::move(*Controller::build(spec, model, 0));
  };
  const auto mine = made(1e-3), like = made(1e-3), slow = made(2e-3);
  const std::vector<double> before = mine->snapshot(), others = slow->snapshot();
  ASSERT_EQ(before.size(), others.size());
  EXPECT_TRUE(like->restore(before));
  const auto done = mine->restore(others);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().what.find("is built otherwise than the one that kept"), std::string::npos) << done.error().what;
  // To the bit, since what nobody has seen yet is NaN.
  const auto same = [](const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
  };
  const auto refused_with = [&](std::size_t k, double no_count) {
    std::vector<double> damaged = before;
    damaged[k] = no_count;
    const auto one = made(1e-3);
    const std::vector<double> kept = one->snapshot();
    const auto taken = one->restore(damaged);
    if (taken) return false;
    EXPECT_NE(taken.error().what.find("counts ticks"), std::string::npos) << taken.error().what;
    EXPECT_TRUE(same(one->snapshot(), kept)) << k;
    return true;
  };
  int refused = 0;
  for (std::size_t k = 1; k < before.size(); ++k) {
    if (!refused_with(k, -1)) continue;
    for (const double no_count : {0.5, 1e300, std::nan("")}) refused += refused_with(k, no_count);
    ++refused;
  }
  EXPECT_EQ(refused, 8) << "ticks, and ticks that saw something";
}

}  // namespace
}  // namespace invar::testing
