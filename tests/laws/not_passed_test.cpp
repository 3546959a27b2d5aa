// SPDX-License-Identifier: Apache-2.0
//
// Singular configurations that no band is built for: the run goes on, and says why it may lose energy there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "invar/mech/loops_limits.hpp"
#include "invar/run/run.hpp"
#include "support/campaign.hpp"
#include "support/case.hpp"
#include "support/flat_loops.hpp"
#include "support/linkages.hpp"
#include "support/outcome.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

/// A window whose bar carries a chain of light links: with more freedoms than the dense equations of a band take, or with few.
/// Beside it a window that it does not touch.
Scenario windows_with_chain(int links) {
  ModelSpec spec = windows(1, 8e-4);
  for (int k = 0; k < links; ++k) {
    BodySpec link;
    link.name = fmt::format("link{}", k);
    link.inertia = solid_box(1e-4, {0.1, 1, 0.1});
    spec.bodies.push_back(link);
    JointSpec hinge;
    hinge.name = fmt::format("h{}", k), hinge.kind = JointKind::Revolute;
    hinge.parent = k == 0 ? "bar0" : fmt::format("link{}", k - 1), hinge.child = link.name;
    hinge.at_child.p = {0, 1, 0};  // as long as the window, so that steps resolve it
    spec.joints.push_back(hinge);
  }
  ModelSpec other = windows(1, 8e-4);
  const auto named = [](const std::string& name) { return name == "world" ? name : "other_" + name; };
  for (BodySpec& body : other.bodies) body.name = named(body.name), spec.bodies.push_back(body);
  for (JointSpec& joint : other.joints) {
    if (joint.parent == "world") joint.at_parent.p += Vec3(0, 0, 5);
    joint.name = named(joint.name), joint.parent = named(joint.parent), joint.child = named(joint.child);
    spec.joints.push_back(joint);
  }
  Scenario s = scenario_of(spec, "augmented", "rk4", 5e-3, 0.75);  // they lie flat at 0.6 s
  s.start.named.assign(s.model->joints().size(), false);
  for (const char* rod : {"a0", "a1", "other_a0", "other_a1"}) {
    const auto j = static_cast<std::size_t>(*s.model->find_joint(rod));
    s.start.named[j] = true, s.start.joints.v[s.model->joints()[j].v0] = -1;
  }
  return s;
}

/// Two windows on one bell crank: the arm that carries the second one is turned by `delta` against the other, and its bar is
/// longer than the distance of its pivots by a part `longer`. Exact ones lie flat one after the other.
ModelSpec bell_crank(double delta, double longer) {
  ModelSpec spec = windows(2, 8e-4);
  const Vec3 arm(-std::sin(delta), std::cos(delta), 0);
  for (JointSpec& joint : spec.joints) {
    if (joint.name == "b1") joint.at_parent.p = arm;
    if (joint.name == "c1") joint.at_parent.p = {1 + longer, 0, 0}, joint.at_child.p = arm;
  }
  for (const char* rod : {"a0", "a1", "a2"}) spec.initial[rod] = {-1.2};
  for (const char* bar : {"b0", "b1"}) spec.initial[bar] = {1.2};
  for (const char* end : {"c0", "c1"}) spec.initial[end] = {-1.2};
  return spec;
}

bool said(const Outcome& out, const std::string& part) {
  return std::any_of(out.notes.begin(), out.notes.end(), [&](const std::string& n) { return n.find(part) != std::string::npos; });
}

constexpr const char* kMayLose = "steps there solve all rows, and may lose energy";

}  // namespace

TEST(Passages, OfPartsThatAreTooLargeAreSaid) {
  for (const int links : {3, static_cast<int>(kLargestPart)}) {
    const Outcome out = outcome_of(windows_with_chain(links));
    ASSERT_EQ(out.end, Outcome::End::Finished) << out.words;
    EXPECT_TRUE(said(out, "passed a singular configuration at joint 'c0'")) << links;
    EXPECT_TRUE(said(out, "passed a singular configuration at joint 'other_c0'")) << links;
    EXPECT_EQ(said(out, "loops at joint 'c0' belong to a part with more than 480 freedoms"), links > 3);
    EXPECT_EQ(said(out, kMayLose), links > 3);
    EXPECT_FALSE(said(out, "no branch was found")) << "nobody looked for one";
    EXPECT_FALSE(said(out, "loops at joint 'other_c0' belong to")) << "it is small";
  }
}

