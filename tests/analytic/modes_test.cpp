// SPDX-License-Identifier: Apache-2.0
// Equilibria and modes against closed forms and against the motion itself.
#include "invar/mech/minimal/modes.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "invar/base/largest.hpp"
#include "invar/integrate/dopri5.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/equilibrium.hpp"
#include "invar/mech/natural.hpp"
#include "invar/model/joint/table.hpp"
#include "invar/run/start.hpp"
#include "support/campaign.hpp"
#include "support/flat_loops.hpp"
#include "support/march.hpp"
#include "support/moving_mechanisms.hpp"
#include "support/newton_euler.hpp"
#include "support/places.hpp"
#include "support/redescribed.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

/// Rods of 1 m and 1 kg hanging from each other on hinges about x.
ModelSpec rods(int count, double damping = 0) {
  ModelSpec spec;
  for (int i = 0; i < count; ++i) {
    BodySpec body;
    body.name = "rod" + std::to_string(i);
    body.inertia = solid_box(1, {1e-3, 1e-3, 1});
    body.inertia.p_BC = Vec3(0, 0, -0.5);
    spec.bodies.push_back(body);
    JointSpec joint;
    joint.name = "hinge" + std::to_string(i), joint.kind = JointKind::Revolute, joint.axis = Vec3::UnitX();
    joint.child = body.name;
    if (i > 0) joint.parent = spec.bodies[static_cast<std::size_t>(i - 1)].name, joint.at_parent.p = Vec3(0, 0, -1);
    if (damping > 0) joint.damping = {damping};
    spec.joints.push_back(joint);
  }
  return spec;
}

struct Resting {
  ModelSpec spec;
  Model model;
  Minimal minimal;
  State x;
  Equilibrium found;
  explicit Resting(const ModelSpec& s, const std::vector<double>& q = {}) : spec(s), model(build(s)), minimal(model) {
    JointState joints = JointState::initial(model);
    for (std::size_t i = 0; i < q.size(); ++i) joints.q[static_cast<Eigen::Index>(i)] = q[i];
    minimal.set(place(model, joints), x);
  }
  bool rest() {
    const Verdict verdict = find_equilibrium(minimal, Load(model), {}, x, found);
    EXPECT_TRUE(verdict.ok()) << name(verdict.status);
    return verdict.ok() && found.found;
  }
};

// ω² = m g l/2 / (m l²/3 + I of the thickness), in closed form to the digits of the inertia.
TEST(Modes, OfAPendulumHaveItsFrequency) {
  Resting p(rods(1), {1.9});
  ASSERT_TRUE(p.rest());
  EXPECT_NEAR(p.x.q[0], 0, 1e-12);
  EXPECT_EQ(p.found.stability, Stability::Stable);
  ASSERT_EQ(p.found.modes.modes.size(), 1u);
  const Mode& mode = p.found.modes.modes[0];
  const double I = p.model.bodies()[0].inertia.I_C(0, 0) + 0.25;
  EXPECT_NEAR(mode.value.imag(), std::sqrt(9.81 * 0.5 / I), 1e-12);
  EXPECT_EQ(mode.value.real(), 0);
  EXPECT_NEAR(mode.frequency(), std::sqrt(9.81 * 0.5 / I) / kTurn, 1e-12);
}

