// SPDX-License-Identifier: Apache-2.0
//
// What runs say about stops, and attitudes in recordings.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/campaign.hpp"
#include "support/case.hpp"
#include "support/outcome.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool any_has(const std::vector<std::string>& notes, const std::string& part) {
  return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) { return has(note, part); });
}

Scenario scenario_of(const ModelSpec& spec, const Bodies& start, double end, const char* method, double step) {
  Scenario s;
  set_model(s, spec);
  s.start.by_bodies = true, s.start.bodies = start;
  s.method.integrator = method, s.method.step = step;
  s.end_time = end;
  return s;
}

/// A weight on a vertical slide with a stop that hardly pushes, above it (side 1) or below (side -1), `beyond` its start.
struct Slide {
  ModelSpec spec;
  double gravity = 0, rate = 0;

  Slide(Random& random, double side, double limit) : gravity(random.uniform(5, 15)) {
    spec.gravity = {0, 0, -side * gravity};
    spec.bodies.push_back({"weight", solid_sphere(random.uniform(0.5, 2), 0.1), {}, {}});
    JointSpec slide;
    slide.name = "slide", slide.kind = JointKind::Prismatic, slide.child = "weight", slide.axis = Vec3::UnitZ();
    (side > 0 ? slide.limits.upper : slide.limits.lower) = {side * limit};
    slide.limits.stiffness = 1e-9;
    spec.joints.push_back(slide);
  }
};

Scenario thrown(const ModelSpec& spec, double rate, double step) {
  Bodies start(1);
  start[0].v_WC = {0, 0, rate};
  Scenario s = scenario_of(spec, start, 11 * step, "rk4", step);
  s.end_at_stops = true;
  return s;
}

// A weight is thrown up and comes to rest in the middle of the sixth step, higher than at both of its ends by g h²/8: a stop
// within that height is reached, one above it is not. rk4 and the cubic through both ends are exact on a parabola.
TEST(Stops, ThatAreLeftAgainWithinAStepAreReached) {
  Random random(seed(9970));
  for (int k = 0; k < cases(60); ++k) {
    const double side = k % 2 == 0 ? 1 : -1, step = std::pow(10, random.uniform(-3, -1));
    const double part = (k / 2) % 2 == 0 ? random.uniform(0.05, 0.95) : -random.uniform(0.01, 1);
    Slide slide(random, side, 0);
    const double rate = 5.5 * step * slide.gravity, top = 0.5 * rate * rate / slide.gravity;
    const double limit = top - part * slide.gravity * step * step / 8;
    (side > 0 ? slide.spec.joints[0].limits.upper : slide.spec.joints[0].limits.lower) = {side * limit};
    const Outcome out = outcome_of(thrown(slide.spec, side * rate, step));
    const std::string what = fmt::format("case {}, part {}", k, part);
    if (part > 0) {
      EXPECT_EQ(out.verdict.status, Status::JointStop) << what << ": " << out.words;
      EXPECT_TRUE(has(out.words, "step 6, ")) << what << ": " << out.words;
      EXPECT_TRUE(any_has(out.notes, side > 0 ? "joint 'slide' reached its upper stop" : "joint 'slide' reached its lower stop"));
    } else {
      EXPECT_EQ(out.end, Outcome::End::Finished) << what << ": " << out.words;
      EXPECT_FALSE(any_has(out.notes, "stop")) << what;
    }
  }
}

// Beyond a stop from the beginning nothing reaches it.
TEST(Stops, AtWhichAMotionBeginsAreSaidAsSuch) {
  Random random(seed(9980));
  for (int k = 0; k < cases(12); ++k) {
    const double side = k % 2 == 0 ? 1 : -1, beyond = std::pow(10, random.uniform(-3, 1));
    const Slide slide(random, side, -beyond);
    Scenario s = thrown(slide.spec, 0, 1e-3);
    const Outcome ended = outcome_of(s);
    EXPECT_EQ(ended.verdict.status, Status::JointStop) << ended.words;
    s.end_at_stops = false;
    const Outcome out = outcome_of(s);
    EXPECT_TRUE(any_has(out.notes,
                        fmt::format("joint 'slide' begins {:.3g} m beyond its {} stop", beyond, side > 0 ? "upper" : "lower")));
    EXPECT_FALSE(any_has(out.notes, "reached")) << k;
  }
}

// Two bodies on a ball tumble over many turns: from one sample to the next their quaternions, and that of the ball, go over into
// each other, whatever coordinates computed them. Samples are a tenth of a radian apart.
TEST(Recordings, OfAttitudesNeverChangeTheirSign) {
  Random random(seed(9990));
  for (int k = 0; k < cases(4); ++k) {
    ModelSpec spec;
    spec.gravity.setZero();
    for (const char* name : {"one", "two"}) spec.bodies.push_back({name, solid_box(1, {1, 0.4, 0.2}), {}, {}});
    JointSpec ball;
    ball.name = "ball", ball.kind = JointKind::Spherical, ball.parent = "one", ball.child = "two";
    ball.at_parent.p = {0.5, 0, 0}, ball.at_child.p = {-0.5, 0, 0};
    spec.joints.push_back(ball);
    Bodies start(2);
    start[1].p_WC = {1, 0, 0};
    for (BodyState& b : start) b.w_WB = 8 * random_unit(random);
    // The second one goes with the pin.
    start[1].v_WC = start[0].w_WB.cross(Vec3(0.5, 0, 0)) + start[1].w_WB.cross(Vec3(0.5, 0, 0));
    for (const auto& [formulation, method] :
         {std::pair{"augmented", "rk4"}, {"minimal", "rk4"}, {"natural", "rk4"}, {"natural", "conserving"}}) {
      Scenario s = scenario_of(spec, start, 6, method, 5e-3);
      s.method.formulation = formulation;
      Memory memory;
      const Outcome out = outcome_of(s, &memory);
      ASSERT_EQ(out.end, Outcome::End::Finished) << formulation << ": " << out.words;
      for (const char* path : {"bodies/one/q", "bodies/two/q", "joints/ball/q"})
        for (std::size_t i = 1; i < memory.size(); ++i)
          ASSERT_GT(memory.at(path, i).dot(memory.at(path, i - 1)), 0.9)
              << formulation << ' ' << path << " at " << memory.time(i);
    }
  }
}

}  // namespace
}  // namespace invar::testing
