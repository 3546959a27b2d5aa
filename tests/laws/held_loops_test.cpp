// SPDX-License-Identifier: Apache-2.0
//
// A parallelogram one of whose joints is locked is a truss, and stands still. Locked where it lies flat, or within 1e-3 to 1e-12
// s of that, its three hinges left are in line, or hardly out of it: the rows see a motion there that loops do not have, or
// resist it by their sine σ only, and what solves with them moves the truss by rounding over σ², or falls with it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/campaign.hpp"
#include "support/case.hpp"
#include "support/flat_loops.hpp"
#include "support/linkages.hpp"
#include "support/outcome.hpp"

namespace invar::testing {
namespace {

constexpr const char* kHinges[] = {"a", "b", "d", "knee"};

struct Locked {
  Flat flat;
  std::string joint;
  double at = 0, beside = 0;  // s
};

Locked locked_beside_flat(Random& random, int base) {
  Locked out{flat_loop(random, base), kHinges[random.below(4)], 0, 0};
  const double power = random.uniform(3, 13);
  out.beside = power > 12 ? 0 : (random.uniform(0, 1) < 0.5 ? -1 : 1) * std::pow(10.0, -power);
  out.at = first_flat(out.flat.spec, "a", 0, 1e-3) + out.beside;
  return out;
}

Scenario locking(const Locked& l, const char* formulation, const char* integrator) {
  Scenario s = scenario_of(l.flat.spec, formulation, integrator, 1e-3, l.at + 0.25);
  s.edits = {{l.at, {Lock{l.joint, {}}}}};
  return s;
}

/// The most that a hinge turned after the lock.
double turned_after(const Memory& memory, const Locked& l) {
  double most = 0;
  std::size_t first = 0;
  while (first < memory.size() && memory.time(first) < l.at - 1e-13) ++first;
  for (const char* hinge : kHinges)
    for (std::size_t k = first; k < memory.size() && hinge != l.joint; ++k) {
      const std::string path = std::string("joints/") + hinge + "/q";
      most = std::max(most, std::abs((memory.at(path, k) - memory.at(path, first))[0]));
    }
  return most;
}

/// Exactly flat no reactions balance what acts across: nothing is judged there.
Outcome computed(const Scenario& s, const Locked& l, Memory& memory) {
  if (std::abs(l.beside) > 1e-9) return outcome_of(s, &memory);
  RunOptions options;
  options.sink = &memory;
  const Result<Outcome> out = run(s, options);
  if (!out) ADD_FAILURE() << out.error().text();
  return out ? *out : Outcome{};
}

bool noted(const Outcome& out) {
  return std::any_of(out.notes.begin(), out.notes.end(),
                     [](const std::string& note) { return note.find("leave no motion") != std::string::npos; });
}

}  // namespace

// Angles are read from attitudes of some 1e-16, a few hundred times rounded on a body that swings: 1e-12. The energy of that
// swing is rk4's at 1 ms, the bar of passages; dopri5's is a hundred times its tolerance of 1e-8.
TEST(HeldLoops, StandStillInEveryFlow) {
  Random random(seed(8100));
  int flat = 0;
  for (int i = 0; i < cases(9); ++i) {
    const Locked l = locked_beside_flat(random, i % 3);
    if (!std::isfinite(l.at)) continue;
    ++flat;
    for (const char* formulation : {"augmented", "minimal", "natural"}) {
      Memory memory;
      const std::string what = fmt::format("{} {}, '{}' locked {:.1e} s beside", i, formulation, l.joint, l.beside);
      const Outcome out = computed(locking(l, formulation, i % 2 == 0 ? "rk4" : "dopri5"), l, memory);
      ASSERT_EQ(out.end, Outcome::End::Finished) << what << ": " << out.words;
      EXPECT_EQ(out.unresolved, "") << what;
      EXPECT_LT(turned_after(memory, l), 1e-12) << what;
      EXPECT_LT(metric(out, "energy_drift"), i % 2 == 0 ? 5e-8 : 1e-6) << what;
      EXPECT_TRUE(noted(out) || std::abs(l.beside) > 1e-5) << what;
    }
  }
  EXPECT_GE(4 * flat, 3 * cases(9)) << "a loop falls through the flat position within two seconds, unless its base carries it";
}

// The same where a file says so.
TEST(HeldLoops, StandStillFromTheStart) {
  Random random(seed(8150));
  for (int i = 0; i < cases(6); ++i) {
    Locked l{flat_loop(random, i % 3), kHinges[random.below(4)], 0, 0};
    for (const char* hinge : kHinges) l.flat.spec.initial[hinge] = {0};
    for (JointSpec& joint : l.flat.spec.joints)
      if (joint.name == l.joint) joint.locked = true;
    for (const char* formulation : {"augmented", "minimal", "natural"}) {
      Memory memory;
      const std::string what = fmt::format("{} {}, '{}' locked", i, formulation, l.joint);
      const Outcome out = computed(scenario_of(l.flat.spec, formulation, "rk4", 1e-3, 0.3), l, memory);
      ASSERT_EQ(out.end, Outcome::End::Finished) << what << ": " << out.words;
      EXPECT_LT(turned_after(memory, l), 1e-12) << what;
      EXPECT_LT(metric(out, "energy_drift"), 5e-8) << what;
      EXPECT_TRUE(noted(out)) << what;
    }
  }
}

// The same with other equations in the part: wheels on the crank that are geared to each other swing on, by their own weight, and
// keep their ratio.
TEST(HeldLoops, StandStillBesideGearsInTheirPart) {
  for (int i = 0; i < cases(6); ++i) {
    Random random(seed(8170), static_cast<std::uint64_t>(i));
    Locked l{flat_loop(random, i % 3), kHinges[random.below(4)], 0, 0};
    ModelSpec& spec = l.flat.spec;
    for (const char* hinge : kHinges) spec.initial[hinge] = {0};
    for (JointSpec& joint : spec.joints)
      if (joint.name == l.joint) joint.locked = true;
    const double ratio = random.uniform(0.4, 1.5), from = random.uniform(0.3, 1);
    for (int w = 0; w < 2; ++w) {
      BodySpec body;
      body.name = w == 0 ? "driving" : "driven", body.inertia = solid_box(random.uniform(0.5, 2), {0.3, 0.05, 0.2});
      body.inertia.p_BC = {0.1, 0, 0};
      JointSpec axle;
      axle.name = w == 0 ? "first" : "second", axle.kind = JointKind::Revolute, axle.axis = -Vec3::UnitY();
      axle.parent = "crank", axle.child = body.name, axle.at_parent.p = {0.2 + 0.3 * w, 0, 0};
      spec.bodies.push_back(body), spec.joints.push_back(axle);
      spec.initial[axle.name] = {w == 0 ? from : 0.2 + ratio * from};
    }
    CouplingSpec gear;
    gear.name = "gear", gear.joint = "second", gear.of = "first", gear.coefficients = {0.2, ratio};
    spec.couplings = {gear};
    for (const char* formulation : {"augmented", "minimal"}) {
      Memory memory;
      const std::string what = fmt::format("{} {}, '{}' locked", i, formulation, l.joint);
      const Outcome out = computed(scenario_of(spec, formulation, "rk4", 1e-3, 0.3), l, memory);
      ASSERT_EQ(out.end, Outcome::End::Finished) << what << ": " << out.words;
      EXPECT_LT(turned_after(memory, l), 1e-12) << what;
      EXPECT_LT(metric(out, "energy_drift"), 5e-8) << what;
      EXPECT_TRUE(noted(out)) << what;
      const std::size_t last = memory.size() - 1;
      const double first = memory.at("joints/first/q", last)[0], second = memory.at("joints/second/q", last)[0];
      EXPECT_GT(std::abs(first - from), 0.1) << what;
      EXPECT_NEAR(second, 0.2 + ratio * first, 1e-11) << what;
    }
  }
}

// Bennett's linkage on the body that carries the loop that stands: as it turns, other rows of it have to be kept than at the
// start. It moves as it would alone, with the error of the method: which rows of an overconstrained loop are kept matters at the
// stages of a step, by their sine, which is above 0.1 where they have half of the strength of the best: over its square that is
// 100 times the error.
TEST(HeldLoops, StandBesideLoopsThatTurnManyTimes) {
  for (int i = 0; i < cases(4); ++i) {
    Random random(seed(8180), static_cast<std::uint64_t>(i));
    Locked l{flat_loop(random, 1), kHinges[random.below(4)], 0, 0};
    ModelSpec& spec = l.flat.spec;
    spec.gravity.setZero();
    for (const char* hinge : kHinges) spec.initial[hinge] = {0};
    ModelSpec linkage = random_bennett(random).spec();
    linkage.gravity.setZero();
    for (const BodySpec& body : linkage.bodies) spec.bodies.push_back(body);
    for (JointSpec joint : linkage.joints) {
      if (joint.parent == "world") joint.parent = "base";
      spec.joints.push_back(joint);
      spec.initial[joint.name] = linkage.initial.at(joint.name);
    }
    spec.initial["sling"] = {0};
    for (JointSpec& joint : spec.joints) joint.locked = joint.name == l.joint || joint.name == "sling";
    Scenario s = scenario_of(spec, i % 2 == 0 ? "augmented" : "minimal", "rk4", 2e-3, 8);
    s.start.joints.v.setZero();
    s.start.named.assign(s.model->joints().size(), false);
    const auto j1 = static_cast<std::size_t>(*s.model->find_joint("j1"));
    s.start.named[j1] = true;
    s.start.joints.v[s.model->joints()[j1].v0] = 6;
    Memory memory;
    const Outcome out = computed(s, l, memory);
    ASSERT_EQ(out.end, Outcome::End::Finished) << i << ": " << out.words;
    EXPECT_LT(turned_after(memory, l), 1e-12) << i;
    EXPECT_GT(std::abs(memory.at("joints/j1/q", memory.size() - 1)[0]), 20) << i;
    Scenario single = scenario_of(linkage, s.method.formulation.c_str(), "rk4", 2e-3, 8);
    single.start.joints.v.setZero();
    single.start.named.assign(single.model->joints().size(), false);
    single.start.named[0] = true;
    single.start.joints.v[0] = 6;
    const Outcome alone = computed(single, l, memory);
    EXPECT_LT(metric(out, "energy_drift"), 100 * metric(alone, "energy_drift")) << i;
    EXPECT_TRUE(noted(out)) << i;
  }
}

// A wheel that turns thousands of times as fast as the cranks that it holds, by gears of unequal ratios: a truss, but not a weak
// one.
TEST(HeldLoops, AreNotTrussesThatFastWheelsHold) {
  for (int i = 0; i < cases(6); ++i) {
    Random random(seed(8220), static_cast<std::uint64_t>(i));
    ModelSpec spec = flat_loop(random, 0).spec;
    BodySpec wheel;
    wheel.name = "wheel", wheel.inertia = solid_box(0.1, {0.1, 0.02, 0.1});
    JointSpec axle;
    axle.name = "axle", axle.kind = JointKind::Revolute, axle.axis = -Vec3::UnitY(), axle.child = "wheel";
    spec.bodies.push_back(wheel), spec.joints.push_back(axle);
    const double theta = spec.initial.at("a")[0], ratio = std::pow(10.0, random.uniform(2, 4)), turn = ratio * theta;
    spec.initial["axle"] = {turn};
    for (const char* hinge : {"a", "d"}) {
      CouplingSpec gear;
      const double own = hinge[0] == 'a' ? ratio : 1.2 * ratio;
      gear.name = std::string("gear_") + hinge, gear.joint = "axle", gear.of = hinge;
      gear.coefficients = {turn - own * theta, own};
      spec.couplings.push_back(gear);
    }
    const Result<Outcome> out = judged_run(scenario_of(spec, "augmented", "rk4", 1e-3, 0.02));
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_FALSE(noted(*out)) << i << ", 1 : " << ratio;
    EXPECT_EQ(out->unresolved, "") << i;
  }
}

// A truss that is far from singular is none of these, however far a run that does not project lets it gape.
TEST(HeldLoops, AreNotTrussesThatGape) {
  int gaped = 0;
  for (int i = 0; i < cases(6); ++i) {
    Random random(seed(8230), static_cast<std::uint64_t>(i));
    ModelSpec spec = flat_loop(random, 1 + i % 2).spec;
    const char* locked = kHinges[random.below(4)];
    for (JointSpec& joint : spec.joints)
      if (joint.name == locked) joint.locked = true, joint.locked_at = spec.initial.at(locked);
    Scenario s = scenario_of(spec, "augmented", "rk4", 0.05, 3);
    s.method.project = false;
    s.start.joints.v.setZero();
    s.start.named.assign(s.model->joints().size(), false);
    s.start.named[0] = true;
    s.start.joints.v[0] = random.uniform(4, 8);
    Memory memory;
    RunOptions options;
    options.sink = &memory;
    const Result<Outcome> out = run(s, options);
    ASSERT_TRUE(out) << out.error().text();
    gaped += memory.size() > 0 && memory.at("residual/position", memory.size() - 1)[0] > 1e-5;
    EXPECT_EQ(out->unresolved.find("leave no motion"), std::string::npos) << i << ": " << out->unresolved;
  }
  EXPECT_GE(gaped, 1);
}

// Steppers solve with the rows as they are. Where that moves what cannot move, the run says so, and one that ends says what
// stands there; a hinge turns by no more than both of its bodies.
TEST(HeldLoops, AreToldWhereSteppersMoveThem) {
  Random random(seed(8200));
  int reached = 0, all = 0;
  for (int i = 0; i < cases(4); ++i) {
    const Locked l = locked_beside_flat(random, i % 3);
    if (!std::isfinite(l.at)) continue;
    for (const char* method : {"conserving", "discrete_gradient", "rattle", "petrov_galerkin", "midpoint"}) {
      Memory memory;
      RunOptions options;
      options.sink = &memory;
      const std::string what = fmt::format("{} {}, '{}' locked {:.1e} s beside", i, method, l.joint, l.beside);
      const Result<Outcome> out = run(locking(l, "natural", method), options);
      ASSERT_TRUE(out) << out.error().text();
      const bool locked = memory.size() > 0 && memory.time(memory.size() - 1) >= l.at;
      reached += locked, ++all;
      if (out->end == Outcome::End::Finished) {
        EXPECT_TRUE(turned_after(memory, l) < 2e-6 || out->unresolved.find("leave no motion") != std::string::npos)
            << what << ": " << turned_after(memory, l) << " " << out->unresolved;
      } else if (locked) {
        EXPECT_TRUE(out->words.find("leave no motion") != std::string::npos || std::abs(l.beside) > 1e-5) << what << out->words;
      }
    }
  }
  EXPECT_GE(2 * reached, all);
}

}  // namespace invar::testing