// M = [[J + 1, 1/2], [1/2, J]] in angles to the vertical, J = 1/3 + I; K = g diag(3/2, 1/2). The two values of ω² are roots of a
// quadratic equation.
TEST(Modes, OfADoublePendulumHaveItsFrequencies) {
  Resting p(rods(2), {0.7, -2.2});
  ASSERT_TRUE(p.rest());
  EXPECT_TRUE(p.found.modes.symmetric);
  const double J = p.model.bodies()[0].inertia.I_C(0, 0) + 0.25, g = 9.81;
  const double a = (J + 1) * J - 0.25, b = -((J + 1) * 0.5 * g + J * 1.5 * g), c = 0.75 * g * g;
  const double root = std::sqrt(b * b - 4 * a * c);
  ASSERT_EQ(p.found.modes.modes.size(), 2u);
  EXPECT_NEAR(p.found.modes.modes[0].value.imag(), std::sqrt((-b - root) / (2 * a)), 1e-11);
  EXPECT_NEAR(p.found.modes.modes[1].value.imag(), std::sqrt((-b + root) / (2 * a)), 1e-11);
  // In the slow one both rods swing to the same side, in the fast one against each other.
  EXPECT_GT((p.found.modes.modes[0].joints[1] / p.found.modes.modes[0].joints[0]).real(), 0);
  EXPECT_LT((p.found.modes.modes[1].joints[1] / p.found.modes.modes[1].joints[0]).real(), -1);
}

TEST(Modes, TellAnUprightPendulumFromAHangingOne) {
  Resting upright(rods(1), {std::numbers::pi});
  ASSERT_TRUE(upright.rest());
  EXPECT_EQ(upright.found.iterations, 0);
  EXPECT_EQ(upright.found.stability, Stability::Unstable);
  ASSERT_EQ(upright.found.modes.modes.size(), 2u);  // exp(±t/T), no pair
  EXPECT_NEAR(upright.found.modes.modes[1].value.real(), -upright.found.modes.modes[0].value.real(), 1e-12);
  Resting beside(rods(1), {std::numbers::pi - 1e-3});
  ASSERT_TRUE(beside.rest());
  EXPECT_EQ(beside.found.stability, Stability::Stable);
}

// s² I + s c + k = 0: real part -c/2I, modulus √(k/I).
TEST(Modes, OfADampedPendulumHaveItsDampingRatio) {
  Resting p(rods(1, 0.4), {0.3});
  ASSERT_TRUE(p.rest());
  EXPECT_FALSE(p.found.modes.symmetric);
  const double I = p.model.bodies()[0].inertia.I_C(0, 0) + 0.25, k = 9.81 * 0.5;
  ASSERT_EQ(p.found.modes.modes.size(), 1u);
  EXPECT_NEAR(p.found.modes.modes[0].damping_ratio(), 0.4 / (2 * std::sqrt(k * I)), 1e-12);
  EXPECT_NEAR(p.found.modes.modes[0].natural_frequency(), std::sqrt(k / I) / kTurn, 1e-12);
}

TEST(Equilibrium, IsRefusedWithTheFreedomThatNothingHolds) {
  ModelSpec spec = rods(1);
  BodySpec sled;
  sled.name = "sled", sled.inertia = solid_box(2, {0.1, 0.1, 0.1});
  JointSpec slope;
  slope.name = "slope", slope.kind = JointKind::Prismatic, slope.axis = Vec3(1, 0, -1).normalized(), slope.child = "sled";
  spec.bodies.push_back(sled), spec.joints.push_back(slope);
  Resting p(spec, {0.5, 0});
  EXPECT_FALSE(p.rest());
  EXPECT_EQ(p.found.freedom, "slope");
  EXPECT_NEAR(p.found.force, 2 * 9.81 / std::sqrt(2.0), 1e-9);
  // A stop holds it, by force over stiffness inside.
  spec.joints[1].limits = {{-0.5}, {0.5}, 1e4, 0};
  Resting held(spec, {0.5, 0});
  ASSERT_TRUE(held.rest());
  EXPECT_NEAR(held.x.q[1], 0.5 + 2 * 9.81 / std::sqrt(2.0) / 1e4, 1e-10);
}

