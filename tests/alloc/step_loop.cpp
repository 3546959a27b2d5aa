// SPDX-License-Identifier: Apache-2.0
// Does the step loop ask the heap for anything? Every plant with every integrator. To add a plant, add a line to plants().
#include <gtest/gtest.h>

#include <functional>

#include "alloc/count_heap.hpp"
#include "invar/control/disturbance.hpp"
#include "invar/control/drive.hpp"
#include "invar/integrate/make.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/natural.hpp"
#include "support/free_bodies.hpp"
#include "support/newton_euler.hpp"
#include "support/places.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

struct Start {
  ModelSpec spec;
  Model model;
  Bodies bodies;
};

/// A mechanism in motion and the formulation to try it with.
struct Plant {
  std::string name;
  std::function<Start()> start;
  std::function<std::unique_ptr<Formulation>(const Model&)> formulation;

  friend void PrintTo(const Plant& plant, std::ostream* out) { *out << plant.name; }
};

/// Bodies without joints, spread out and tumbling.
Start swarm(int n) {
  ModelSpec spec;
  for (int i = 0; i < n; ++i) {
    BodySpec body;
    body.name = "b" + std::to_string(i);
    body.inertia = solid_box(1 + 0.1 * i, {0.1, 0.2, 0.3});
    spec.bodies.push_back(body);
  }
  Start start{spec, build(spec), Bodies(spec.bodies.size())};
  for (std::size_t b = 0; b < start.bodies.size(); ++b) {
    const double i = static_cast<double>(b);
    start.bodies[b] = {Vec3(i, 0, 0), Vec3(0, 0.1 * i, 0), Vec3(1, 2 - 0.1 * i, -1), from_zyx({0.1 * i, 0.2, 0.3})};
  }
  return start;
}

/// A drawn mechanism; masses within a factor of ten keep the adaptive method at steps that can be counted.
Start drawn(std::uint64_t seed, MechanismOptions options) {
  options.mass_ratio = 10;
  Sample sample = random_sample(seed, options);
  return {sample.mechanism.spec, std::move(sample.model), std::move(sample.bodies)};
}

/// A model that ships with the library, at its own start.
Start shipped(const std::string& name) {
  const ModelSpec spec = *read_model_file(source_path("models/") + name + ".toml");
  Start start{spec, build(spec), {}};
  start.bodies = place(start.model, JointState::initial(start.model));
  return start;
}

/// The parallelogram, cranks at the angle theta above the ground line: rows depend on each other, and nearly one more when flat.
Start parallelogram(double theta) {
  Start start = shipped("parallelogram");
  JointState joints = JointState::initial(start.model);
  joints.q << -theta, theta, theta, -theta;
  start.bodies = place(start.model, joints);
  return start;
}

std::unique_ptr<Formulation> free_bodies(const Model& model) { return std::make_unique<FreeBodies>(model); }
std::unique_ptr<Formulation> projected(const Model& model) { return std::make_unique<Augmented>(model); }
std::unique_ptr<Formulation> baumgarte(const Model& model) {
  return std::make_unique<Augmented>(model, AugmentedOptions{.project = false, .baumgarte_alpha = 5, .baumgarte_beta = 5});
}

std::unique_ptr<Formulation> minimal(const Model& model) { return std::make_unique<Minimal>(model); }

