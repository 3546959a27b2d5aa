// SPDX-License-Identifier: Apache-2.0
//
// What the steppers over the tree promise, on random mechanisms with every kind of joint: constraints, energy with its accounts,
// and momenta, step by step; and that nothing but the mechanism matters.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "invar/integrate/make.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/cayley/skeleton.hpp"
#include "invar/mech/natural.hpp"
#include "support/campaign.hpp"
#include "support/march.hpp"
#include "support/natural_samples.hpp"
#include "support/places.hpp"
#include "support/ride.hpp"

namespace invar::testing {
namespace {

struct Family {
  const char* name;
  MechanismOptions options;
  int tendons;
};

std::vector<Family> families() {
  MechanismOptions tree;
  tree.bodies = 6, tree.mass_ratio = 30;
  MechanismOptions loops = tree;
  loops.bodies = 7, loops.loops = 2, loops.redundant = 1;
  MechanismOptions floating = tree;
  floating.floating = true, floating.loops = 1;
  MechanismOptions geared = tree;
  geared.couplings = 2, geared.passive = false;
  MechanismOptions flat = tree;
  flat.loops = 1, flat.planar = true;
  MechanismOptions slides = tree;
  slides.loops = 1, slides.passive = false;
  slides.kinds = {JointKind::Cylindrical, JointKind::Planar, JointKind::Prismatic, JointKind::Spherical};
  return {{"slides", slides, 1},     {"trees", tree, 2},    {"loops", loops, 2},
          {"floating", floating, 3}, {"geared", geared, 0}, {"flat", flat, 2}};
}

/// Calls f(spec, model, bodies, load, what) for mechanisms that the steppers take; says how many they refused.
template <class F>
void for_mechanisms(int usual, std::uint64_t start, F&& f) {
  int taken = 0, refused = 0;
  for (const Family& family : families())
    for (int i = 0; i < cases(usual); ++i) {
      const std::uint64_t s = seed(start) + static_cast<std::uint64_t>(i);
      Random random(s, 77);
      Mechanism mechanism = random_mechanism(random, family.options);
      add_tendons(random, mechanism.spec, family.tendons, 20.0);
      leave_out_what_is_refused(mechanism.spec);
      const Model model = build(mechanism.spec);
      if (!cayley::why_not_conserving(model).empty()) {
        ++refused;
        continue;
      }
      Bodies bodies = at_rest(model, mechanism.X_WB);
      draw_velocities(random, model, bodies);
      const Load load = random_load(random, model, 2.0);
      f(mechanism.spec, model, bodies, load,
        std::string(family.name) + " " + std::to_string(i) + ": " + describe(mechanism.spec));
      ++taken;
    }
  EXPECT_GT(taken, refused) << taken << " taken, " << refused << " refused";
}

TEST(Conserving, KeepsConstraintsAndAccountsForEnergyInEveryStep) {
  for (const char* method : {"conserving", "discrete_gradient"})
    for_mechanisms(
        8, 400, [&](const ModelSpec& spec, const Model& model, const Bodies& bodies, const Load& load, const std::string& what) {
          const ConstantLoad pushes(load);
          const Drag drag;
          const double h = 2e-3;
          const Ride r = ride(spec, model, bodies, method, h, 40, {&pushes, &drag});
          ASSERT_TRUE(r.verdict.ok()) << what << " " << method << " " << name(r.verdict.status);
          // Sums of some hundred terms of the size of the energies: 3e-14 of them in a step. Positions are rounded, 2e-16 of
          // them, and closures met to a gap that has a law of its own below; over h that is a velocity, and times the momenta an
          // energy.
          const double position_noise = 4e-16 * (1 + r.reach);
          EXPECT_LE(r.balance, 3e-14 * r.energy + (position_noise + r.gap) / h * r.momenta)
              << what << " " << method << " energies " << r.energy;
          // Positions are built from coordinates; closures solved through a matrix whose condition enlarges that rounding.
          EXPECT_LE(r.gap, 300 * position_noise) << what << " " << method;
          // The matrix of closures has a condition up to 1e4 in these mechanisms (masses 1:30, light links turn fast).
          if (std::string(method) != "conserving") return;
          EXPECT_LE(r.rate, 1e-11 * (1 + r.speed)) << what << " speed " << r.speed;
        });
}

TEST(Conserving, KeepsMomentaOfWhatFloats) {
  for (const char* method : {"conserving", "discrete_gradient"}) {
    int seen = 0;
    for (int i = 0; i < cases(10); ++i) {
      Random random(seed(900) + static_cast<std::uint64_t>(i), 78);
      MechanismOptions options;
      options.bodies = 6, options.loops = 1, options.floating = true, options.mass_ratio = 30;
      options.locked = false;  // a free joint to the ground that is locked holds
      Mechanism mechanism = random_mechanism(random, options);
      mechanism.spec.gravity.setZero();
      for (int k = 0; k < 3; ++k) {
        TendonSpec tendon;
        tendon.name = "t" + std::to_string(k);
        const int first = random.below(6);
        for (const int body : {first, (first + 1 + random.below(5)) % 6, random.below(6)})
          tendon.points.push_back({mechanism.spec.bodies[static_cast<std::size_t>(body)].name, "", random_vector(random, 0.4)});
        tendon.stiffness = 30, tendon.length = 0.5, tendon.damping = 0.2;
        mechanism.spec.tendons.push_back(tendon);
      }
      leave_out_what_is_refused(mechanism.spec);
      const Model model = build(mechanism.spec);
      if (!cayley::why_not_conserving(model).empty()) continue;
      Bodies bodies = at_rest(model, mechanism.X_WB);
      draw_velocities(random, model, bodies);
      const Ride r = ride(mechanism.spec, model, bodies, method, 2e-3, 100, {});
      const std::string what = std::to_string(i) + " " + method + ": " + describe(mechanism.spec);
      ASSERT_TRUE(r.verdict.ok()) << what;
      ++seen;
      // Rounding of a hundred steps, each with the noise of closures over h (see above) on every body, at its distance. The shell
      // takes one pass for its multipliers: what its energy has to be given back turns the internal motion, by 1e-12 in 0.2 s.
      const double noise = 100 * (1e-15 + 4e-16 * (1 + r.reach) / 2e-3) * r.momenta;
      EXPECT_LE(r.linear, noise) << what;
      EXPECT_LE(r.angular, noise * (1 + r.reach) + 1e-11 * r.spin) << what;
    }
    EXPECT_GE(3 * seen, cases(10)) << "the others are refused: rotors on joints that close loops";
  }
}

TEST(Conserving, DividesAStepThatIsTooLongAndStillKeepsItsLaws) {
  // Ten milliseconds are long for a light chain that whips: Newton needs parts of some steps.
  MechanismOptions options{.bodies = 8, .mass_ratio = 1, .passive = false, .locked = false, .kinds = {JointKind::Revolute}};
  long divided = 0;
  for (int i = 0; i < cases(4); ++i) {
    Random random(seed(60) + static_cast<std::uint64_t>(i), 79);
    const Mechanism mechanism = random_mechanism(random, options);
    const Model model = build(mechanism.spec);
    Bodies bodies = at_rest(model, mechanism.X_WB);
    draw_velocities(random, model, bodies, 10, 60);
    const double h = 0.02;
    const Ride r = ride(mechanism.spec, model, bodies, "conserving", h, 40, {});
    ASSERT_TRUE(r.verdict.ok()) << i << " " << name(r.verdict.status);
    divided += r.divided;
    EXPECT_LE(r.balance, 1e-12 * r.energy) << i;
    EXPECT_LE(r.gap, 1e-13 * (1 + r.reach)) << i;
  }
  EXPECT_GT(divided, 0);
}

TEST(Conserving, LinksWithoutMassMoveAsTheirJointsSay) {
  ModelSpec spec;
  for (const char* name : {"upper", "link", "lower"}) {
    BodySpec body;
    body.name = name;
    body.inertia = body.name == "link" ? Inertia{0, Vec3(0.1, 0, 0), Mat3::Zero()} : solid_box(1, {0.1, 0.1, 0.5});
    spec.bodies.push_back(body);
  }
  const auto join = [&](const char* name, const char* parent, const char* child, const Vec3& at, const Vec3& axis) {
    JointSpec joint;
    joint.name = name, joint.kind = JointKind::Revolute, joint.parent = parent, joint.child = child;
    joint.at_parent.p = at, joint.axis = axis;
    spec.joints.push_back(joint);
  };
  join("a", "world", "upper", Vec3(0, 0, 0), Vec3::UnitY());
  join("b", "upper", "link", Vec3(0.4, 0, 0.1), Vec3::UnitX());
  join("c", "link", "lower", Vec3(0.3, 0, 0), Vec3::UnitY());
  spec.initial["a"] = {0.3}, spec.initial["b"] = {0.2}, spec.initial["c"] = {-0.5};
  const Model model = build(spec);
  const Bodies bodies = *make_consistent(model, place(model, JointState::initial(model)));
  for (const char* method : {"conserving", "discrete_gradient"}) {
    const Ride r = ride(spec, model, bodies, method, 1e-3, 500, {});
    ASSERT_TRUE(r.verdict.ok()) << method;
    // Round-off of rates of a few rad/s; the bare scheme leaves the constraints by O(h²) of accelerations near 50 rad/s² and
    // rates.
    EXPECT_LE(r.rate, std::string(method) == "conserving" ? 1e-13 : 1e-3) << method;
    EXPECT_LE(r.gap, 1e-14) << method;
  }
}

// Two or three iterations of Newton's method for the first pass and one for each that follows: passes that leave O(h ω) = 0.02 of
// their error take six to get from 1e-5 to 1e-15, and loops whose rounding is enlarged some more. Half as many again where what
// is found is believed.
TEST(Conserving, SettlesInFewPasses) {
  for (const auto& [name, most] : {std::pair{"ring7", 9.0}, {"ring20", 13.0}, {"stewart", 14.0}}) {
    const ModelSpec spec = *read_model_file(source_path("models/") + name + ".toml");
    const Model model = build(spec);
    const Ride r =
        ride(spec, model, *make_consistent(model, place(model, JointState::initial(model))), "conserving", 2e-3, 500, {});
    ASSERT_TRUE(r.verdict.ok()) << name;
    EXPECT_LE(std::accumulate(r.iterations.begin(), r.iterations.end(), 0.0), most * static_cast<double>(r.steps)) << name;
  }
}

// It swings through singular configurations, and steps end anywhere beside them. The books of a step are kept to 4e-16 of the
// terms of the energy, and the observer sums some ten of them: 1e-15 measured over 1500 lengths, and nearly all steps are taken
// whole.
TEST(Conserving, LongStepsOfALoopPassSingularConfigurations) {
  const ModelSpec spec = *read_model_file(source_path("models/parallelogram.toml"));
  const Model model = build(spec);
  const Bodies bodies = *make_consistent(model, place(model, JointState::initial(model)));
  long steps = 0, divided = 0;
  for (double h = 5e-3; h < 0.25; h *= 1.1) {
    const Ride r = ride(spec, model, bodies, "conserving", h, 200, {});
    ASSERT_TRUE(r.verdict.ok()) << h;
    EXPECT_LE(r.balance, 1e-14 * r.energy) << h;
    EXPECT_LE(r.gap, 1e-13) << h;
    steps += r.steps, divided += r.divided;
  }
  EXPECT_LE(100 * divided, steps);
}

TEST(Conserving, PlaneAndSpaceAreTheSameMotion) {
  for (int i = 0; i < cases(6); ++i) {
    const Sample sample = planar_chain(seed(70) + static_cast<std::uint64_t>(i), 4, true, 3);
    const auto end = [&](bool flat, const Bodies& start) {
      Natural natural(sample.model, NaturalOptions{.flat = flat});
      EXPECT_EQ(natural.coordinates().dimension(), flat ? 2 : 3);
      System system(natural);
      State x;
      natural.set(start, x, {});
      auto integrator = std::move(*make_integrator("conserving"));
      EXPECT_TRUE(march(sample.mechanism.spec, system, *integrator, 0, 0.5, 5e-3, x).verdict.ok());
      Bodies out(sample.model.bodies().size());
      natural.bodies(x, out);
      return out;
    };
    // The same scheme in fewer numbers, so rounding: positions to 4e-16, which over h is a speed, in each of a hundred steps with
    // any sign (three times the root of their number), and enlarged as the motion enlarges what differs at its start. That is
    // seen by starting a little faster.
    constexpr double more = 1e-8;
    Bodies faster = sample.bodies;
    double speed = 0, reach = 0;
    for (BodyState& s : faster) {
      speed = std::max(speed, s.v_WC.norm());
      reach = std::max(reach, s.p_WC.norm());
      s.v_WC *= 1 + more, s.w_WB *= 1 + more;
    }
    const Bodies flat = end(true, sample.bodies), full = end(false, sample.bodies), other = end(true, faster);
    double growth_x = 0.5, growth_v = 1;  // of a speed: s, and a number; without any forces it lasts for the half second
    for (std::size_t b = 0; b < flat.size(); ++b) {
      growth_x = std::max(growth_x, (flat[b].p_WC - other[b].p_WC).norm() / (more * speed));
      growth_v = std::max(growth_v, (flat[b].v_WC - other[b].v_WC).norm() / (more * speed));
    }
    const double noise = 3 * 10 * 4e-16 * (1 + reach) / 5e-3;
    for (std::size_t b = 0; b < flat.size(); ++b) {
      EXPECT_LE((flat[b].p_WC - full[b].p_WC).norm(), noise * growth_x) << i;
      EXPECT_LE((flat[b].v_WC - full[b].v_WC).norm(), noise * growth_v) << i;
    }
  }
}

}  // namespace
}  // namespace invar::testing