// Two sliders on springs k, x and y, and a tendon of tension T + κ l that draws the mass over the distance l to a point of the
// World. With T above the pull of the springs there the mass ends at that point, where the tendon has no direction and nothing
// smooth is in balance: across the tendon it is as stiff as T/l, which must not excuse the force k |rest| - T that is missing
// along it. With T below it rests at rest·(1 - T/(k |rest|))·k/(k + κ).
TEST(Equilibrium, IsNotFoundWhereATendonDrawsItsEndsTogether) {
  for (int i = 0; i < cases(24); ++i) {
    Random random(seed(4150), static_cast<std::uint64_t>(i));
    const double k = random.uniform(50, 300), reach = random.uniform(0.2, 0.5), angle = random.uniform(0, kTurn);
    const Vec3 rest = reach * Vec3(std::cos(angle), std::sin(angle), 0);
    ModelSpec spec;
    spec.gravity.setZero();
    for (int axis = 0; axis < 2; ++axis) {
      BodySpec body;
      body.name = axis == 0 ? "cross" : "sled", body.inertia = solid_box(random.uniform(0.5, 2), {0.1, 0.1, 0.1});
      JointSpec slide;
      slide.name = axis == 0 ? "x" : "y", slide.kind = JointKind::Prismatic, slide.axis = Vec3::Unit(axis);
      slide.parent = axis == 0 ? "world" : "cross", slide.child = body.name;
      slide.spring.stiffness = {k}, slide.spring.rest = {rest[axis]};
      spec.bodies.push_back(body), spec.joints.push_back(slide);
    }
    TendonSpec tendon;
    tendon.name = "rope", tendon.points = {PointSpec{}, PointSpec{.body = "sled", .frame = {}}};
    const double share = i % 2 == 0 ? random.uniform(1.2, 3) : random.uniform(0.2, 0.8);
    tendon.stiffness = 20, tendon.length = 1, tendon.pretension = share * k * reach + tendon.stiffness;
    spec.tendons.push_back(tendon);
    Resting p(spec, {random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5)});
    const bool found = p.rest();
    EXPECT_EQ(found, share < 1) << i << ": " << share;
    EXPECT_EQ(p.found.tendon, share < 1 ? -1 : 0) << i << ": " << share;
    if (share < 1) {
      EXPECT_LE((p.x.q - (1 - share) * k / (k + tendon.stiffness) * rest.head<2>()).norm(), 1e-11) << i;
    }
  }
}

/// Bricard's linkage at rest, assembled with its first joint at an angle.
void assemble_at(double angle, Resting& r) {
  Start start(r.model);
  start.joints.q[0] = angle;
  start.named.assign(r.model.joints().size(), false);
  start.named[0] = true;
  start.joints.name(r.model, start.named);
  const auto x = state_at(r.minimal, start);
  ASSERT_TRUE(x) << angle << ": " << x.error().text();
  r.x = *x;
}

// By somebody who knows no charts, at bodies on their constraints: beside a turning point closures are met to √u only.
double largest_acceleration(Resting& r) {
  Augmented judge(r.model);
  Bodies bodies;
  r.minimal.bodies(r.x, bodies);
  const auto closed = make_consistent(r.model, bodies);
  EXPECT_TRUE(closed);
  State x;
  judge.set(*closed, x, r.x.wound);
  Evaluation e;
  EXPECT_TRUE(judge.evaluate(x, Load(r.model), e).ok());
  expect_newton_euler(r.spec, e, Load(r.model));
  double out = 0;
  for (const BodyAcceleration& a : e.accelerations) keep_largest(out, a.a_WC.norm());
  return out;
}

// A parallelogram whose coupler's spring would rather have it fold: flat, the forces of any freedom of a chart vanish with its
// rate, but the mechanism does not rest there. With a the angle of the cranks and b = -a that of the coupler's hinge, k (a + r) =
// W cos a.
TEST(Equilibrium, IsNotFoundInASingularConfigurationThatIsLeft) {
  auto spec = read_model_file(source_path("models/parallelogram.toml"));
  ASSERT_TRUE(spec) << spec.error().text();
  for (JointSpec& joint : spec->joints)
    if (joint.name == "b") joint.spring.stiffness = {20};
  int found = 0, all = 0;
  for (int i = 0; i < 12; ++i) {
    for (JointSpec& joint : spec->joints)
      if (joint.name == "b") joint.spring.rest = {0.05 + 0.01 * i};
    Resting r(*spec);
    ++all;
    if (!find_equilibrium(r.minimal, Load(r.model), {}, r.x, r.found).ok() || !r.found.found) continue;
    ++found;
    EXPECT_LT(largest_acceleration(r), 1e-6) << i;
  }
  EXPECT_GE(found, 1) << "of " << all;
}

