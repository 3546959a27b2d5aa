// SPDX-License-Identifier: Apache-2.0
//
// Runs whose mechanism changes on the way: every recorded sample is balanced with the mechanism of its time.
#include <gtest/gtest.h>

#include <array>

#include "support/campaign.hpp"
#include "support/faces/kinds.hpp"
#include "support/recorded.hpp"
#include "support/ride.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

Scenario scenario_of(const Sample& s, const char* formulation, const char* integrator) {
  Scenario out;
  set_model(out, s.mechanism.spec);
  out.start = Start(*out.model);
  out.start.by_bodies = true, out.start.bodies = s.bodies;
  out.method.formulation = formulation, out.method.integrator = integrator, out.method.step = 1e-3;
  out.end_time = 0.03, out.sampling.interval = 3e-3;
  out.environments.push_back(std::make_shared<Drag>());
  return out;
}

MechanismOptions family(int k) {
  MechanismOptions options{.bodies = 2 + k % 4, .kinds = {}};
  options.mass_ratio = 10;
  options.loops = k % 4 == 1 ? 1 : 0;
  options.redundant = k % 6 == 3 ? 1 : 0;
  options.couplings = k % 5 == 2 ? 2 : 0;
  options.floating = k % 5 == 4;
  return options;
}

/// Edits one after another, of every kind that this mechanism takes.
std::vector<EditEvent> edits_of(Random& random, const ModelSpec& spec) {
  std::vector<EditEvent> out;
  const Inertia load = random_inertia(random, 0.5, 0.3);
  out.push_back({0.004, {Attach{"load", spec.bodies[0].name, load}}});
  for (const JointSpec& j : spec.joints) {
    bool coupled = false;
    for (const CouplingSpec& c : spec.couplings) coupled = coupled || c.joint == j.name || c.of == j.name;
    if (coupled || j.kind == JointKind::Fixed || out.size() > 1) continue;
    if (j.locked)
      out.push_back({0.008, {Unlock{j.name}}}), out.push_back({0.016, {Lock{j.name, {}}}});
    else
      out.push_back({0.008, {Lock{j.name, {}}}}), out.push_back({0.016, {Unlock{j.name}}});
  }
  BodySpec body;
  body.name = "hung", body.inertia = random_inertia(random, 0.8, 0.3);
  JointSpec joint;
  joint.name = "hook", joint.kind = static_cast<JointKind>(random.below(kJointKinds));
  joint.parent = spec.bodies.back().name, joint.child = "hung";
  joint.at_parent = random_pose(random, 0.3), joint.at_child = random_pose(random, 0.3);
  joint.axis = random_unit(random), joint.pitch = joint.kind == JointKind::Screw ? 0.1 : 0.0;
  out.push_back({0.012, {AddBody{body, joint, {}, {}}}});
  // The hook elsewhere, then doubled, then single again.
  joint.at_parent = random_pose(random, 0.3);
  out.push_back({0.014, {SetJointFrame{"hook", joint.at_parent, {}}}});
  JointSpec twin = joint;
  twin.name = "hook2";
  out.push_back({0.018, {CloseLoop{twin}}});
  out.push_back({0.022, {CutLoop{"hook2"}}});
  out.push_back({0.01, {SetTool{"tool", random_pose(random, 0.2), spec.bodies[0].name}}});
  if (!spec.couplings.empty()) {
    const CouplingSpec& c = spec.couplings[0];
    std::vector<double> coefficients = c.coefficients;
    coefficients.resize(2, 0.0);
    coefficients[1] *= 1.25;
    out.push_back({0.026, {SetMap{c.name, coefficients, true}}});
  }
  for (const JointSpec& j : spec.joints)
    if (j.kind == JointKind::Revolute && !j.locked) {
      out.push_back({0.011, {SetPassive{j.name, {}, {}, std::vector<double>{random.uniform(0.1, 2)}, {}, {}}}});
      break;
    }
  out.push_back({0.02, {Detach{"load"}, SetInertia{spec.bodies[0].name, random_inertia(random, 2, 0.4)}}});
  out.push_back({0.024, {RemoveBody{"hung", true}}});
  std::stable_sort(out.begin(), out.end(), [](const EditEvent& a, const EditEvent& b) { return a.at < b.at; });
  return out;
}

}  // namespace

TEST(RecordedSamples, AreInBalanceAfterEveryKindOfEdit) {
  int finished = 0, runs = 0;
  std::array<int, std::variant_size_v<Edit>> done{};  // runs that went on after an edit of this kind
  const std::pair<const char*, const char*> ways[] = {
      {"augmented", "rk4"}, {"minimal", "rk4"}, {"natural", "rk4"}, {"augmented", "dopri5"}, {"natural", "conserving"}};
  for (int k = 0; k < cases(40); ++k) {
    const Sample s = random_sample(seed(71000) + static_cast<std::uint64_t>(k), family(k));
    for (const auto& [formulation, integrator] : ways) {
      Scenario scenario = scenario_of(s, formulation, integrator);
      if (objection(scenario.method, s.model)) continue;
      Random random(seed(72000) + static_cast<std::uint64_t>(k));
      scenario.edits = edits_of(random, s.mechanism.spec);
      const std::string what =
          std::string(formulation) + "/" + integrator + ", case " + std::to_string(k) + ": " + describe(s.mechanism.spec);
      const Result<Outcome> outcome = judged_run(scenario, nullptr, what);
      ++runs;
      if (!outcome || outcome->end != Outcome::End::Finished) continue;
      ++finished;
      for (const EditEvent& event : scenario.edits)
        for (const Edit& edit : event.edits) ++done[edit.index()];
    }
  }
  for (std::size_t kind = 0; kind < done.size(); ++kind) EXPECT_GT(done[kind], 0) << "kind " << kind;
  EXPECT_GT(runs, 2 * cases(40));
  EXPECT_GT(finished, runs / 2);
}

// Nothing is left that moves: every method goes on, and the lock carries what the freedoms did.
TEST(RecordedSamples, AreInBalanceWhenTheLastFreedomIsLocked) {
  const std::pair<const char*, const char*> ways[] = {
      {"augmented", "rk4"},      {"augmented", "dopri5"}, {"augmented", "radau"},
      {"minimal", "rk4"},        {"minimal", "dopri5"},   {"natural", "rk4"},
      {"natural", "conserving"}, {"natural", "rattle"},   {"natural", "petrov_galerkin"}};
  for (int kind = 1; kind < kJointKinds; ++kind) {
    MechanismOptions options{.bodies = 1, .kinds = {static_cast<JointKind>(kind)}};
    options.passive = false, options.locked = false;
    const Sample s = random_sample(seed(73000) + static_cast<std::uint64_t>(kind), options);
    for (const auto& [formulation, integrator] : ways) {
      Scenario scenario = scenario_of(s, formulation, integrator);
      const std::string what = std::string(formulation) + "/" + integrator + ", " + describe(s.mechanism.spec);
      if (objection(scenario.method, s.model)) continue;
      scenario.edits = {{0.01, {Lock{s.mechanism.spec.joints[0].name, {}}}}, {0.02, {Unlock{s.mechanism.spec.joints[0].name}}}};
      const Result<Outcome> outcome = judged_run(scenario, nullptr, what);
      ASSERT_TRUE(outcome) << outcome.error().text() << what;
      EXPECT_EQ(outcome->end, Outcome::End::Finished) << outcome->words << what;
    }
  }
}

}  // namespace invar::testing
