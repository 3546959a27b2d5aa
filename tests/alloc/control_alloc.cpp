// SPDX-License-Identifier: Apache-2.0
// Does a controller ask the heap for anything, at a tick or at every instant, with actuators, limits, noise and delay?
#include <gtest/gtest.h>

#include "alloc/count_heap.hpp"
#include "invar/control/body_law.hpp"
#include "invar/control/controller.hpp"
#include "invar/control/impedance_law.hpp"
#include "invar/control/joint_law.hpp"
#include "invar/control/strip_drag.hpp"
#include "invar/control/task_law.hpp"
#include "invar/io/model_file.hpp"
#include "invar/learn/adaptive_load.hpp"
#include "invar/mech/kinematics.hpp"
#include "support/controlled.hpp"
#include "support/joint_cases.hpp"
#include "support/moving_mechanisms.hpp"
#include "support/places.hpp"
#include "support/reference_loop.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

struct Case {
  std::string name;
  MechanismOptions mechanism;
  double period;
  bool actuators, disturbed;

  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

class Control : public ::testing::TestWithParam<Case> {};

ControllerSpec spec_of(const Sample& s, const Case& c) {
  ControllerSpec spec;
  spec.nominal = std::make_shared<const Model>(s.model);
  TaskLawSpec law;
  Task task;
  task.name = "follow", task.body = static_cast<int>(s.bodies.size()) - 1;
  task.path = [p = s.bodies.back().p_WC](Instant at) { return PoseJet{p + Vec3(0.1 * at.t, 0, 0), Vec3(0.1, 0, 0)}; };
  law.tasks = {task, task};
  law.tasks[1].name = "aside", law.tasks[1].body = 0, law.tasks[1].damping = 1e-3;
  law.gains.integral_linear = law.gains.integral_angular = 1;
  law.gains.observer = 20, law.gains.bound.most = 1;
  const std::vector<LimitedFreedom> limits = limits_about(s.model, s.bodies, 1);
  spec.law = [law, limits](const Model& model) {
    Obstacle o;
    o.kind = Obstacle::Kind::Capsule, o.b = Vec3(1, 0, 0);
    return std::make_unique<TaskLaw>(model, law, Repulsion(model, {o}, {{0, Vec3(0.1, 0, 0), 0.1, Vec3(0, 0.5, 0)}}),
                                     LimitRepulsion(model, limits, 0.1, 0.3));
  };
  spec.period = c.period;
  if (c.disturbed) spec.noise = {1e-4, 1e-4, 1e-3, 1e-3}, spec.delay = 2 * c.period;
  for (const Joint& joint : s.model.joints())
    for (int k = 0; k < joint.nv && c.actuators; ++k) {
      ActuatorSpec a;
      a.joint = joint.name, a.freedom = k;
      a.upper = 0.1 * (k + 1), a.lower = -1;
      if (c.period > 0) a.lag = 0.01;
      spec.actuators.push_back(a);
    }
  return spec;
}

TEST_P(Control, NeverCallsTheHeap) {
  const Case& c = GetParam();
  MechanismOptions options = c.mechanism;
  options.mass_ratio = 10, options.passive = false;
  const Sample s = random_sample(3, options);
  const auto controller = std::move(*Controller::build(spec_of(s, c), s.model, 0, 1));
  Load load(s.model);
  const auto once = [&](double t) {
    controller->settle(t, s.bodies);
    controller->add(t, s.bodies, load);
    controller->add(t + 0.4 * c.period, s.bodies, load);
  };
  once(0);  // ranks are decided, sizes taken
  const double dt = c.period > 0 ? c.period : 0.01;
  for (int k = 1; k < 4; ++k) once(k * dt);
  const HeapCount count;
  for (int k = 4; k < 14; ++k) once(k * dt);
  EXPECT_EQ(count.calls(), 0);
  double sum = load.efforts.norm();
  for (const Wrench& w : load.port) sum += w.force.norm() + w.moment.norm();
  EXPECT_GT(sum, 0) << "nothing was commanded";
}

const MechanismOptions kTree{.bodies = 6, .kinds = {}}, kLoop{.bodies = 6, .loops = 1, .kinds = {}};
INSTANTIATE_TEST_SUITE_P(Every, Control,
                         ::testing::Values(Case{"port_at_every_instant", kTree, 0, false, false},
                                           Case{"port_held", kTree, 0.01, false, false},
                                           Case{"motors_at_every_instant", kTree, 0, true, false},
                                           Case{"motors_held", kTree, 0.01, true, false},
                                           Case{"motors_of_a_loop_at_every_instant", kLoop, 0, true, false},
                                           Case{"noise_and_delay", kTree, 0.01, true, true},
                                           Case{"noise_and_delay_with_a_loop", kLoop, 0.01, true, true}),
                         [](const auto& i) { return i.param.name; });

// Laws one by one: a command and a look at what happened.
void expect_no_heap(ControlLaw& law, const Model& model, const Bodies& bodies) {
  Load load(model);
  const Accelerations accelerations(bodies.size());
  const std::vector<Wrench> reactions(model.joints().size());
  const auto once = [&](double t) {
    load.clear();
    EXPECT_TRUE(law.command(t, bodies, load).ok());
    EXPECT_TRUE(law.command(Instant(t - 0.005, t - 0.005, 0.01), bodies, load).ok());  // as over a step
    law.settle(t, bodies);
    law.witness({t, bodies, accelerations, reactions});
  };
  for (int k = 0; k < 3; ++k) once(0.01 * k);
  const HeapCount count;
  for (int k = 3; k < 8; ++k) once(0.01 * k);
  EXPECT_EQ(count.calls(), 0);
}

TEST(StripDrag, NeverCallsTheHeap) {
  const Moving m = spring_chain();
  FlowSpec flow;
  flow.gusts = {{Vec3(1, 0, 0), 1, 0}}, flow.measured = FlowMeter{0.1, 0.01, 1};
  const auto water = std::make_shared<const Flow>(*Flow::build(flow));
  StripDragSpec spec;
  spec.body = m.model.bodies()[0].name, spec.axis = {Vec3(0, 0, 0), Vec3(1, 0, 0)}, spec.across = 1;
  const StripDrag drag = *StripDrag::build(m.model, spec, water);
  Load load(m.model);
  const HeapCount count;
  double measured = 0;
  for (int k = 0; k < 5; ++k) drag.add(0.1 * k, m.start, load), measured += water->measured(0.1 * k)->norm();
  EXPECT_EQ(count.calls(), 0);
  EXPECT_GT(measured, 0);
  EXPECT_GT(load.port[0].force.norm(), 0);
}

PoseJet moving(Instant at) {
  PoseJet j;
  j.p = {0.1 * at.t, 0, 0}, j.v = {0.1, 0, 0};
  return j;
}

TEST(ControlLaws, NeverCallTheHeapOnceTheyHaveLookedAround) {
  const Moving crane = shipped("hydraulic_crane"), arm = shipped("arm");
  for (const auto kind : {JointLawSpec::Kind::SlotineLi, JointLawSpec::Kind::Robust, JointLawSpec::Kind::ComputedTorque,
                          JointLawSpec::Kind::PdGravity}) {
    JointLawSpec spec;
    spec.kind = kind;
    for (const char* joint : {"slew", "lift", "fold", "extend"}) {
      JointAim aim;
      aim.joint = *crane.model.find_joint(joint);
      aim.path = [](Instant at) { return Jet{at.t, 1, 0}; };
      spec.aims.push_back(aim);
    }
    JointLaw law(crane.model, spec);
    expect_no_heap(law, crane.model, crane.start);
    spec.observer = 20, spec.rate = 5, spec.bound.most = 1;
    JointLaw observing(crane.model, spec);
    expect_no_heap(observing, crane.model, crane.start);
  }
  BodyLawSpec bodies;
  bodies.paths.assign(arm.model.bodies().size(), moving);
  BodyLaw all(arm.model, bodies);
  expect_no_heap(all, arm.model, arm.start);
  ImpedanceSpec impedance;
  impedance.body = static_cast<int>(arm.model.bodies().size()) - 1;
  impedance.path = moving;
  impedance.joint_damping = 1;
  for (const bool filtered : {false, true})
    for (const bool over_steps : {false, true}) {
      impedance.filter = filtered ? 20 : 0, impedance.over_steps = over_steps;
      ImpedanceLaw yielding(arm.model, impedance);
      expect_no_heap(yielding, arm.model, arm.start);
    }
}

// With a learned load that watches its generic terms, and one that adapts: looks are due at every call.
TEST(KnownLoads, NeverCallTheHeapOnceTheyHaveLookedAround) {
  const UnknownLoad u = UnknownLoad::reference();
  const auto learned = std::make_shared<const Learned>(learned_from(u, 17900, 60, TermKind::Fourier));
  const Model model = build(*edited(u.nominal, learned->edits));
  const auto known = [&](bool adapts) {
    KnownLoadSpec out;
    out.fallback = true;
    out.make = [learned, adapts](const Model& m) -> std::unique_ptr<KnownLoad> {
      std::unique_ptr<KnownLoad> load = std::make_unique<LearnedInLoop>(
          *LearnedLoad::build(std::make_shared<const Model>(m), learned), nullptr, std::vector<Vec3>());
      if (!adapts) return load;
      AdaptSpec spec;
      for (const TermKind kind : {TermKind::Inertia, TermKind::JointViscous, TermKind::JointCoulomb, TermKind::Drag}) {
        TermSpec t;
        t.kind = kind, t.sharing = usual_sharing(kind);
        spec.terms.push_back(t);
      }
      return std::move(*AdaptiveLoad::build(m, std::move(load), spec, nullptr, {}));
    };
    return out;
  };
  const Bodies start = place(model, JointState::initial(model));
  for (const bool adapts : {false, true}) {
    TaskLawSpec task;
    task.gains.known = known(adapts), task.gains.observer = 20;
    task.tasks = {Task{.name = "tip", .body = 4, .X_BE = {}, .path = moving}};
    TaskLaw law(model, task, Repulsion(model, {}, {}));
    expect_no_heap(law, model, start);
  }
  const Moving arm = shipped("arm");
  JointLawSpec spec;
  auto of_arm = learned_by_hand(*read_model_file(source_path("models/arm.toml")), {}, {});
  spec.known.make = [of_arm](const Model& m) -> std::unique_ptr<KnownLoad> {
    return std::make_unique<LearnedInLoop>(*LearnedLoad::build(std::make_shared<const Model>(m), of_arm), nullptr,
                                           std::vector<Vec3>());
  };
  spec.aims = aims_from(arm.model, arm.start, true);
  JointLaw law(arm.model, spec);
  expect_no_heap(law, arm.model, arm.start);
}

}  // namespace
}  // namespace invar::testing
