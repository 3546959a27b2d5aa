// SPDX-License-Identifier: Apache-2.0
//
// Tendons are inner forces with an energy: they push nobody as a whole, their wrenches are minus the gradient of what they
// store, and their dampers only take.
#include <gtest/gtest.h>

#include "invar/integrate/make.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/energy.hpp"
#include "invar/mech/tendons.hpp"
#include "support/campaign.hpp"
#include "support/newton_euler.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

/// Bodies that float freely, with tendons of two to five points among them and, if asked for, the ground.
struct Web {
  Model model;
  Bodies bodies;
};

Web draw(std::uint64_t seed, bool ground, double damping) {
  Random random(seed, 31);
  ModelSpec spec;
  const int n = 2 + static_cast<int>(random.uniform(0, 4));
  for (int b = 0; b < n; ++b) {
    BodySpec body;
    body.name = "b" + std::to_string(b);
    body.inertia = solid_box(random.uniform(0.5, 2), {0.3, 0.4, 0.5});
    body.inertia.p_BC = random_vector(random, 0.2);
    spec.bodies.push_back(body);
  }
  for (int t = 0; t < 4; ++t) {
    TendonSpec tendon;
    tendon.name = "t" + std::to_string(t);
    const int points = 2 + static_cast<int>(random.uniform(0, 4));
    for (int k = 0; k < points; ++k) {
      const int b = (k + t) % (n + (ground ? 1 : 0));
      tendon.points.push_back({b == n ? "world" : "b" + std::to_string(b), "", random_vector(random, 0.5)});
    }
    tendon.stiffness = random.uniform(1, 20), tendon.length = random.uniform(0.2, 3), tendon.pretension = random.uniform(0, 3);
    tendon.damping = damping, tendon.tension_only = t % 2 == 1;
    spec.tendons.push_back(tendon);
  }
  Web web{build(spec), Bodies(spec.bodies.size())};
  for (BodyState& s : web.bodies)
    s = {random_vector(random, 1), random_vector(random, 1), random_vector(random, 1), exp_so3(random_vector(random, 2))};
  return web;
}

struct Effect {
  Port port;
  double dissipation = 0;
};
Effect effect(const Web& web) {
  Effect out{Port(web.bodies.size()), 0};
  add_tendons(web.model, web.bodies, out.port, out.dissipation);
  return out;
}

TEST(Tendons, AreInEquilibriumWithThemselves) {
  for (int i = 0; i < cases(50); ++i) {
    const Web web = draw(seed(1) + static_cast<std::uint64_t>(i), false, 0.7);
    Wrench total;
    double size = 0;
    const Port port = effect(web).port;
    for (std::size_t b = 0; b < port.size(); ++b) {
      total.force += port[b].force;
      total.moment += port[b].moment + web.bodies[b].p_WC.cross(port[b].force);
      size += port[b].force.norm();
    }
    // A few dozen sums of numbers of this size, arms of a metre or two.
    EXPECT_LT(total.force.norm(), 1e-14 * size + 1e-15) << i;
    EXPECT_LT(total.moment.norm(), 1e-13 * size + 1e-15) << i;
  }
}

TEST(Tendons, PushAlongMinusTheGradientOfTheirEnergy) {
  int checked = 0;
  for (int i = 0; i < cases(50); ++i) {
    Web web = draw(seed(2) + static_cast<std::uint64_t>(i), true, 0);
    // A tendon about to go slack has a kink in its force: differences do not see it right.
    bool kink = false;
    for (const Tendon& t : web.model.tendons())
      kink |= t.tension_only && std::abs(pull_of(web.model, t, web.bodies).stretch) < 1e-2;
    if (kink) continue;
    ++checked;
    const Port port = effect(web).port;
    Random random(static_cast<std::uint64_t>(i), 32);
    for (std::size_t b = 0; b < web.bodies.size(); ++b) {
      const Vec3 dx = random_unit(random), turn = random_unit(random);
      const BodyState here = web.bodies[b];
      const auto stored = [&](double h) {
        web.bodies[b].p_WC = here.p_WC + h * dx;
        web.bodies[b].q_WB = turned(here.q_WB, h * turn);
        const double e = tendon_energy(web.model, web.bodies);
        web.bodies[b] = here;
        return e;
      };
      // Richardson on two steps: what the longer one changes is more than the truncation of the shorter one, wherever points come
      // close and derivatives are large. Rounding: energies known to some 5 u enter with weights of 3 / h in all.
      const auto slope = [&](double h) { return (8 * (stored(h / 2) - stored(-h / 2)) - (stored(h) - stored(-h))) / (6 * h); };
      const double fine = slope(1e-3), truncation = std::abs(slope(2e-3) - fine);
      const double rounding = 15 * 1.1e-16 * (1 + stored(0)) / 1e-3;
      EXPECT_LT(truncation, 1e-4) << i << " body " << b;
      EXPECT_NEAR(fine, -(port[b].force.dot(dx) + port[b].moment.dot(turn)), truncation + rounding) << i << " body " << b;
    }
  }
  EXPECT_GT(checked, cases(50) / 2);
}

