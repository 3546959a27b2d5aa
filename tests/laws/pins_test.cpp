// SPDX-License-Identifier: Apache-2.0
//
// Trees in the plane that hang together by pins step in complex numbers, with tendons over one pin in Newton's matrix and those
// over several outside of it. That is the scheme of the tree in space, whatever is drawn: branches, centres of mass anywhere,
// tendons that are near, far, slack, damped or stiff, loads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "invar/base/largest.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/energy.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/natural.hpp"
#include "support/campaign.hpp"
#include "support/march.hpp"
#include "support/natural_samples.hpp"
#include "support/ride.hpp"

namespace invar::testing {
namespace {

constexpr double kStep = 5e-3;  // s

struct Drawn {
  Sample sample;
  std::string what;
};

/// Two to eight bodies with up to three near and two far tendons; every third draw has stiff ones.
Drawn draw(std::uint64_t start, int k) {
  const std::uint64_t at = seed(start) + static_cast<std::uint64_t>(k);
  Sample sample = pin_tree(at, 2 + k % 7, k % 4, k % 5 / 2, k % 3 == 2 ? 5e3 : 20);
  std::string what = "seed " + std::to_string(at) + ": " + describe(sample.mechanism.spec);
  return {std::move(sample), std::move(what)};
}

/// Bodies after some steps; none where one of them was divided.
struct Stepping {
  const char* method;
  StepperOptions options = {};
  bool flat = true;
};
Bodies after(const ModelSpec& spec, const Model& model, const Bodies& bodies, const Stepping& how, int steps,
             const Environment* acts = nullptr) {
  Natural natural(model, NaturalOptions{.flat = how.flat});
  EXPECT_EQ(natural.coordinates().dimension(), how.flat ? 2 : 3);
  System system(natural);
  if (acts != nullptr) system.add(*acts);
  State x;
  natural.set(bodies, x);
  IntegratorOptions options;
  options.stepper = how.options;
  const auto integrator = std::move(*make_integrator(how.method, options));
  bool whole = true;
  const auto look = [&](double, double) { whole = whole && integrator->report().substeps == 1; };
  EXPECT_TRUE(march(spec, system, *integrator, 0, steps * kStep, kStep, x, look).verdict.ok());
  Bodies out;
  if (whole) natural.bodies(x, out);
  return out;
}

/// Largest differences, and the sizes that they are rounding of. Turning counts at the model's length.
struct Distance {
  double x = 0, v_centre = 0, v = 0, speed = 0, reach = 0;
};
Distance between(const Model& model, const Bodies& a, const Bodies& b) {
  Distance d;
  const double l = model.length();
  for (std::size_t i = 0; i < a.size(); ++i) {
    keep_largest(d.x, (a[i].p_WC - b[i].p_WC).norm() + l * (a[i].q_WB.conjugate() * b[i].q_WB).vec().norm());
    keep_largest(d.v_centre, (a[i].v_WC - b[i].v_WC).norm());
    keep_largest(d.v, (a[i].v_WC - b[i].v_WC).norm() + l * (a[i].w_WB - b[i].w_WB).norm());
    keep_largest(d.speed, a[i].v_WC.norm() + l * a[i].w_WB.norm());
    keep_largest(d.reach, a[i].p_WC.norm() + l);
  }
  return d;
}

// Two sets of numbers for one scheme. Newton ends at rounding of the speeds, 2e-16, which pivots enlarge by the ratio of
// inertias (masses 1:10, arms 1:5, so some hundred), and positions are rounded once more. Efforts are left out: in space they
// work on the angle between two bodies, on pins as a pair of moments, and both are right.
TEST(PinStep, IsTheStepOfTheTreeInSpace) {
  int taken = 0, divided = 0;
  for (int k = 0; k < cases(60); ++k) {
    Drawn d = draw(11000, k);
    d.sample.load.efforts.setZero();
    const ConstantLoad load(d.sample.load);
    const Environment* acts = k % 2 == 0 ? &load : nullptr;
    const Bodies flat = after(d.sample.mechanism.spec, d.sample.model, d.sample.bodies, {"discrete_gradient"}, 1, acts);
    const Bodies full =
        after(d.sample.mechanism.spec, d.sample.model, d.sample.bodies, {.method = "discrete_gradient", .flat = false}, 1, acts);
    if (flat.empty() || full.empty()) {
      ++divided;
      continue;
    }
    ++taken;
    const Distance off = between(d.sample.model, flat, full);
    EXPECT_LE(off.v, 1e-13 * off.speed) << d.what;
    EXPECT_LE(off.x, 1e-13 * kStep * off.speed + 2e-15 * off.reach) << d.what;
  }
  EXPECT_LE(3 * divided, taken) << "stiff tendons that are drawn far from their lengths";
}

// The printed scheme turns directors, which have masses of their own: where bodies have none to turn, both are the same to the
// letter. Dampers are left out: they act along the segment at the middle there, along the mean segment here.
TEST(PinStep, OfPointMassesIsThePrintedScheme) {
  int taken = 0, divided = 0;
  for (int k = 0; k < cases(60); ++k) {
    Drawn d = draw(11200, k);
    ModelSpec& spec = d.sample.mechanism.spec;
    for (BodySpec& body : spec.bodies) body.inertia.I_C.setZero();
    for (TendonSpec& tendon : spec.tendons) tendon.damping = 0;
    const Model model = build(spec);
    const Bodies pins = after(spec, model, d.sample.bodies, {"discrete_gradient"}, 1);
    const Bodies printed = after(spec, model, d.sample.bodies, {"petrov_galerkin", {.gradient = Gradient::Discrete}}, 1);
    if (pins.empty() || printed.empty()) {
      ++divided;
      continue;
    }
    ++taken;
    const Distance off = between(model, pins, printed);
    // As above; what a point turns by has no inertia, and only its centre has a velocity that both know.
    EXPECT_LE(off.v_centre, 1e-13 * off.speed) << d.what;
    EXPECT_LE(off.x, 1e-13 * kStep * off.speed + 1e-14 * off.reach) << d.what;
  }
  EXPECT_LE(3 * divided, taken) << "stiff tendons that are drawn far from their lengths";
}

TEST(Pins, AccountForEnergyWithTendonsOfEverySortAndLoads) {
  for (const char* method : {"discrete_gradient", "conserving"})
    for (int k = 0; k < cases(20); ++k) {
      const Drawn d = draw(11400, k);
      const ConstantLoad load(d.sample.load);
      const Drag drag;
      const Ride r = ride(d.sample.mechanism.spec, d.sample.model, d.sample.bodies, method, kStep, 60, {&load, &drag});
      ASSERT_TRUE(r.verdict.ok()) << d.what << " " << name(r.verdict.status);
      // Sums of some dozen terms of the size of the energies, as in the law for all mechanisms; there is nothing to close.
      EXPECT_LE(r.balance, 3e-14 * r.energy) << d.what << " " << method;
      EXPECT_LE(r.gap, 1e-14 * (1 + r.reach)) << d.what << " " << method;
      if (std::string(method) == "conserving") {
        EXPECT_LE(r.rate, 1e-14 * (1 + r.speed)) << d.what;
      }
    }
}

// Tendons that are left out of Newton's matrix may let increments grow by two percent each, evenly, below all that rounding was
// taken for: the draws in which that was seen. Bound as above.
TEST(Pins, TakeNoIncrementsForRoundingThatGrowEvenly) {
  for (const auto& [at, k] : std::initializer_list<std::pair<std::uint64_t, int>>{
           {14727398570297885098u, 59}, {18054082321272560231u, 38}, {18054082321272560240u, 47}, {3962023812499853975u, 44}}) {
    const Sample sample = pin_tree(at, 2 + k % 7, k % 4, k % 5 / 2, k % 3 == 2 ? 5e3 : 20);
    const ConstantLoad load(sample.load);
    const Drag drag;
    const Ride r = ride(sample.mechanism.spec, sample.model, sample.bodies, "conserving", kStep, 60, {&load, &drag});
    ASSERT_TRUE(r.verdict.ok()) << at << " " << name(r.verdict.status);
    EXPECT_LE(r.balance, 3e-14 * r.energy) << at;
  }
}

/// The pin on which all others hang, where there is only one.
const JointSpec* only_root(const ModelSpec& spec) {
  const auto grounded = [](const JointSpec& joint) { return joint.parent == "world"; };
  const auto first = std::find_if(spec.joints.begin(), spec.joints.end(), grounded);
  return std::count_if(spec.joints.begin(), spec.joints.end(), grounded) == 1 ? &*first : nullptr;
}

// About the root nothing turns a tree but its weight, which acts at the means of the centres. Tendons between its bodies turn
// nothing, whatever their sort.
TEST(Pins, GainTheMomentOfTheirWeightAboutTheRootInEveryStep) {
  int taken = 0;
  for (int k = 0; k < cases(20); ++k) {
    Drawn d = draw(11500, k);
    ModelSpec& spec = d.sample.mechanism.spec;
    const JointSpec* root = only_root(spec);
    std::erase_if(spec.tendons, [](const TendonSpec& t) {
      return std::any_of(t.points.begin(), t.points.end(), [](const PointSpec& p) { return p.body == "world"; });
    });
    if (root == nullptr) continue;
    ++taken;
    const Model model = build(spec);
    const Vec3 pin = root->at_parent.p;
    double size = 0;
    const auto about_root = [&](const Bodies& bodies) {
      double sum = 0, sizes = 0;
      for (std::size_t b = 0; b < bodies.size(); ++b) {
        const BodyState& s = bodies[b];
        const Inertia& inertia = model.bodies()[b].inertia;
        const Vec3 of_centre = inertia.mass * (s.p_WC - pin).cross(s.v_WC);
        const Vec3 spin = s.q_WB * (inertia.I_C * (s.q_WB.conjugate() * s.w_WB));
        sum += (of_centre + spin).z();
        // Places are known to rounding of their distance from the World's origin, not from the pin.
        sizes += inertia.mass * (s.p_WC.norm() + pin.norm()) * s.v_WC.norm() + inertia.I_C.norm() * s.w_WB.norm();
      }
      keep_largest(size, sizes);
      return sum;
    };
    Natural natural(model);
    System system(natural);
    State x;
    natural.set(d.sample.bodies, x);
    const auto integrator = std::move(*make_integrator("discrete_gradient"));
    Bodies before = d.sample.bodies, now;
    double worst = 0;
    const auto look = [&](double, double) {
      natural.bodies(x, now);
      double moment = 0;
      for (std::size_t b = 0; b < now.size(); ++b) {
        const Vec3 arm = 0.5 * (before[b].p_WC + now[b].p_WC) - pin;
        moment += arm.cross(model.bodies()[b].inertia.mass * model.gravity()).z();
      }
      if (integrator->report().substeps == 1)
        keep_largest(worst, std::abs(about_root(now) - about_root(before) - kStep * moment));
      before = now;
    };
    ASSERT_TRUE(march(spec, system, *integrator, 0, 40 * kStep, kStep, x, look).verdict.ok()) << d.what;
    // Each term is known to some roundings of its size.
    EXPECT_LE(worst, 1e-14 * size) << d.what;
  }
  EXPECT_GE(3 * taken, cases(20)) << "others stand on several pins";
}

// Angles with all their turns are those that the bodies show, but for whole turns. They are summed up over sixty steps, each good
// to 1e-13.
TEST(Pins, CountTheTurnsOfTheirOwnHinges) {
  for (int k = 0; k < cases(8); ++k) {
    const Drawn d = draw(11800, 3 * k);
    const Model& model = d.sample.model;
    Natural natural(model);
    System system(natural);
    State x;
    natural.set(d.sample.bodies, x);
    const auto integrator = std::move(*make_integrator("discrete_gradient"));
    ASSERT_TRUE(march(d.sample.mechanism.spec, system, *integrator, 0, 60 * kStep, kStep, x).verdict.ok()) << d.what;
    Bodies bodies;
    natural.bodies(x, bodies);
    VecX q(model.nq()), v(model.nv());
    joint_coordinates(model, bodies, q, v);
    for (const Joint& joint : model.joints())
      EXPECT_NEAR(std::remainder(x.wound[joint.v0] - q[joint.q0], 2 * std::acos(-1.0)), 0, 1e-11) << d.what;
  }
}

/// How many steps took more iterations than that once there were four to foretell them, and how many steps there were.
struct Late {
  long late = 0, steps = 0;
  void add(const Ride& r, int iterations) {
    late += std::count_if(r.iterations.begin() + 4, r.iterations.end(), [=](int n) { return n > iterations; });
    steps += static_cast<long>(r.iterations.size()) - 4;
  }
};

// With the derivatives of every term Newton squares its error: three iterations are enough at steps that turn bodies by some
// hundredths, but where one whips. With a wrong derivative errors shrink by the same factor in every iteration.
TEST(Pins, NewtonIsExactWithTendonsOverOnePin) {
  Late late;
  for (int k = 0; k < cases(24); ++k) {
    const Sample s = pin_tree(seed(11600) + static_cast<std::uint64_t>(k), 2 + k % 7, 3, 0);
    const Ride r = ride(s.mechanism.spec, s.model, s.bodies, "discrete_gradient", kStep, 60);
    ASSERT_TRUE(r.verdict.ok());
    late.add(r, 3);
  }
  EXPECT_LE(100 * late.late, late.steps) << late.late << " of " << late.steps;
}

// The same in space, where two are enough without tendons.
TEST(Trees, NewtonIsExactWithoutSprings) {
  Late late;
  for (int k = 0; k < cases(24); ++k) {
    MechanismOptions options{.bodies = 2 + k % 5, .mass_ratio = 10, .passive = false, .locked = false, .kinds = {}};
    options.floating = k % 4 == 3;
    const Sample s = natural_sample(seed(11700) + static_cast<std::uint64_t>(k), options, 0);
    const Ride r = ride(s.mechanism.spec, s.model, s.bodies, "discrete_gradient", kStep, 60);
    ASSERT_TRUE(r.verdict.ok());
    late.add(r, 2);
  }
  EXPECT_LE(100 * late.late, late.steps) << late.late << " of " << late.steps;
}

}  // namespace
}  // namespace invar::testing