std::vector<Plant> plants() {
  const auto draw = [](std::uint64_t seed, const MechanismOptions& options) { return [=] { return drawn(seed, options); }; };
  return {
      {"one_free_body", [] { return swarm(1); }, free_bodies},
      {"twenty_free_bodies", [] { return swarm(20); }, free_bodies},
      {"unjoined_bodies", [] { return swarm(3); }, projected},
      {"tree", draw(1, {.bodies = 12, .kinds = {}}), projected},
      {"tree_baumgarte", draw(1, {.bodies = 12, .kinds = {}}), baumgarte},
      {"floating_tree", draw(2, {.bodies = 8, .floating = true, .kinds = {}}), projected},
      {"coupled_tree", draw(3, {.bodies = 8, .couplings = 3, .kinds = {}}), projected},
      {"massless_links", draw(4, {.bodies = 8, .massless = true, .kinds = {}}), projected},
      {"loops", draw(5, {.bodies = 10, .loops = 2, .kinds = {}}), projected},
      {"many_loops", draw(6, {.bodies = 20, .loops = 8, .kinds = {}}), projected},
      {"redundant_joints", draw(7, {.bodies = 8, .loops = 1, .redundant = 2, .kinds = {}}), projected},
      {"planar_loops", draw(8, {.bodies = 8, .loops = 2, .planar = true, .kinds = {}}), projected},
      {"minimal_tree", draw(1, {.bodies = 12, .kinds = {}}), minimal},
      {"minimal_floating_tree", draw(2, {.bodies = 8, .floating = true, .kinds = {}}), minimal},
      {"minimal_loops", draw(5, {.bodies = 10, .loops = 2, .kinds = {}}), minimal},
      {"tendon", [] { return shipped("paper_c_tendon"); }, projected},
      {"parallelogram", [] { return parallelogram(0.5); }, projected},
      {"parallelogram_leaving_the_flat_position", [] { return parallelogram(-5e-4); }, projected},
  };
}

/// One disturbance with each kind of signal on the first body, and an effort on the first freedom if there is one.
std::vector<std::unique_ptr<Environment>> everything_that_acts(const Model& model) {
  const Signal signals[] = {
      Constant{0.1},          Jump{0.05, 0.1, -0.1},     Pulse{0.02, 0.07, 0.3},           Sinusoid{0.2, 1.5, 0.1, 0},
      Ramp{0.01, 0.04, 0, 1}, Polynomial{{0, 1, -1}, 0}, Table{{0, 0.03, 0.1}, {0, 1, -1}}};
  std::vector<std::unique_ptr<Environment>> all;
  for (const Signal& signal : signals) {
    DisturbanceSpec spec;
    spec.body = model.bodies()[0].name;
    spec.axes = all.size() % 2 == 0 ? Axes::World : Axes::Local;
    spec.force = Vec3(0.1, 0, 0.2);
    spec.moment = Vec3(0, 0.01, 0);
    spec.signal = signal;
    all.push_back(std::make_unique<Disturbance>(*Disturbance::build(model, spec)));
    for (const Joint& joint : model.joints())
      if (joint.nv > 0) all.push_back(std::make_unique<EffortSignal>(*EffortSignal::build(model, {joint.name, 0, signal})));
  }
  return all;
}

TEST(HeapCount, SeesEveryWayToTheHeap) {
  const HeapCount count;
  long before = 0;
  const auto seen = [&] { return std::exchange(before, count.calls()) < count.calls(); };
  void* volatile p = std::malloc(10);
  EXPECT_TRUE(seen());
  p = std::realloc(p, 100000);
  EXPECT_TRUE(seen());
  std::free(p);
  p = std::calloc(10, 10);
  EXPECT_TRUE(seen());
  std::free(p);
  p = std::aligned_alloc(64, 128);
  EXPECT_TRUE(seen());
  std::free(p);
  p = new double(1);
  EXPECT_TRUE(seen());
  delete static_cast<double*>(p);
  VecX v(50);
  p = v.data();  // or else it is made when it is first needed
  EXPECT_TRUE(seen());
  v.setZero();
  EXPECT_FALSE(seen());
}

TEST(Drive, NeverCallsTheHeap) {
  for (const Start& start :
       {drawn(1, {.bodies = 12, .kinds = {JointKind::Revolute, JointKind::Spherical}}), shipped("four_bar"), shipped("crane")}) {
    const Joint* hinge = nullptr;
    for (const Joint& joint : start.model.joints())
      if (!hinge && joint.kind == JointKind::Revolute) hinge = &joint;
    ASSERT_NE(hinge, nullptr);
    const auto drive = *Drive::build(start.model, {{hinge->name, 0, Sinusoid{1, 2, 0, 0}}});
    Load load(start.model);
    drive->add(0.0, start.bodies, load);  // rank is decided
    const HeapCount count;
    drive->add(0.1, start.bodies, load);
    EXPECT_EQ(count.calls(), 0) << start.model.name();
    EXPECT_NE(load.efforts.norm(), 0);
  }
}