// The bar of the second window is too long by a hundredth: just behind the flat position of the first it turns into the
// antiparallel motion, and nodes do not close astride.
TEST(Passages, WithoutABranchAreSaid) {
  Random random(seed(7900));
  int crossed = 0;
  for (int i = 0; i < cases(6); ++i) {
    const ModelSpec spec = bell_crank(random.uniform(0.013, 0.017), random.uniform(0.008, 0.012));
    Scenario s = scenario_of(spec, "augmented", i % 2 ? "rk4" : "dopri5", 5e-4, 0.5);
    with_tolerance(s, 1e-8);
    const Outcome out = outcome_of(s);
    ASSERT_EQ(out.end, Outcome::End::Finished) << out.words << " case " << i;
    const bool passed = metric(out, "singular_passages") > 0;
    crossed += passed;
    EXPECT_EQ(said(out, "no branch was found through the singular configuration at joint 'c0'"), passed) << i;
    EXPECT_FALSE(said(out, "was not seen ahead")) << i;
  }
  EXPECT_GT(crossed, cases(6) / 2);
}

// Fixed steps that turn cranks by more than a twentieth of a radian do not look for bands.
TEST(Passages, ThatNobodySawAheadAreSaid) {
  Random random(seed(7910));
  for (int i = 0; i < cases(6); ++i) {
    const Flat flat = flat_loop(random, 0);
    const char* formulation = i % 3 == 0 ? "augmented" : (i % 3 == 1 ? "minimal" : "natural");
    for (const double h : {2e-3, 0.04}) {
      const Result<Outcome> out = run(scenario_of(flat.spec, formulation, "rk4", h, 0.6));
      ASSERT_TRUE(out) << out.error().text();
      if (h > 0.01 && out->end != Outcome::End::Finished) continue;  // it says more than that
      ASSERT_EQ(out->end, Outcome::End::Finished) << out->words << " case " << i;
      EXPECT_GT(metric(*out, "singular_passages"), 0) << i << " " << formulation << " " << h;
      EXPECT_EQ(said(*out, "was not seen ahead of the step that crossed it"), h > 0.01) << i << " " << formulation;
      EXPECT_EQ(said(*out, kMayLose), h > 0.01) << i << " " << formulation;
    }
  }
}

// Two configurations of rank 28 each, closer together than a band is wide: both are passed, and both are counted by every method.
TEST(Passages, OfConfigurationsThatShareABandAreTwo) {
  Random random(seed(7920));
  for (int i = 0; i < cases(12); ++i) {
    const double delta = std::pow(10.0, -random.uniform(1.3, 3));
    const char* formulation = i % 3 == 0 ? "augmented" : (i % 3 == 1 ? "minimal" : "natural");
    Scenario s = scenario_of(bell_crank(delta, 0), formulation, (i / 3) % 2 ? "rk4" : "dopri5", 1e-3, 0.5);
    with_tolerance(s, 1e-8);
    const Outcome out = outcome_of(s);
    ASSERT_EQ(out.end, Outcome::End::Finished) << out.words << " case " << i;
    EXPECT_LT(metric(out, "energy_drift"), (i / 3) % 2 ? 5e-8 : 100 * 1e-8 + 5e-9) << i << " " << formulation << " " << delta;
    EXPECT_EQ(metric(out, "singular_passages"), 2) << i << " " << formulation << " " << delta;
    EXPECT_FALSE(said(out, kMayLose)) << i << " " << formulation << " " << delta;
    for (const std::string& note : out.notes)
      if (note.find("passed a singular") != std::string::npos) {
        EXPECT_NE(note.find("where rank is 28 and mobility 2"), std::string::npos) << i << " " << delta << ": " << note;
      }
  }
}