TEST(Tendons, LoseWhatTheirDampersTakeAndNothingElse) {
  for (int i = 0; i < cases(50); ++i) {
    const Web web = draw(seed(3) + static_cast<std::uint64_t>(i), true, 2);
    const Effect e = effect(web);
    double power_in = 0, stored = 0;
    for (std::size_t b = 0; b < web.bodies.size(); ++b)
      power_in += power(e.port[b], Twist{web.bodies[b].w_WB, web.bodies[b].v_WC});
    for (const Tendon& t : web.model.tendons()) {
      const Pull pull = pull_of(web.model, t, web.bodies);
      if (t.tension_only && pull.stretch <= 0) continue;
      stored += t.stiffness * pull.stretch * pull.rate;
    }
    // Terms of up to 1e3 W cancel.
    EXPECT_NEAR(power_in, -stored - e.dissipation, 1e-11) << i;
    EXPECT_GE(e.dissipation, 0) << i;
  }
}

TEST(Tendons, ThatOnlyPullNeverPush) {
  for (int i = 0; i < cases(100); ++i) {
    const Web web = draw(seed(4) + static_cast<std::uint64_t>(i), true, 5);
    for (const Tendon& t : web.model.tendons()) {
      const Pull pull = pull_of(web.model, t, web.bodies);
      if (!t.tension_only) continue;
      EXPECT_GE(pull.tension, 0);
      EXPECT_TRUE(pull.stretch > 0 || pull.tension == 0);
    }
  }
}

TEST(Tendons, KeepMomentaAndEnergyOfAFloatingWeb) {
  // dopri5 asked for 1e-11 per step, some thousand steps: points that pass each other closely make it take short ones. Linear
  // momentum is kept by every Runge-Kutta method to rounding.
  IntegratorOptions tight;
  tight.dopri5 = {
      .relative_tolerance = 1e-11, .position_tolerance = 1e-11, .velocity_tolerance = 1e-11, .auxiliary_tolerance = 1e-11};
  for (int i = 0; i < cases(6); ++i) {
    Web web = draw(seed(5) + static_cast<std::uint64_t>(i), false, 0);
    Augmented dynamics(web.model);
    System system(dynamics);
    State x;
    dynamics.set(web.bodies, x);
    const auto method = std::move(*make_integrator("dopri5", tight));
    method->reset(system, x, 0.3);
    const VecX none(0);
    const auto total = [&] { return energy(web.model, web.bodies, none, none).total(); };
    const double e0 = total();
    const Momentum m0 = momentum(web.model, web.bodies);
    for (double t = 0, done = 0; t < 0.3; t += done) ASSERT_TRUE(method->step(system, t, 0.3 - t, x, done).ok());
    dynamics.bodies(x, web.bodies);
    const double mass = static_cast<double>(web.bodies.size()) * web.model.mean_mass();
    const Vec3 fallen = 0.3 * mass * web.model.gravity();
    EXPECT_LT((momentum(web.model, web.bodies).linear - m0.linear - fallen).norm(), 1e-11) << i;
    EXPECT_NEAR(total(), e0, 1e-8 * (1 + std::abs(e0))) << i;
  }
}

TEST(Tendon, BetweenTwoPointsOnASliderIsTheSpringOfTheSlider) {
  const std::string slider =
      "gravity = [0, 0, 0]\n[[body]]\nname = \"a\"\nmass = 2\ninertia = { xx = 1, yy = 1, zz = 1 }\n[[joint]]\nname = \"j\"\n"
      "kind = \"prismatic\"\nchild = \"a\"\naxis = [1, 0, 0]\n";
  const auto vdot = [&](const std::string& more) {
    const ModelSpec spec = *parse_model(slider + more, "slider");
    const Model model = build(spec);
    JointState joints = JointState::initial(model);
    joints.q << 0.7;
    joints.v << -0.4;
    Augmented dynamics(model);
    State x;
    dynamics.set(place(model, joints), x);
    Evaluation e;
    EXPECT_TRUE(dynamics.evaluate(x, Load(model), e).ok());
    expect_newton_euler(spec, e, Load(model));
    return e.vdot[0];
  };
  const double by_joint = vdot("spring = { stiffness = 30, rest = 0.5 }\ndamping = 3\n");
  const double by_tendon = vdot(
      "[[tendon]]\nname = \"t\"\npoints = [{ body = \"world\", p = [-1, 0, 0] }, { body = \"a\" }]\nstiffness = 30\n"
      "length = 1.5\ndamping = 3\n");
  EXPECT_NEAR(by_tendon, by_joint, 1e-14);
  EXPECT_NEAR(by_joint, -(30 * 0.2 - 3 * 0.4) / 2, 1e-14);
}

TEST(Tendon, PretensionIsTheTensionAtItsLength) {
  const Model model =
      build(*parse_model("gravity = [0, 0, 0]\n[[body]]\nname = \"a\"\nmass = 1\n[[tendon]]\nname = \"t\"\n"
                         "points = [{ p = [0, 0, 0] }, { body = \"a\" }]\nstiffness = 30\nlength = 1.5\npretension = 12\n",
                         "pretension"));
  Bodies bodies(1);
  bodies[0].p_WC = Vec3(0, 1.5, 0);
  EXPECT_NEAR(pull_of(model, model.tendons()[0], bodies).tension, 12, 1e-14);
  EXPECT_NEAR(tendon_energy(model, bodies), 12 * 12 / 60.0, 1e-14);
}

}  // namespace
}  // namespace invar::testing
