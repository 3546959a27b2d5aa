// SPDX-License-Identifier: Apache-2.0
//
// What methods of natural coordinates cannot take is refused before the first step, with the joint or body; what is not refused
// runs. A motion without inertia is refused if and only if the unreduced equations refuse it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "invar/io/model_file.hpp"
#include "invar/run/run.hpp"
#include "support/campaign.hpp"
#include "support/case.hpp"
#include "support/places.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

constexpr const char* kMethods[] = {
    "rk4", "semi_implicit_euler", "dopri5", "radau", "conserving", "rattle", "petrov_galerkin", "midpoint", "discrete_gradient"};

Scenario scenario_of(const ModelSpec& spec, const char* formulation, const char* method) {
  Scenario s;
  set_model(s, spec);
  s.start = Start(*s.model);
  s.method.formulation = formulation, s.method.integrator = method, s.method.step = 1e-3;
  s.end_time = 3e-3;
  return s;
}

BodySpec bar(const char* name, double mass = 1) {
  BodySpec body;
  body.name = name;
  body.inertia = solid_box(mass, {1, 0.1, 0.1});
  body.inertia.p_BC = {0.5, 0, 0};
  return body;
}

JointSpec joint(const char* name, JointKind kind, const char* parent, const char* child, double on_parent = 1,
                double on_child = 0) {
  JointSpec out;
  out.name = name, out.kind = kind, out.parent = parent, out.child = child;
  out.at_parent.p = {std::string(parent) == "world" ? 0 : on_parent, 0, 0}, out.at_child.p = {on_child, 0, 0};
  if (kind == JointKind::Screw) out.pitch = 0.1;
  return out;
}

/// A square of three bars and the ground in the x-y plane, its fourth hinge of another kind.
ModelSpec square(JointKind last) {
  ModelSpec spec;
  for (const char* name : {"a", "b", "c"}) spec.bodies.push_back(bar(name));
  spec.joints = {joint("j1", JointKind::Revolute, "world", "a"), joint("j2", JointKind::Revolute, "a", "b"),
                 joint("j3", JointKind::Revolute, "b", "c"), joint("j4", last, "world", "c", 0, 1)};
  spec.joints[3].at_parent.p = {0, 1, 0};
  spec.initial = {{"j1", {0}}, {"j2", {M_PI / 2}}, {"j3", {M_PI / 2}}};
  return spec;
}

struct Refusal {
  const char* what;
  ModelSpec spec;
  std::vector<std::string> by;  ///< methods that refuse; the others take it
  const char* names;            ///< in the words
};

std::vector<Refusal> refusals() {
  const std::vector<std::string> all(std::begin(kMethods), std::end(kMethods));
  std::vector<std::string> others;  // all but those with rows of their own
  for (const std::string& m : all)
    if (m != "conserving" && m != "discrete_gradient") others.push_back(m);
  const std::vector<std::string> recursive = {"conserving", "discrete_gradient"};
  std::vector<Refusal> out;

  ModelSpec spec;
  spec.bodies = {bar("a")};
  spec.joints = {joint("thread", JointKind::Screw, "world", "a")};
  out.push_back({"a screw", spec, others, "'thread'"});
  spec.joints = {joint("axle", JointKind::Revolute, "world", "a")};
  spec.joints[0].armature = {0.1};
  out.push_back({"a rotor", spec, others, "'axle'"});
  spec.joints = {joint("ball", JointKind::Spherical, "world", "a")};
  spec.joints[0].armature = {0.1, 0.1, 0.1};
  out.push_back({"a ball with a rotor", spec, all, "'ball'"});
  spec.joints = {joint("float", JointKind::Free, "world", "a")};
  spec.joints[0].damping = std::vector<double>(6, 1.0);
  out.push_back({"dampers on a free joint", spec, recursive, "'float'"});

  spec = {};
  spec.bodies = {bar("a"), bar("b")};
  spec.joints = {joint("j1", JointKind::Revolute, "world", "a"), joint("j2", JointKind::Revolute, "a", "b")};
  spec.couplings.push_back({});
  spec.couplings[0].name = "gear", spec.couplings[0].joint = "j2", spec.couplings[0].of = "j1";
  spec.couplings[0].coefficients = {0, 2};
  out.push_back({"a coupling", spec, others, "'gear'"});

  spec = square(JointKind::Revolute);
  for (JointSpec& j : spec.joints) j.armature = {0.1};
  out.push_back({"rotors all around a loop", spec, all, "joint 'j"});

  spec = {};
  spec.bodies = {bar("a"), bar("tip", 0)};
  spec.bodies[1].inertia.I_C.setZero();
  spec.joints = {joint("j1", JointKind::Revolute, "world", "a"), joint("j2", JointKind::Revolute, "a", "tip")};
  out.push_back({"a massless tip", spec, all, "'tip'"});
  spec.bodies = {bar("rod")};
  spec.bodies[0].inertia.I_C(0, 0) = 0;
  spec.joints = {joint("ball", JointKind::Spherical, "world", "rod")};
  out.push_back({"an ideal rod on a ball", spec, all, "'rod'"});
  return out;
}