// Couplers that are a little too long: the loop has rank 17 everywhere, but where it nearly lies flat what depends turns away
// within a ratio of sin(b), the angle between crank and coupler. That is said of the coordinates, with this ratio, and of no
// passage; not where couplers are longer by a hundredth or more, and not of exact parallelograms, whose singular configuration it
// is.
TEST(Passages, AreNoneWhereCoordinatesDescribeTheMotionBadly) {
  Random random(seed(7930));
  const std::string badly = "describe the motion badly at joint 'b' (pivots of the closure differ by ";
  for (int i = 0; i < cases(9); ++i) {
    Flat flat = flat_loop(random, 0);
    const double longer = i % 3 == 0 ? std::pow(10.0, -random.uniform(4, 4.2)) : (i % 3 == 1 ? random.uniform(0.01, 0.1) : 0);
    flat.spec.joints[3].at_parent.p.x() *= 1 + longer;
    if (longer > 0) flat.spec.initial = {{"a", {flat.theta}}};
    Memory memory;
    RunOptions options;
    options.sink = &memory;
    const Result<Outcome> out = run(scenario_of(flat.spec, "minimal", "rk4", 2e-4, 0.6), options);
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(said(*out, "describe the motion badly"), i % 3 == 0) << i << ", longer by " << longer;
    EXPECT_EQ(metric(*out, "singular_passages") > 0, i % 3 == 2) << i << ", longer by " << longer;
    for (const std::string& note : out->notes) {
      const std::size_t at = note.find(badly);
      if (at == std::string::npos) continue;
      EXPECT_NE(note.find("rank 17 and mobility 1 hold"), std::string::npos) << note;
      const double t = std::stod(note.substr(note.find("t = ") + 4)), ratio = std::stod(note.substr(at + badly.size()));
      std::size_t k = 0;
      while (k + 1 < memory.size() && memory.time(k) < t - 1e-6) ++k;
      const double sine = std::abs(std::sin(memory.at("joints/b/q", k)[0]));
      EXPECT_LT(std::abs(std::log10(ratio / sine)), 1) << i << ": " << note << ", sin(b) = " << sine;
    }
  }
}

// Shorter ones bend within less than the least band (the root of what they are too long): nodes close on both sides, on two
// branches. The motion is led from one to the other, and the run says by how much loops are open there; exact ones are not.
TEST(Passages, OverAGapAreSaid) {
  Random random(seed(7940));
  const std::string miss = "miss a singular configuration by ";
  for (int i = 0; i < cases(9); ++i) {
    Flat flat = flat_loop(random, 0);
    const char* formulation = i % 3 == 0 ? "augmented" : (i % 3 == 1 ? "minimal" : "natural");
    const double longer = i % 2 == 0 ? std::pow(10.0, -random.uniform(4.8, 6.3)) : 0;
    const double a = flat.spec.joints[1].at_parent.p.x(), d = flat.spec.joints[3].at_parent.p.x();
    flat.spec.joints[3].at_parent.p.x() *= 1 + longer;
    if (longer > 0) flat.spec.initial = {{"a", {flat.theta}}};
    const Result<Outcome> out = run(scenario_of(flat.spec, formulation, "rk4", 1e-3, 0.6));
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(said(*out, miss), longer > 0) << i << ", longer by " << longer;
    // In parts of the length of the loop, which is its ground or its diagonal.
    for (const std::string& note : out->notes)
      if (const std::size_t at = note.find(miss); at != std::string::npos) {
        const double gap = std::stod(note.substr(at + miss.size()));
        EXPECT_GT(gap, 0.3 * longer * d / (a + d)) << i << " " << longer << ": " << note;
        EXPECT_LT(gap, 3 * longer) << i << " " << longer << ": " << note;
      }
  }
}

// Where a window bends in the band of another one, energy is kept or something is said.
TEST(Passages, BesideBendsOfOtherLoopsAreSaid) {
  Random random(seed(7950));
  for (int i = 0; i < cases(6); ++i) {
    const ModelSpec spec = bell_crank(random.uniform(0.006, 0.01), random.uniform(8e-5, 1.2e-4));
    const Result<Outcome> out = run(scenario_of(spec, "augmented", "rk4", 5e-4, 0.4));
    ASSERT_TRUE(out) << out.error().text();
    const bool told = said(*out, kMayLose) || said(*out, "are led straight on over the gap") || !out->unresolved.empty();
    EXPECT_TRUE(told || metric(*out, "energy_drift") < 5e-8) << i << ": " << metric(*out, "energy_drift") << " J";
  }
}

}  // namespace invar::testing