/// A body that slides up and down on a spring.
void add_sled(ModelSpec& spec, const std::string& name, double mass, double stiffness) {
  BodySpec body;
  body.name = name, body.inertia = solid_box(mass, {1, 1, 1});
  JointSpec slide;
  slide.name = name + "_slide", slide.kind = JointKind::Prismatic, slide.child = name;
  slide.spring.stiffness = {stiffness}, slide.spring.rest = {mass * kG / stiffness};
  spec.bodies.push_back(body), spec.joints.push_back(slide), spec.initial[slide.name] = {0};
}

// The same mechanism of a few grams, on a frame of a ton that rests on a spring, beside a mass on another one: what those weigh,
// and how stiff they are, does not excuse it. Falling links accelerate by their springs and weights, several m/s²; what may be
// left at rest is 1e-5 of that, in the mean over the bodies.
TEST(Equilibrium, IsNotFoundWhereALightMechanismFallsOnAHeavyOne) {
  int found = 0;
  for (int i = 0; i < cases(16); ++i) {
    Random random(seed(4160), static_cast<std::uint64_t>(i));
    auto spec = read_model_file(source_path("models/parallelogram.toml"));
    ASSERT_TRUE(spec) << spec.error().text();
    const double ratio = std::pow(10.0, random.uniform(-3, -1.5));
    for (BodySpec& body : spec->bodies) body.inertia.mass *= ratio, body.inertia.I_C *= ratio;
    for (JointSpec& joint : spec->joints) {
      if (joint.parent == "world") joint.parent = "frame";
      if (joint.name == "b") joint.spring.stiffness = {20 * ratio}, joint.spring.rest = {random.uniform(0.05, 0.2)};
    }
    add_sled(*spec, "frame", random.uniform(100, 2000), std::pow(10.0, random.uniform(4, 7)));
    add_sled(*spec, "beside", random.uniform(100, 2000), std::pow(10.0, random.uniform(4, 7)));
    Resting r(*spec);
    if (!find_equilibrium(r.minimal, Load(r.model), {}, r.x, r.found).ok() || !r.found.found) continue;
    ++found;
    EXPECT_LT(largest_acceleration(r), 1e-3) << i << ", " << ratio;
  }
  EXPECT_GE(12 * found, cases(16));
}

// Trees on springs have a least energy, whatever they weigh: masses of 1 : 1e5, springs of 1 to 1e7 N/m. Where the search gets
// there (balls on stiff springs may be turned by too much) it rests.
TEST(Equilibrium, IsFoundWhereHeavyAndLightAndStiffRestTogether) {
  int found = 0;
  for (int i = 0; i < cases(24); ++i) {
    const std::uint64_t at = seed(4170) + static_cast<std::uint64_t>(i);
    Random random(at);
    Mechanism m =
        random_mechanism(random, {.bodies = 3, .loops = 0, .mass_ratio = 5, .passive = false, .locked = false, .kinds = {}});
    for (JointSpec& joint : m.spec.joints)
      joint.spring.stiffness.assign(static_cast<std::size_t>(freedoms(joint.kind)), std::pow(10.0, random.uniform(0, 7)));
    for (BodySpec& body : m.spec.bodies) {
      const double by = std::pow(10.0, random.uniform(-3, 2));
      body.inertia.mass *= by, body.inertia.I_C *= by;
    }
    Resting r(m.spec);
    r.minimal.set(at_rest(r.model, m.X_WB), r.x);
    const Verdict verdict = find_equilibrium(r.minimal, Load(r.model), {}, r.x, r.found);
    const std::string what = "seed " + std::to_string(at) + ": " + describe(m.spec) + ", " + r.found.freedom;
    ASSERT_TRUE(verdict.ok()) << what << ": " << name(verdict.status);
    EXPECT_FALSE(r.found.stuck) << what << ": " << r.found.force;
    found += r.found.found;
  }
  EXPECT_GE(4 * found, 3 * cases(24));
}

