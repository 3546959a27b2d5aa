// SPDX-License-Identifier: Apache-2.0
//
// Towards a singular configuration reactions grow like the reciprocal of the distance, or they do not: parallelograms that lie
// flat. On the branch of parallel cranks both cranks carry half of the coupler's weight and inertia if its centre lies in the
// middle; what each of them needs for itself is the same if they are alike. Then nothing presses on the row that vanishes. The
// run says which it is; the judge is the growth itself, of reactions computed at two distances.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/base/random.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "support/campaign.hpp"
#include "support/case.hpp"
#include "support/linkages.hpp"
#include "support/outcome.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

/// Cranks of length a at distance d, raised by theta; `alike`: cranks of one mass and centre, the coupler's centre in its middle.
ModelSpec flat_loop(Random& random, bool alike, double theta) {
  const double a = random.uniform(0.6, 1.2), d = random.uniform(1.3, 2.2) * a;
  const double lengths[3] = {a, d, a};
  const char* names[3] = {"crank", "coupler", "rocker"};
  ModelSpec spec;
  spec.gravity = {0, 0, -9.81};
  for (std::size_t i = 0; i < 3; ++i) {
    BodySpec body;
    body.name = names[i], body.inertia = solid_box(random.uniform(0.5, 4), {lengths[i], 0.05, 0.05});
    body.inertia.p_BC = {random.uniform(0.3, 0.7) * lengths[i], 0, 0};
    if (alike && i == 1) body.inertia.p_BC = {0.5 * d, 0, 0};
    if (alike && i == 2) body.inertia = spec.bodies[0].inertia;
    spec.bodies.push_back(body);
  }
  const auto hinge = [&](const char* name, const char* parent, const char* child, double on_parent, double on_child, double q) {
    JointSpec joint;
    joint.name = name, joint.kind = JointKind::Revolute, joint.parent = parent, joint.child = child;
    joint.at_parent.p = {on_parent, 0, 0}, joint.at_child.p = {on_child, 0, 0}, joint.axis = -Vec3::UnitY();
    spec.joints.push_back(joint);
    spec.initial[name] = {q};
  };
  hinge("a", "world", "crank", 0, 0, theta);
  hinge("b", "crank", "coupler", a, 0, -theta);
  hinge("d", "world", "rocker", d, 0, theta);
  hinge("knee", "coupler", "rocker", d, a, theta);
  return spec;
}

double largest_reaction(ModelSpec spec, double theta) {
  spec.initial = {{"a", {theta}}, {"b", {-theta}}, {"d", {theta}}, {"knee", {theta}}};
  const Model model = build(spec);
  Augmented augmented(model);
  State x;
  Evaluation e;
  augmented.set(place(model, JointState::initial(model)), x);
  EXPECT_TRUE(augmented.evaluate(x, Load(model), e).ok());
  double most = 0;
  for (const Wrench& w : e.reactions) most = std::max(most, w.force.norm());
  return most;
}

bool told(const Outcome& out) {
  for (const std::string& note : out.notes)
    if (note.find("reactions grow without bound") != std::string::npos) return true;
  return false;
}

Outcome run_of(const ModelSpec& spec, const char* formulation, const char* integrator) {
  Scenario s;
  set_model(s, spec);
  s.start = Start(*s.model);
  s.method.formulation = formulation, s.method.integrator = integrator, s.method.step = 1e-3;
  s.end_time = 0.6;
  const Outcome out = outcome_of(s);
  EXPECT_EQ(out.end, Outcome::End::Finished) << out.words;
  return out;
}

struct Way {
  const char* formulation;
  const char* integrator;
};
constexpr Way kWays[] = {
    {"augmented", "rk4"}, {"augmented", "dopri5"}, {"minimal", "rk4"}, {"natural", "rk4"}, {"natural", "conserving"}};

// From 1e-2 to 1e-4 rad reactions grow a hundred times, but for what is bounded in them.
TEST(UnboundedReactions, AreToldOfUnequalCranks) {
  int alike = 0;
  for (int i = 0; i < cases(5); ++i) {
    Random random(seed(9900) + static_cast<std::uint64_t>(i));
    const ModelSpec spec = flat_loop(random, false, random.uniform(0.3, 0.7));
    const double growth = largest_reaction(spec, 1e-4) / largest_reaction(spec, 1e-2);
    if (growth < 10) {  // cranks that are nearly alike in what matters
      ++alike;
      continue;
    }
    const Way& way = kWays[i % 5];
    const Outcome out = run_of(spec, way.formulation, way.integrator);
    EXPECT_GT(metric(out, "singular_passages"), 0);
    EXPECT_TRUE(told(out)) << i << ", " << way.formulation << " " << way.integrator << ", growth " << growth;
  }
  EXPECT_LE(2 * alike, cases(5)) << "otherwise little was told";
}

TEST(UnboundedReactions, AreNotToldOfEqualCranks) {
  for (int i = 0; i < cases(5); ++i) {
    Random random(seed(9920) + static_cast<std::uint64_t>(i));
    const ModelSpec spec = flat_loop(random, true, random.uniform(0.3, 0.7));
    EXPECT_LT(largest_reaction(spec, 1e-4) / largest_reaction(spec, 1e-2), 1.1) << i;
    const Way& way = kWays[i % 5];
    const Outcome out = run_of(spec, way.formulation, way.integrator);
    EXPECT_GT(metric(out, "singular_passages"), 0);
    EXPECT_FALSE(told(out)) << i << ", " << way.formulation << " " << way.integrator;
  }
}

TEST(UnboundedReactions, AreNotToldOfMechanismsOfConstantRank) {
  for (int i = 0; i < cases(4); ++i) {
    Random random(seed(9940) + static_cast<std::uint64_t>(i));
    EXPECT_FALSE(told(run_of(random_bennett(random).spec(), kWays[i % 5].formulation, kWays[i % 5].integrator))) << i;
  }
}

}  // namespace
}  // namespace invar::testing