TEST(NaturalRefusals, AreRaisedBeforeTheFirstStepAndNameWhatIsToBlame) {
  for (const Refusal& r : refusals())
    for (const char* method : kMethods) {
      const Scenario s = scenario_of(r.spec, "natural", method);
      const std::string what = std::string(r.what) + " by " + method;
      const auto checked = check(s);
      const bool refused = std::find(r.by.begin(), r.by.end(), method) != r.by.end();
      EXPECT_EQ(!checked, refused) << what << (checked ? "" : ": " + checked.error().what);
      if (!checked) {
        EXPECT_NE(checked.error().what.find(r.names), std::string::npos) << what << ": " << checked.error().what;
        continue;
      }
      const auto out = judged_run(s);
      ASSERT_TRUE(out) << what;
      EXPECT_EQ(out->end, Outcome::End::Finished) << what << ": " << out->words;
    }
}

// Massless links, point masses and ideal rods, drawn in trees and loops, of any size.
TEST(NaturalRefusals, OfInertiaAreThoseOfTheUnreducedEquations) {
  int taken = 0, refused = 0;
  for (int k = 0; k < cases(40); ++k) {
    MechanismOptions options{.bodies = 2 + k % 6, .kinds = {}};
    options.massless = true, options.loops = k % 3, options.planar = k % 4 == 1, options.passive = false;
    const Sample sample = random_sample(seed(9600) + static_cast<std::uint64_t>(k), options);
    ModelSpec spec = sample.mechanism.spec;
    for (JointSpec& j : spec.joints) j.armature.clear();
    // Some more bodies lose what is left of their inertia.
    Random random(seed(9700) + static_cast<std::uint64_t>(k));
    for (BodySpec& body : spec.bodies)
      if (random.chance(0.25)) body.inertia.mass = 0, body.inertia.I_C.setZero();
    const auto at_rest_by = [&](const char* formulation, const char* method) {
      Scenario s = scenario_of(spec, formulation, method);
      s.start.by_bodies = true, s.start.bodies = at_rest(*s.model, sample.mechanism.X_WB);
      return s;
    };
    const auto judged = check(at_rest_by("augmented", "rk4"));
    const bool without = !judged && judged.error().kind == ErrorKind::Model;
    if (!judged && !without) continue;
    for (const char* method : {"rk4", "conserving", "rattle", "midpoint"}) {
      const Scenario s = at_rest_by("natural", method);
      if (objection(s.method, *s.model)) continue;
      const auto natural = check(s);
      const std::string what = std::string(method) + ", case " + std::to_string(k) + ": " + describe(spec);
      EXPECT_EQ(!natural, without) << what << (natural ? "" : ": " + natural.error().what);
      ++(natural ? taken : refused);
      if (!natural) continue;
      const auto out = judged_run(s);
      ASSERT_TRUE(out);
      EXPECT_NE(out->verdict.status, Status::NoInertia) << what << ": " << out->words;
    }
  }
  EXPECT_GT(taken, cases(40) / 2);
  EXPECT_GT(refused, 0);
}

// Legs of nothing under a platform: 18 bodies without any inertia, held by six balls. Methods of order two and four with steps of
// 1 ms over 0.1 s: a thousandth of the way is (w h)²/12 of the second order with w up to 100 rad/s of the legs' springs.
TEST(NaturalRefusals, DoNotTouchAStewartPlatformWithMasslessLegs) {
  ModelSpec spec = *read_model_file(source_path("models/stewart.toml"));
  for (BodySpec& body : spec.bodies)
    if (body.name != "platform") body.inertia.mass = 0, body.inertia.I_C.setZero();
  Memory judge;
  Scenario unreduced = scenario_of(spec, "augmented", "rk4");
  unreduced.end_time = 0.1;
  outcome_of(unreduced, &judge);
  const Vec3 way = judge.last("bodies/platform/p") - judge.at("bodies/platform/p", 0);
  EXPECT_GT(way.norm(), 1e-3);
  for (const char* method : kMethods) {
    if (std::string(method) == "semi_implicit_euler" || std::string(method) == "radau") continue;  // of order one; slow here
    Scenario s = scenario_of(spec, "natural", method);
    s.end_time = 0.1;
    Memory m;
    const Outcome out = outcome_of(s, &m);
    EXPECT_EQ(out.end, Outcome::End::Finished) << method << ": " << out.words;
    EXPECT_LT((m.last("bodies/platform/p") - judge.last("bodies/platform/p")).norm(), 1e-3 * way.norm()) << method;
  }
}

}  // namespace
}  // namespace invar::testing