// What cannot move rests, whatever a cable between points that coincide would do.
TEST(Equilibrium, OfWhatCannotMoveIsThere) {
  ModelSpec spec = rods(2);
  for (JointSpec& joint : spec.joints) joint.kind = JointKind::Fixed;
  TendonSpec tendon;
  tendon.name = "cable", tendon.stiffness = 100, tendon.length = 0.5, tendon.pretension = 3;
  PointSpec on_first{.body = "rod0", .frame = {}}, on_second{.body = "rod1", .frame = {}};
  on_first.p = {0, 0, -1};
  tendon.points = {on_first, on_second};
  spec.tendons.push_back(tendon);
  Resting r(spec);
  ASSERT_TRUE(r.rest());
  EXPECT_EQ(r.found.tendon, -1);
  EXPECT_TRUE(r.found.freedom.empty());
}

// A cable that is led through a hinge, its point there given on both links: nothing separates those two, and it pulls as if they
// were one.
TEST(Equilibrium, IsFoundWithACableThroughAHinge) {
  for (int i = 0; i < cases(12); ++i) {
    Random random(seed(4180), static_cast<std::uint64_t>(i));
    ModelSpec spec = rods(2);
    TendonSpec tendon;
    tendon.name = "cable", tendon.stiffness = random.uniform(5, 50), tendon.length = 1, tendon.pretension = random.uniform(1, 9);
    PointSpec top, on_first{.body = "rod0", .frame = {}}, on_second{.body = "rod1", .frame = {}}, end = on_second;
    top.p = {random.uniform(-0.3, 0.3), random.uniform(0.3, 1), random.uniform(-0.3, 0.3)};
    on_first.p = {0, 0, -1}, end.p = {0, random.uniform(-0.1, 0.1), random.uniform(-1, -0.4)};
    tendon.points = {top, on_first, end};
    spec.tendons = {tendon};
    const std::vector<double> from = {random.uniform(-1, 1), random.uniform(-1, 1)};
    Resting once(spec, from);
    spec.tendons[0].points = {top, on_first, on_second, end};
    Resting twice(spec, from);
    ASSERT_TRUE(once.rest()) << i;
    ASSERT_TRUE(twice.rest()) << i << ": tendon " << twice.found.tendon;
    EXPECT_LE((once.x.q - twice.x.q).norm(), 1e-11) << i;
  }
}

// A truss that lies flat bears loads across it to second order only: no reactions balance them there, and nothing moves.
TEST(Equilibrium, OfATrussThatLiesFlatIsRefusedAtOnceWithItsLoops) {
  for (int i = 0; i < cases(4); ++i) {
    Random random(seed(4190), static_cast<std::uint64_t>(i));
    constexpr const char* hinges[] = {"a", "b", "d", "knee"};
    ModelSpec spec = flat_loop(random, 0).spec;
    for (const char* hinge : hinges) spec.initial[hinge] = {0};
    const char* locked = hinges[random.below(4)];
    for (JointSpec& joint : spec.joints)
      if (joint.name == locked) joint.locked = true;
    Resting r(spec);
    ASSERT_TRUE(find_equilibrium(r.minimal, Load(r.model), {}, r.x, r.found).ok()) << locked;
    EXPECT_FALSE(r.found.found) << locked;
    EXPECT_TRUE(r.found.held) << locked;
    EXPECT_LE(r.found.iterations, 2) << locked;
    ASSERT_GE(r.found.stopped.joint, 0) << locked;
  }
}

