// SPDX-License-Identifier: Apache-2.0
//
// Every body of every drawn mechanism in balance, by a judge that shares nothing with the solvers but the file.
#include "support/newton_euler.hpp"

#include <gtest/gtest.h>

#include "invar/mech/augmented.hpp"
#include "invar/run/method.hpp"
#include "support/agreement.hpp"
#include "support/campaign.hpp"

namespace invar::testing {
namespace {

/// Trees, loops, redundancy, planes, massless links, couplings, floating bases; locked joints in all of them.
MechanismOptions family(int k) {
  MechanismOptions options{.bodies = 2 + k % 7, .kinds = {}};
  options.floating = k % 5 == 4;
  options.mass_ratio = k % 2 == 0 ? 10 : 1e3;
  options.passive = k % 3 != 1;
  switch (k % 8) {
    case 1: options.loops = 1 + k % 3; break;
    case 2: options.couplings = 3; break;
    case 3: options.loops = 1, options.redundant = 2; break;
    case 4: options.planar = true, options.loops = 1; break;
    case 5: options.massless = true; break;
    case 6: options.bodies = 14, options.loops = 7; break;  // fronts, no tree
    case 7: options.loops = 1, options.couplings = 2, options.redundant = 1; break;
    default: break;
  }
  return options;
}

/// A line of many points over the bodies, to the ground and back, and a two-point spring.
void add_tendons(Random& random, ModelSpec& spec) {
  TendonSpec line;
  line.name = "line", line.stiffness = 40, line.damping = 0.5, line.length = 0.2, line.pretension = 3;
  line.points.push_back({"world", "", random_vector(random, 1.0)});
  for (const BodySpec& b : spec.bodies) line.points.push_back({b.name, "", random_vector(random, 0.4)});
  spec.frames.push_back({"eye", spec.bodies[0].name, random_pose(random, 0.3), {}});
  line.points.push_back({"world", "eye", random_vector(random, 0.1)});
  spec.tendons.push_back(line);
  TendonSpec spring;
  spring.name = "spring", spring.stiffness = 15, spring.length = 2, spring.tension_only = random.chance(0.5);
  spring.points = {{"world", "", random_vector(random, 1.0)}, {spec.bodies.back().name, "", random_vector(random, 0.4)}};
  spec.tendons.push_back(spring);
}

Sample draw(int k) {
  Sample s = random_sample(seed(91000) + static_cast<std::uint64_t>(k), family(k));
  Random random(seed(92000) + static_cast<std::uint64_t>(k));
  if (k % 3 == 0) add_tendons(random, s.mechanism.spec), s.model = build(s.mechanism.spec);
  if (k % 4 == 1) {
    s.mechanism.spec.payloads.push_back({"load", s.mechanism.spec.bodies[0].name, random_inertia(random, 0.7, 0.3), {}});
    s.model = build(s.mechanism.spec);
    s.bodies = at_rest(s.model, s.mechanism.X_WB);
    draw_velocities(random, s.model, s.bodies);
  }
  return s;
}

}  // namespace

// Augmented: what is drawn is on its constraints to round-off.
TEST(NewtonEuler, HoldForEveryBodyOfADrawnMechanism) {
  int seen = 0;
  for (int k = 0; k < cases(400); ++k) {
    const Sample s = draw(k);
    Augmented dynamics(s.model);
    State x;
    dynamics.set(s.bodies, x);
    Evaluation e;
    if (!dynamics.evaluate(x, s.load, e).ok()) continue;  // drawn at a state without inertia or rank
    expect_newton_euler(s.mechanism.spec, e, s.load, "case " + std::to_string(k) + ": " + describe(s.mechanism.spec));
    ++seen;
  }
  EXPECT_GT(seen, cases(400) * 9 / 10);
}

// The others take the reactions from the same equations, but at bodies of their own.
TEST(NewtonEuler, HoldInEveryFormulation) {
  int seen[2] = {};
  for (int k = 0; k < cases(200); ++k) {
    const Sample s = draw(k);
    for (const char* name : {"minimal", "natural"}) {
      Method method;
      method.formulation = name, method.step = 1e-3;
      if (objection(method, s.model)) continue;
      const auto dynamics = make_formulation(s.model, method);
      State x;
      dynamics->set(s.bodies, x);
      Evaluation e;
      if (!dynamics->evaluate(x, s.load, e).ok()) continue;
      expect_newton_euler(s.mechanism.spec, e, s.load,
                          std::string(name) + ", case " + std::to_string(k) + ": " + describe(s.mechanism.spec));
      ++seen[name[0] == 'm' ? 0 : 1];
    }
  }
  EXPECT_GT(seen[0], cases(200) / 2);
  EXPECT_GT(seen[1], cases(200) / 8);  // screws, couplings and rotors are refused there
}

// A judge that cannot condemn is none: each number that it reads, wrong by 1e-8 of itself where it matters, is noticed.
TEST(NewtonEuler, NoticeEveryNumberThatIsWrong) {
  int tried = 0, noticed = 0;
  for (int k = 0; k < 40; ++k) {
    const Sample s = draw(k);
    Augmented dynamics(s.model);
    State x;
    dynamics.set(s.bodies, x);
    Evaluation good;
    if (!dynamics.evaluate(x, s.load, good).ok()) continue;
    double size = 0;
    for (const Wrench& w : good.reactions) size = std::max(size, w.force.norm());
    const auto is_noticed = [&](auto&& spoil) {
      Evaluation e = good;
      Port port = s.load.port;
      spoil(e, port);
      const Balance found = balance(s.mechanism.spec, e, port);
      ++tried, noticed += found.force > 1 || found.moment > 1 ? 1 : 0;
    };
    const double step = 1e-8 * size;
    for (std::size_t j = 0; j < good.reactions.size(); ++j) {
      is_noticed([&](Evaluation& e, Port&) { e.reactions[j].force.x() += step; });
      is_noticed([&](Evaluation& e, Port&) { e.reactions[j].moment.y() += step; });
    }
    for (std::size_t b = 0; b < good.bodies.size(); ++b) {
      is_noticed([&](Evaluation&, Port& port) { port[b].force.z() += step; });
      is_noticed([&](Evaluation&, Port& port) { port[b].moment.x() += step; });
    }
    for (Eigen::Index i = 0; i < good.efforts.size(); ++i) is_noticed([&](Evaluation& e, Port&) { e.efforts[i] += step; });
    for (Eigen::Index c = 0; c < good.couplings.size(); ++c) is_noticed([&](Evaluation& e, Port&) { e.couplings[c] += step; });
  }
  EXPECT_EQ(noticed, tried);
  EXPECT_GT(tried, 500);
}

}  // namespace invar::testing
