// SPDX-License-Identifier: Apache-2.0
//
// Steps that were divided are counted and told in one sentence; joints that gape are told; what is fine is not mentioned.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/io/result_json.hpp"
#include "support/campaign.hpp"
#include "support/case.hpp"
#include "support/outcome.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A chain that whirls: hinges turn by up to some radians in a step, more than the quarter of a turn that a step may have.
Scenario whirling(Random& random, const char* method, double turn) {
  ModelSpec spec;
  for (int i = 0; i < 3; ++i) {
    BodySpec body;
    body.name = std::to_string(i), body.inertia = solid_box(1, {1, 0.2, 0.1}), body.inertia.p_BC = {0.5, 0, 0};
    spec.bodies.push_back(body);
    JointSpec joint;
    joint.name = "j" + body.name, joint.kind = JointKind::Revolute;
    joint.parent = i == 0 ? "world" : std::to_string(i - 1), joint.child = body.name;
    joint.at_parent.p = {i == 0 ? 0.0 : 1.0, 0, 0}, joint.axis = random_unit(random);
    spec.joints.push_back(joint);
  }
  Scenario s;
  set_model(s, spec);
  s.start = Start(*s.model);
  for (int i = 0; i < 3; ++i) s.start.joints.v[i] = random.uniform(-10, 10);
  s.method.formulation = "natural", s.method.integrator = method;
  s.method.step = turn / 20, s.end_time = 20 * s.method.step;
  s.sampling.what.solver = true;
  return s;
}

// The count is that of the recorded steps; the sentence has it, the instant of the first, and the largest number of parts.
TEST(DividedSteps, AreCountedAndToldOnceWithTheirTimes) {
  Random random(seed(9100));
  int divided_runs = 0, whole_runs = 0;
  for (const char* method : {"conserving", "discrete_gradient", "rattle", "midpoint", "petrov_galerkin"})
    for (const double turn : {0.05, 2.0, 6.0}) {
      const Scenario s = whirling(random, method, turn);
      Memory memory;
      const Outcome out = outcome_of(s, &memory);
      int count = 0;
      double first = -1, most = 1;
      for (std::size_t k = 1; k < memory.size(); ++k)
        if (const double parts = memory.at("solver/substeps", k)[0]; parts > 1) {
          if (count++ == 0) first = memory.time(k - 1);
          most = std::max(most, parts);
        }
      EXPECT_EQ(metric(out, "steps_divided"), count) << method << turn;
      int told = 0;
      for (const std::string& note : out.notes)
        if (has(note, "divided")) {
          ++told;
          EXPECT_TRUE(has(note, std::to_string(count) + " of ")) << note;
          EXPECT_TRUE(has(note, "at most into " + std::to_string(static_cast<int>(most)) + " parts")) << note;
          const std::size_t at = note.find("first at t = ");
          ASSERT_NE(at, note.npos) << note;
          EXPECT_NEAR(std::stod(note.substr(at + 13)), first, 1e-5 * (1 + first)) << note;
        }
      EXPECT_EQ(told, count > 0 ? 1 : 0) << method << " " << turn;
      (count > 0 ? divided_runs : whole_runs) += 1;
    }
  EXPECT_GT(divided_runs, 2);
  EXPECT_GT(whole_runs, 4);
}

// Flows without projection drift off their joints: (w h)⁴ and more per turn. The bound is a thousandth of the smaller body at a
// joint; bodies have sizes between a millimetre and two metres, so a gap of 1 cm is above it and one of a micrometre below.
TEST(GapingJoints, AreToldInOneSentence) {
  Random random(seed(9200));
  int gaping = 0, closed = 0;
  for (int k = 0; k < cases(12); ++k) {
    MechanismOptions options{.bodies = 3, .kinds = {JointKind::Revolute}};
    options.planar = true, options.loops = k % 2, options.passive = false, options.mass_ratio = 3, options.locked = false;
    const Sample sample = random_sample(seed(9300) + static_cast<std::uint64_t>(k), options);
    for (const double h : {0.15, 1e-3}) {
      Scenario s;
      set_model(s, sample.mechanism.spec);
      s.start = Start(*s.model);
      s.start.by_bodies = true, s.start.bodies = sample.bodies;
      s.method.step = h, s.method.project = false, s.end_time = 1.5;
      const auto run_of = run(s);
      ASSERT_TRUE(run_of) << run_of.error().text();
      const Outcome& out = *run_of;
      if (out.end != Outcome::End::Finished) continue;
      const double gap = metric(out, "joint_gap");
      const bool told = has(out.unresolved, " gapes by ");
      if (gap > 0.01) {
        EXPECT_TRUE(told) << k << ": " << gap << " " << out.unresolved;
        EXPECT_STREQ(status_word(out), "unresolved");
        EXPECT_TRUE(has(out.unresolved, "the run is not resolved: ")) << out.unresolved;
        EXPECT_EQ(out.unresolved.find('\n'), out.unresolved.npos);
        ++gaping;
      }
      if (gap < 1e-6) {
        EXPECT_FALSE(told) << k << ": " << gap << " " << out.unresolved;
        ++closed;
      }
    }
  }
  EXPECT_GT(gaping, 0);
  EXPECT_GT(closed, cases(12) / 2);
}

// Two wheels on their axles, one of which drives the other by a cubic map: nothing but the coupling can gape. Without projection
// a method of first order opens it, and one of fourth order keeps it.
TEST(GapingCouplings, AreToldInOneSentence) {
  Random random(seed(9400));
  int gaping = 0, closed = 0;
  for (int k = 0; k < cases(12); ++k) {
    ModelSpec spec;
    for (const char* name : {"driving", "driven"}) {
      BodySpec body;
      body.name = name, body.inertia = random_inertia(random, random.uniform(1, 3), 0.3);
      body.inertia.p_BC.setZero();
      JointSpec axle;
      axle.name = body.name + "_axle", axle.kind = JointKind::Revolute, axle.child = body.name, axle.axis = random_unit(random);
      spec.bodies.push_back(body), spec.joints.push_back(axle);
    }
    CouplingSpec cam;
    cam.name = "cam", cam.of = "driving_axle", cam.joint = "driven_axle";
    cam.coefficients = {random.uniform(-1, 1), 1, random.uniform(0.2, 0.5), random.uniform(0.2, 0.5)};
    spec.couplings = {cam};
    for (const char* method : {"semi_implicit_euler", "rk4"}) {
      Scenario s;
      set_model(s, spec);
      s.start = Start(*s.model);
      s.start.named = {true, false};
      s.start.joints.v[0] = 3;
      s.start.joints.name(*s.model, s.start.named);
      s.method.integrator = method, s.method.step = 1e-3, s.method.project = false, s.end_time = 1.5;
      const auto out = run(s);
      ASSERT_TRUE(out) << out.error().text();
      if (out->end != Outcome::End::Finished) continue;
      const double gap = metric(*out, "joint_gap");
      const bool told = has(out->unresolved, "coupling 'cam' is off by ");
      if (gap > 2e-3) {
        EXPECT_TRUE(told) << k << ": " << gap << " " << out->unresolved;
        ++gaping;
      }
      if (gap < 5e-4) {
        EXPECT_FALSE(told) << k << ": " << gap << " " << out->unresolved;
        ++closed;
      }
    }
  }
  EXPECT_GT(gaping, cases(12) / 3);
  EXPECT_GT(closed, cases(12) / 2);
}

}  // namespace
}  // namespace invar::testing