// Weight and rigid links in a bounded space: the energy has a minimum, and the descent has to get there, whichever freedoms
// describe it on the way. What is left is what LeavesNoAcceleration below allows for masses near 1 kg.
TEST(Equilibrium, OfALinkageIsFoundFromEverywhereAcrossChartsAndLeavesNoAcceleration) {
  for (const double angle : {-2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0}) {
    Resting r(shipped("bricard").spec);
    assemble_at(angle, r);
    ASSERT_TRUE(r.rest()) << angle << ": " << name(r.found.stopped.status) << " after " << r.found.iterations;
    EXPECT_EQ(r.found.stability, Stability::Stable) << angle;
    EXPECT_LE(largest_acceleration(r), 1e-8) << angle;
  }
}

// A freedom that was named and that turns back on the way down: forces on it and their derivatives grow without bound there,
// but the linkage does not rest, and the descent goes on with another freedom.
TEST(Equilibrium, IsFoundPastWhereANamedFreedomTurnsBack) {
  auto spec = read_model_file(source_path("models/bricard.toml"));
  ASSERT_TRUE(spec);
  for (JointSpec& joint : spec->joints) joint.independent = joint.name == "j3";
  for (const double angle : {-2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0}) {
    Resting r(*spec);
    assemble_at(angle, r);
    ASSERT_TRUE(r.rest()) << angle << ": " << name(r.found.stopped.status) << " after " << r.found.iterations;
    EXPECT_EQ(r.found.stability, Stability::Stable) << angle;
    EXPECT_LE(largest_acceleration(r), 1e-8) << angle;
  }
}

/// A drawn mechanism on springs, with no damping, friction or stops; loops where asked.
Mechanism on_springs(std::uint64_t at, int loops, bool damped) {
  Random random(at);
  MechanismOptions options{
      .bodies = loops > 0 ? 6 : 3, .loops = loops, .mass_ratio = 5, .passive = false, .locked = false, .kinds = {}};
  if (loops > 0) options.kinds = {JointKind::Revolute, JointKind::Spherical, JointKind::Universal, JointKind::Cylindrical};
  Mechanism m = random_mechanism(random, options);
  for (JointSpec& joint : m.spec.joints) {
    const auto nv = static_cast<std::size_t>(freedoms(joint.kind));
    joint.spring.stiffness.assign(nv, 40 + 60 * random.uniform(0, 1));
    if (damped) joint.damping.assign(nv, 0.1 + random.uniform(0, 1));
  }
  return m;
}

template <class F>
void for_resting(int usual, std::uint64_t start, bool damped, F&& f) {
  int seen = 0, lost = 0;
  for (int k = 0; k < cases(usual); ++k) {
    const std::uint64_t at = seed(start) + static_cast<std::uint64_t>(k);
    const Mechanism m = on_springs(at, k % 2, damped);
    Resting r(m.spec);
    r.minimal.set(at_rest(r.model, m.X_WB), r.x);
    const std::string what = "seed " + std::to_string(at) + ": " + describe(m.spec);
    const Verdict verdict = find_equilibrium(r.minimal, Load(r.model), {}, r.x, r.found);
    // A tree on springs has a minimum of energy, and nothing bars the way. Loops may lock, or become singular, on it.
    if (k % 2 == 0) {
      ASSERT_TRUE(verdict.ok() && r.found.found) << what << ": " << name(verdict.status) << ", " << r.found.freedom;
    }
    if (!verdict.ok() || !r.found.found) {
      ++lost;
      continue;
    }
    ++seen;
    f(r, m, what);
  }
  EXPECT_LE(4 * lost, seen) << lost << " not found";
}

