// SPDX-License-Identifier: Apache-2.0
//
// Four hinges whose axes meet in a point: a linkage of one freedom with three rows too many, which agree with each other on the
// constraints only.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/mech/minimal/equilibrium.hpp"
#include "support/campaign.hpp"
#include "support/flat_loops.hpp"
#include "support/recorded.hpp"

namespace invar::testing {
namespace {

ModelSpec spherical_four_bar(Random& random) {
  const auto towards = [](double azimuth, double height) {
    return Vec3(std::cos(height) * std::cos(azimuth), std::cos(height) * std::sin(azimuth), std::sin(height));
  };
  const Vec3 axes[4] = {towards(0, 0), towards(random.uniform(0.5, 1), random.uniform(0.2, 0.8)),
                        towards(random.uniform(1.2, 1.8), random.uniform(0.2, 0.8)),
                        towards(random.uniform(1.6, 2.2), random.uniform(-0.3, 0))};
  ModelSpec spec;
  const char* names[5] = {"world", "crank", "coupler", "rocker", "world"};
  for (std::size_t i = 0; i < 3; ++i) {
    BodySpec body;
    body.name = names[i + 1];
    body.inertia = solid_box(random.uniform(0.5, 3), {0.5, 0.1, 0.07});
    body.inertia.p_BC = 0.5 * (axes[i] + axes[i + 1]);
    spec.bodies.push_back(body);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    JointSpec joint;
    joint.name = "j" + std::to_string(i), joint.kind = JointKind::Revolute, joint.axis = axes[i];
    joint.parent = i < 3 ? names[i] : "world", joint.child = i < 3 ? names[i + 1] : "rocker";
    joint.at_parent.p = joint.at_child.p = random.uniform(0, 1) * axes[i];
    spec.joints.push_back(joint);
    spec.initial[joint.name] = {0};
  }
  spec.gravity = {0, 0, -kG};
  return spec;
}

}  // namespace

// At the nodes of the plain scheme velocities miss their rows by O(h²): rows that depend on others then disagree there, and no
// contradiction is in that. With 5 ms some parts turn by a tenth of a radian in a step.
TEST(SphericalLinkages, AreSampledAtNodesThatMissTheirRates) {
  Random random(seed(8400));
  for (int i = 0; i < cases(8); ++i) {
    Scenario s = scenario_of(spherical_four_bar(random), "natural", "petrov_galerkin", random.uniform(2e-3, 7e-3), 0);
    s.end_time = 150 * s.method.step;
    s.method.options.stepper.degree = i % 4;
    s.start.joints.v.setZero();
    s.start.named.assign(s.model->joints().size(), false);
    s.start.named[0] = true;
    s.start.joints.v[0] = random.uniform(1, 4);
    const Result<Outcome> out = judged_run(s);
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(out->end, Outcome::End::Finished) << i << ": " << out->words;
  }
}

// Where nothing moves, forces of some 10 N are balanced to rounding, 1e-15 N, in every step, and what Newton's method still asks
// for is that over the mass.
TEST(SphericalLinkages, RestWhereTheyRest) {
  Random random(seed(8450));
  int rested = 0;
  for (int i = 0; i < cases(4); ++i) {
    const Model model = build(spherical_four_bar(random));
    Minimal minimal(model);
    State x;
    Equilibrium found;
    minimal.set(place(model, JointState::initial(model)), x);
    if (!find_equilibrium(minimal, Load(model), {}, x, found).ok() || !found.found) continue;
    ++rested;
    Bodies rest;
    minimal.bodies(x, rest);
    for (const char* method : {"petrov_galerkin", "midpoint", "rattle", "conserving", "discrete_gradient"})
      for (int degree = 0; degree < (std::string(method) == "petrov_galerkin" ? 4 : 1); ++degree) {
        const double h = std::pow(10.0, -random.uniform(2, 4));
        Natural natural(model);
        System system(natural);
        State y;
        natural.set(rest, y);
        IntegratorOptions chosen;
        chosen.stepper.degree = degree;
        const auto integrator = std::move(*make_integrator(method, chosen));
        integrator->reset(system, y, h);
        for (int k = 0; k < 40; ++k) {
          double done = 0;
          const Verdict verdict = integrator->step(system, k * h, h, y, done);
          ASSERT_TRUE(verdict.ok()) << i << " " << method << " " << degree << ", h = " << h << ", step " << k << ": "
                                    << name(verdict.status) << " " << verdict.value;
        }
        Bodies end(rest.size());
        natural.bodies(y, end);
        for (std::size_t b = 0; b < rest.size(); ++b) EXPECT_LT((end[b].p_WC - rest[b].p_WC).norm(), 1e-9) << i << " " << method;
      }
  }
  EXPECT_GT(2 * rested, cases(4));
}

}  // namespace invar::testing