class StepLoop : public ::testing::TestWithParam<std::tuple<Plant, std::string>> {};

TEST_P(StepLoop, NeverCallsTheHeap) {
  const auto& [plant, method] = GetParam();
  const Start start = plant.start();
  const auto formulation = plant.formulation(start.model);
  const auto environments = everything_that_acts(start.model);
  System system(*formulation);
  for (const auto& e : environments) system.add(*e);
  State x, between;
  formulation->set(start.bodies, x);
  between = x;
  const auto integrator = std::move(*make_integrator(method));

  // A run starts with a sample, for which solvers decide the rank of the constraints and take what memory that asks for.
  Evaluation first;
  ASSERT_TRUE(system.evaluate(0, x, first).ok());
  expect_newton_euler(start.spec, first, system.load());

  // All that a run loop does between two samples; resets at events included, because sizes stay.
  Verdict verdict;
  long steps = 0, calls = 0, counted = 0;
  for (double a = 0; a < 0.1 && verdict.ok();) {
    const double b = std::min(system.next_event(a), 0.1);
    system.enter(a, b);
    const HeapCount at_event;
    integrator->reset(system, x, 0.005);
    if (a > 0) calls += at_event.calls();
    for (double t = a; t < b && verdict.ok(); ++steps) {
      const HeapCount count;
      double done = 0;
      const double offered = std::min(0.005, b - t);
      const long equations = system.equations();
      const double sigma = formulation->mobility().sigma;
      verdict = integrator->step(system, t, offered, x, done);
      integrator->interpolate(system, 0.5, between);
      // A band about a singular configuration takes memory, and so does the decision which rows count, which estimates σ anew.
      if (system.equations() == equations && formulation->mobility().sigma == sigma) calls += count.calls(), ++counted;
      t += done;
    }
    a = b;
  }
  EXPECT_EQ(calls, 0) << "in " << steps << " steps";
  EXPECT_GE(steps, 20);
  EXPECT_GE(counted, 3 * steps / 4);
  EXPECT_TRUE(verdict.ok()) << name(verdict.status);
}

/// Mechanisms that natural coordinates take, in the plane and in space.
std::vector<Plant> natural_plants() {
  const auto natural = [](const Model& model) -> std::unique_ptr<Formulation> { return std::make_unique<Natural>(model); };
  const auto draw = [](std::uint64_t seed, const MechanismOptions& options) { return [=] { return drawn(seed, options); }; };
  const std::vector<JointKind> kinds = {JointKind::Revolute, JointKind::Spherical, JointKind::Universal, JointKind::Prismatic};
  return {
      {"natural_chain", [] { return shipped("paper_c_springs"); }, natural},
      {"natural_tendon", [] { return shipped("paper_c_tendon"); }, natural},
      {"natural_planar_loop", [] { return shipped("four_bar"); }, natural},
      {"natural_slider", [] { return shipped("slider_crank"); }, natural},
      {"natural_ring", [] { return shipped("ring7"); }, natural},
      {"natural_redundant_loop", [] { return shipped("bricard"); }, natural},
      {"natural_tree", draw(11, {.bodies = 6, .passive = false, .kinds = kinds}), natural},
  };
}

INSTANTIATE_TEST_SUITE_P(Natural, StepLoop,
                         ::testing::Combine(::testing::ValuesIn(natural_plants()), ::testing::ValuesIn(integrator_names())),
                         [](const auto& i) { return std::get<0>(i.param).name + "_" + std::get<1>(i.param); });

INSTANTIATE_TEST_SUITE_P(Every, StepLoop, ::testing::Combine(::testing::ValuesIn(plants()), ::testing::ValuesIn(flow_names())),
                         [](const auto& i) { return std::get<0>(i.param).name + "_" + std::get<1>(i.param); });

}  // namespace
}  // namespace invar::testing