// What is left is rounding of forces near 1e2 on masses near 1: 1e-9 m/s² or rad/s² where bodies are light.
TEST(Equilibrium, LeavesNoAccelerationInAnyFormulation) {
  for_resting(24, 4100, false, [](Resting& r, const Mechanism&, const std::string& what) {
    Bodies bodies;
    r.minimal.bodies(r.x, bodies);
    std::vector<std::unique_ptr<Formulation>> all;
    all.push_back(std::make_unique<Minimal>(r.model));
    all.push_back(std::make_unique<Augmented>(r.model));
    if (natural_objection(r.model).empty()) all.push_back(std::make_unique<Natural>(r.model));
    double lightest = 1;
    for (const Body& body : r.model.bodies()) lightest = std::min(lightest, body.inertia.mass);
    for (const auto& formulation : all) {
      State x;
      formulation->set(bodies, x, r.x.wound);
      Evaluation e;
      ASSERT_TRUE(formulation->evaluate(x, Load(r.model), e).ok()) << what;
      expect_newton_euler(r.spec, e, Load(r.model));
      for (const BodyAcceleration& a : e.accelerations) {
        EXPECT_LE(a.a_WC.norm(), 1e-8 / lightest) << what;
        EXPECT_LE(a.alpha_WB.norm(), 1e-7 / lightest) << what;
      }
    }
    EXPECT_NE(r.found.stability, Stability::Unstable) << what;
  });
}

TEST(Modes, WithoutDampingAreImaginaryAndWithDampingDecay) {
  for_resting(16, 4200, false, [](Resting& r, const Mechanism&, const std::string& what) {
    EXPECT_TRUE(r.found.modes.symmetric) << what;
    for (const Mode& mode : r.found.modes.modes)
      if (!r.found.modes.is_zero(mode)) {
        EXPECT_EQ(mode.value.real(), 0) << what;
      }
  });
  for_resting(16, 4300, true, [](Resting& r, const Mechanism&, const std::string& what) {
    for (const Mode& mode : r.found.modes.modes) EXPECT_LE(mode.value.real(), 1e-9 * r.found.modes.largest) << what;
  });
}

// Held by nothing, it moves as a rigid body in six ways without a frequency; whatever its size is, shapes are of order one.
TEST(Modes, OfAFloatingChainAreSixWithoutFrequencyAndTheOthersOscillate) {
  ModelSpec spec = rods(4);
  spec.gravity.setZero();
  spec.joints.erase(spec.joints.begin());
  for (std::size_t i = 0; i < spec.joints.size(); ++i) {
    spec.joints[i].axis = Vec3(1, 0.3 * static_cast<double>(i), 0.2).normalized();
    spec.joints[i].spring.stiffness = {30};
    spec.joints[i].spring.rest = {0.4};
  }
  Resting r(spec, {0.3, -0.2, 0.9});
  ASSERT_TRUE(r.rest());
  ASSERT_TRUE(r.found.modes.symmetric);
  const std::size_t freedoms = r.minimal.tree().independent().size();
  ASSERT_EQ(r.found.modes.modes.size(), freedoms);
  for (std::size_t i = 0; i < freedoms; ++i) {
    const Mode& mode = r.found.modes.modes[i];
    EXPECT_EQ(mode.value == 0.0, i < 6) << i << ": " << mode.value;
    EXPECT_EQ(r.found.modes.is_zero(mode), i < 6) << i;
    // Every freedom of the model, and of the floating body in metres and radians.
    const double length = std::max(1.0, r.model.length()) * (1 + 1e-9);
    EXPECT_LE(mode.joints.cwiseAbs().maxCoeff(), length) << i;
    EXPECT_LE(mode.shape.cwiseAbs().maxCoeff(), length) << i;
    EXPECT_GE(mode.shape.cwiseAbs().maxCoeff(), 0.1 * std::min(1.0, r.model.length())) << i;
  }
}

std::vector<double> sizes(const Modes& modes) {
  std::vector<double> out;
  for (const Mode& mode : modes.modes) out.push_back(std::abs(mode.value));
  std::sort(out.begin(), out.end());
  return out;
}

// K and Γ carry rounding of some 1e-13 of their largest entries, so do the squares of frequencies; 1e-9 leaves room for the
// conditions of Γ and of the closures.
void expect_same(const std::vector<double>& a, const std::vector<double>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i] * a[i], b[i] * b[i], 1e-9 * a.back() * a.back()) << what;
}

// Other freedoms are other coordinates of the same motion.
TEST(Modes, DoNotDependOnTheChoiceOfFreedomsNorOnTheWorld) {
  for_resting(20, 4400, false, [](Resting& r, const Mechanism& m, const std::string& what) {
    const std::vector<double> mine = sizes(r.found.modes);
    // All dependent freedoms of the model wanted as independent ones, as far as that goes.
    std::vector<int> wanted;
    for (const int d : r.minimal.tree().dependent())
      if (const int f = r.minimal.tree().freedom_of_model(d); f >= 0) wanted.push_back(f);
    Bodies bodies;
    r.minimal.bodies(r.x, bodies);
    JointTree other(r.model, wanted);
    VecX q, v;
    other.measure(bodies, r.x.wound, q, v);
    ASSERT_TRUE(other.choose(q).ok()) << what;
    Linear linear;
    if (linearize(other, q, 0 * v, r.x.wound, Load(r.model), linear).ok() && other.condition() > 1e-4) {
      expect_same(mine, sizes(modes_of(other, linear)), what + ", other freedoms");
    }
    // Seen from another World, or with bodies and joints in another order.
    Random random(3);
    const Sample here{m, r.model, bodies, Load(r.model)};
    for (const Redescribed& d : {in_another_world(here, random), in_another_order(here, random)}) {
      const Model model = build(d.spec);
      Minimal minimal(model);
      State x;
      minimal.set(d.bodies, x);
      Linear there;
      ASSERT_TRUE(linearize(minimal.tree(), x.q, x.v, x.wound, Load(model), there).ok()) << what;
      expect_same(mine, sizes(modes_of(minimal.tree(), there)), what + ", redescribed");
    }
  });
}

// The motion that starts in a mode stays in it: q(t) = ε shape cos(ωt), up to ε² of nonlinearity and the integrator's 1e-12.
TEST(Modes, AreFollowedByASmallFreeMotion) {
  int seen = 0;
  for_resting(8, 4500, false, [&](Resting& r, const Mechanism&, const std::string& what) {
    for (const Mode& mode : r.found.modes.modes) {
      if (r.found.modes.is_zero(mode) || mode.value.real() != 0) continue;
      constexpr double e = 1e-5;
      Linear linear;
      ASSERT_TRUE(linearize(r.minimal.tree(), r.x.q, r.x.v, r.x.wound, Load(r.model), linear).ok());
      const VecX u = e * (linear.balance.E * mode.shape.real());
      State x = r.x;
      r.minimal.retract(r.x, u, x);
      ASSERT_TRUE(r.minimal.settle(x).ok()) << what;
      System system(r.minimal);
      const double end = 0.4 * kTurn / mode.value.imag();
      ErrorControl tight;
      tight.relative_tolerance = tight.position_tolerance = tight.velocity_tolerance = tight.auxiliary_tolerance = 1e-13;
      Dopri5 method(tight);
      if (!march(r.spec, system, method, 0, end, end, x).verdict.ok()) continue;
      // Rates of the independent freedoms say it without charts: -ε ω shape sin(ωt).
      double off = 0, size = 0;
      for (std::size_t i = 0; i < r.minimal.tree().independent().size(); ++i) {
        const double want = -e * mode.value.imag() * mode.shape[static_cast<Eigen::Index>(i)].real() * std::sin(0.4 * kTurn);
        keep_largest(size, std::abs(e * mode.value.imag() * mode.shape[static_cast<Eigen::Index>(i)].real()));
        keep_largest(off, std::abs(x.v[r.minimal.tree().independent()[i]] - want));
      }
      ++seen;
      EXPECT_LE(off, 1e-3 * size + 1e-10) << what;
    }
  });
  EXPECT_GE(seen, 10);
}

}  // namespace
}  // namespace invar::testing
