// SPDX-License-Identifier: Apache-2.0
//
// Actuators and the allocation of commands to them, on drawn mechanisms with every kind of joint, loops and rotors.
#include <gtest/gtest.h>

#include "invar/control/allocation.hpp"
#include "invar/control/controller.hpp"
#include "support/campaign.hpp"
#include "support/redescribed.hpp"

namespace invar::testing {
namespace {

using Kind = ActuatorSpec::Kind;

/// Draws a mechanism with a frame "f<k>" on each body. Links without mass are left out: a wrench on one has no answer.
Sample drawn(std::uint64_t seed, int k, bool trees = false) {
  MechanismOptions options;
  options.bodies = 2 + k % 5;
  options.loops = !trees && k % 3 == 2 ? 1 : 0;
  options.floating = !trees && k % 5 == 3;
  options.couplings = !trees && k % 4 == 1 ? 1 : 0;
  options.mass_ratio = 30;
  Sample s = random_sample(seed, options);
  Random random(seed, 7);
  for (std::size_t b = 0; b < s.mechanism.spec.bodies.size(); ++b)
    s.mechanism.spec.frames.push_back({"f" + std::to_string(b), s.mechanism.spec.bodies[b].name, random_pose(random, 0.3), {}});
  s.model = build(s.mechanism.spec);
  return s;
}

ActuatorSpec motor(const Joint& joint, int freedom) {
  ActuatorSpec a;
  a.joint = joint.name, a.freedom = freedom;
  return a;
}

std::vector<ActuatorSpec> all_motors(const Model& model) {
  std::vector<ActuatorSpec> out;
  for (const Joint& joint : model.joints())
    for (int k = 0; k < joint.nv; ++k) out.push_back(motor(joint, k));
  return out;
}

/// Actuators of all kinds, with names of their own; no direction in World axes and no point on the ground, which another World
/// would have to move.
std::vector<ActuatorSpec> draw_actuators(Random& random, const Model& model) {
  std::vector<ActuatorSpec> out;
  for (const ActuatorSpec& a : all_motors(model))
    if (random.chance(0.4)) out.push_back(a);
  const int bodies = static_cast<int>(model.bodies().size());
  for (int k = 0; k < 4; ++k) {
    ActuatorSpec a;
    a.name = "drawn " + std::to_string(k);
    const int b = random.below(bodies), c = (b + 1 + random.below(bodies - 1)) % bodies;
    if (k == 0) {
      a.kind = Kind::Cylinder;
      a.points = {{model.body_name(b), "", random_vector(random, 0.3)},
                  {"", "f" + std::to_string(c), random_vector(random, 0.1)}};
    } else {
      a.kind = k == 1 ? Kind::Force : Kind::Thruster;
      a.frame = "f" + std::to_string(b);
      a.direction = random_vector(random, 1);
    }
    out.push_back(a);
  }
  return out;
}

std::vector<Actuator> built(const Model& model, const std::vector<ActuatorSpec>& specs) {
  auto out = build_actuators(model, specs);
  if (!out) ADD_FAILURE() << out.error().text();
  return out ? *out : std::vector<Actuator>{};
}

Load load_of(const Model& model, const Bodies& bodies, const std::vector<Actuator>& actuators, const VecX& inputs) {
  Load load(model);
  for (std::size_t i = 0; i < actuators.size(); ++i) actuators[i].add(bodies, inputs[static_cast<Eigen::Index>(i)], load);
  return load;
}

Load minus(Load a, const Load& b) {
  for (std::size_t k = 0; k < a.port.size(); ++k) a.port[k] -= b.port[k];
  a.efforts -= b.efforts;
  return a;
}

// The work of a load along a field of accelerations.
double work(ConstrainedInverse& A, const Load& load, const Field& w) {
  VecX rates = VecX::Zero(A.model().nv());
  A.rates(w.x, rates);
  double sum = load.efforts.dot(rates);
  for (std::size_t b = 0; b < load.port.size(); ++b)
    sum += load.port[b].force.dot(w.x[b].a_WC) + load.port[b].moment.dot(w.x[b].alpha_WB);
  return sum;
}

// sqrt(wᵀ M w), rotors included.
double kinetic_size(const ConstrainedInverse& A, const Field& w) {
  VecX rates = VecX::Zero(A.model().nv());
  A.rates(w.x, rates);
  double sum = 0;
  for (std::size_t b = 0; b < w.x.size(); ++b) {
    const Inertia& i = A.model().bodies()[b].inertia;
    const Vec3 turn = A.bodies()[b].q_WB.conjugate() * w.x[b].alpha_WB;
    sum += i.mass * w.x[b].a_WC.squaredNorm() + turn.dot(i.I_C * turn);
  }
  for (const Joint& joint : A.model().joints())
    for (int k = 0; k < joint.nv; ++k)
      sum += joint.passive[static_cast<std::size_t>(k)].armature * std::pow(rates[joint.v0 + k], 2);
  return std::sqrt(sum);
}

// Both answers come from solves whose round-off is below 1e-12 on trees (see expect_agreement) and 8 u cond(K) with loops, some
// 1e-10; inputs come from products of such accelerations, made worse by how much motors resemble each other, but what they do
// together is corrected by the iteration.
TEST(Allocation, MotorsOnAllFreedomsDoWhatTheCommandDoes) {
  int judged = 0;
  for (int k = 0; k < cases(90); ++k) {
    const Sample s = drawn(seed(600) + static_cast<std::uint64_t>(k), k, k % 5 == 3);
    Random random(601, static_cast<std::uint64_t>(k));
    const Load wanted = random_load(random, s.model);
    Allocation allocation(s.model, built(s.model, all_motors(s.model)));
    if (!allocation.solve(s.bodies, wanted).ok()) continue;
    ++judged;
    EXPECT_LT(allocation.relative_remainder(), 1e-9) << k << ": " << describe(s.mechanism.spec);
    const Load motors = load_of(s.model, s.bodies, allocation.actuators(), allocation.inputs());
    const Answer a = solved(s.mechanism.spec, s.model, s.bodies, wanted, "command"),
                 b = solved(s.mechanism.spec, s.model, s.bodies, motors, "motors");
    EXPECT_LT(differences(s.model, wanted, b, a).acceleration, 1e-9) << k << ": " << describe(s.mechanism.spec);
  }
  EXPECT_GT(judged, cases(90) * 9 / 10);
}

// The objective in scaled unknowns x_i = |b_i| u_i is |τ|² - 2 cᵀx + xᵀGx with ones on the diagonal of G, so its slopes have the
// size of |τ|; solves leave 1e-12 of them, loops 1e-10, and the last step of the iteration 1e-10 of an input.
TEST(Allocation, IsTheMinimumWithinLimits) {
  int judged = 0, at_limits = 0, inside = 0;
  for (int k = 0; k < cases(120); ++k) {
    const Sample s = drawn(seed(610) + static_cast<std::uint64_t>(k), k);
    Random random(611, static_cast<std::uint64_t>(k));
    const Load wanted = random_load(random, s.model);
    auto specs = draw_actuators(random, s.model);
    const double size = 4 * s.model.mean_mass();
    for (ActuatorSpec& a : specs) {
      if (random.chance(0.7)) a.upper = size * random.unit();
      if (random.chance(0.7)) a.lower = a.kind == Kind::Thruster ? 0 : -size * random.unit();
    }
    Allocation allocation(s.model, built(s.model, specs));
    if (!allocation.solve(s.bodies, wanted).ok()) continue;
    ++judged;
    const auto& actuators = allocation.actuators();
    const VecX& u = allocation.inputs();
    ConstrainedInverse A(s.model);
    ASSERT_TRUE(A.at(s.bodies).ok());
    const Load rest = minus(wanted, load_of(s.model, s.bodies, actuators, u));
    Field w(s.model), a(s.model);
    ASSERT_TRUE(A.apply(&rest.port, &rest.efforts, w).ok());
    for (std::size_t i = 0; i < actuators.size(); ++i) {
      const auto index = static_cast<Eigen::Index>(i);
      const ActuatorSpec& spec = actuators[i].spec();
      EXPECT_GE(u[index], spec.lower);
      EXPECT_LE(u[index], spec.upper);
      const Load unit = load_of(s.model, s.bodies, {actuators[i]}, VecX::Ones(1));
      ASSERT_TRUE(A.apply(&unit.port, &unit.efforts, a).ok());
      if (!allocation.acts(static_cast<int>(i))) continue;
      const double slope = -work(A, unit, w) / std::sqrt(work(A, unit, a));
      const double bound = 1e-9 * (allocation.commanded() + std::sqrt(s.model.mean_mass()));
      const bool low = u[index] == spec.lower, high = u[index] == spec.upper;
      EXPECT_LT(low ? 0 : slope, bound) << k << " " << i << ": " << describe(s.mechanism.spec);
      EXPECT_GT(high ? 0 : slope, -bound) << k << " " << i << ": " << describe(s.mechanism.spec);
      ++(low || high ? at_limits : inside);
    }
    // And what it says is left is what is left.
    EXPECT_NEAR(allocation.remainder(), kinetic_size(A, w), 1e-8 * (allocation.commanded() + std::sqrt(s.model.mean_mass())))
        << k << ": " << describe(s.mechanism.spec);
  }
  EXPECT_GT(judged, cases(120) * 8 / 10);
  EXPECT_GT(at_limits, judged) << "limits were hardly ever met";
  EXPECT_GT(inside, judged);
}

// One more is never worse, up to what the iteration leaves: 1e-10 of the command.
TEST(Allocation, OneActuatorMoreNeverLeavesMore) {
  for (int k = 0; k < cases(40); ++k) {
    const Sample s = drawn(seed(620) + static_cast<std::uint64_t>(k), k);
    Random random(621, static_cast<std::uint64_t>(k));
    const Load wanted = random_load(random, s.model);
    auto specs = draw_actuators(random, s.model);
    for (ActuatorSpec& a : specs) a.upper = 2 * s.model.mean_mass();
    double before = std::numeric_limits<double>::infinity(), first = 0;
    for (std::size_t n = 0; n <= specs.size(); ++n) {
      Allocation allocation(s.model, built(s.model, {specs.begin(), specs.begin() + static_cast<long>(n)}));
      if (!allocation.solve(s.bodies, wanted).ok()) break;
      EXPECT_LE(allocation.remainder(), before + 1e-10 * allocation.commanded()) << k << " " << n;
      if (n == 0) first = allocation.remainder();
      before = allocation.remainder();
    }
    EXPECT_LE(before, first);
  }
}

// A rounding of the inputs of solves is 1e-12 of the accelerations; inputs of actuators that do nearly the same differ by that
// over the least eigenvalue of G, so that what they do together is compared where single inputs are not.
TEST(Allocation, IsTheSameInEveryWorld) {
  int judged = 0;
  for (int k = 0; k < cases(40); ++k) {
    Sample s = drawn(seed(630) + static_cast<std::uint64_t>(k), k);
    Random random(631, static_cast<std::uint64_t>(k));
    s.load = random_load(random, s.model);
    auto specs = draw_actuators(random, s.model);
    for (ActuatorSpec& a : specs) a.upper = 3 * s.model.mean_mass();
    const Redescribed other = in_another_world(s, random);
    const Model moved = build(other.spec);
    Allocation here(s.model, built(s.model, specs)), there(moved, built(moved, specs));
    const Verdict a = here.solve(s.bodies, s.load), b = there.solve(other.bodies, other.load);
    ASSERT_EQ(a.ok(), b.ok());
    if (!a.ok()) continue;
    ++judged;
    const double scale = here.commanded() + std::sqrt(s.model.mean_mass());  // accelerations of 1 m/s² at least
    EXPECT_NEAR(here.commanded(), there.commanded(), 1e-9 * scale) << k;
    EXPECT_NEAR(here.remainder(), there.remainder(), 1e-8 * scale) << k;
    // |B (u - u')| of the difference, in the measure of the allocation.
    const Load difference = load_of(s.model, s.bodies, here.actuators(), here.inputs() - there.inputs());
    Allocation measure(s.model, {});
    ASSERT_TRUE(measure.solve(s.bodies, difference).ok());
    EXPECT_LT(measure.remainder(), 1e-7 * scale) << k << ": " << describe(s.mechanism.spec);
  }
  EXPECT_GT(judged, cases(40) * 8 / 10);
}

// Units of forces and moments are mixed: an input that counts with what it does alone is the same in all of them.
TEST(Allocation, SharesEquallyBetweenThrustersSideBySideWhateverTheOrder) {
  ModelSpec spec;
  spec.bodies.push_back({"hull", solid_box(3, {1, 1, 1}), {}, {}});
  for (const char* name : {"a", "b", "c"}) spec.frames.push_back({name, "hull", {Quat::Identity(), Vec3(0.2, 0, 0)}, {}});
  const Model model = build(spec);
  std::vector<ActuatorSpec> specs(3);
  for (int i = 0; i < 3; ++i) specs[i].kind = Kind::Thruster, specs[i].frame = spec.frames[static_cast<std::size_t>(i)].name;
  Allocation allocation(model, built(model, specs));
  Load wanted(model);
  wanted.port[0].force = Vec3(6, 0, 0);
  ASSERT_TRUE(allocation.solve(Bodies(1), wanted).ok());
  // What moves nothing is fixed to round-off over ε = 1e-9 only.
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(allocation.inputs()[i], 2, 1e-5);
  EXPECT_NEAR(allocation.inputs().sum(), 6, 1e-12);
  wanted.port[0].force = Vec3(-6, 0, 0);
  ASSERT_TRUE(allocation.solve(Bodies(1), wanted).ok());
  EXPECT_EQ(allocation.inputs(), VecX::Zero(3)) << "thrusters only push";
  EXPECT_NEAR(allocation.relative_remainder(), 1, 1e-12);
  EXPECT_GT(allocation.excess(0), 1);
}

TEST(Allocation, LimitsThatCostNoMotionAreNotComplainedOf) {
  ModelSpec spec;
  spec.bodies.push_back({"hull", solid_box(3, {1, 1, 1}), {}, {}});
  spec.frames.push_back({"bow", "hull", {Quat::Identity(), Vec3(0.5, 0, 0)}, {}});
  const Model model = build(spec);
  std::vector<ActuatorSpec> specs(2);
  for (auto& a : specs) a.kind = Kind::Thruster, a.frame = "bow";
  specs[0].name = "ahead";
  specs[1].name = "astern", specs[1].direction = Vec3(-1, 0, 0);
  Allocation allocation(model, built(model, specs));
  Load wanted(model);
  wanted.port[0].force = Vec3(-5, 0, 0);
  ASSERT_TRUE(allocation.solve(Bodies(1), wanted).ok());
  EXPECT_LT(allocation.relative_remainder(), 1e-12);
  EXPECT_NEAR(allocation.inputs()[1], 5, 1e-12);
  EXPECT_EQ(allocation.excess(0), 0) << "the pair would rather pull with one, but need not";
}

TEST(Allocation, WhatJointsHoldIsNoRemainder) {
  // A pendulum at rest below its hinge: carrying its weight moves nothing, and a motor need do nothing about it.
  ModelSpec spec;
  spec.bodies.push_back({"bob", solid_sphere(2, 0.1), {}, {}});
  JointSpec hinge;
  hinge.name = "hinge", hinge.kind = JointKind::Revolute, hinge.child = "bob", hinge.axis = Vec3::UnitY();
  hinge.at_child.p = Vec3(0, 0, 0.7);
  spec.joints.push_back(hinge);
  const Model model = build(spec);
  Bodies bodies(1);
  bodies[0].p_WC = Vec3(0, 0, -0.7);
  Load wanted(model);
  wanted.port[0].force = Vec3(1e-17, 0, 2 * 9.81);
  for (const auto& specs : {std::vector<ActuatorSpec>{}, all_motors(model)}) {
    Allocation allocation(model, built(model, specs));
    ASSERT_TRUE(allocation.solve(bodies, wanted).ok());
    EXPECT_LT(allocation.relative_remainder(), 1e-9);
  }
}

TEST(Actuator, AThrusterTurnsWithItsFrameAndAForceInWorldAxesDoesNot) {
  Random random(640);
  for (int k = 0; k < cases(20); ++k) {
    const Sample s = drawn(seed(641) + static_cast<std::uint64_t>(k), k);
    ActuatorSpec spec;
    spec.kind = Kind::Thruster, spec.frame = "f0", spec.direction = random_vector(random, 2);
    const auto body = static_cast<std::size_t>(s.model.frames()[0].body);
    const Pose& X_BE = s.model.frames()[0].X_BE;
    const Actuator local = built(s.model, {spec})[0];
    spec.axes = Axes::World;
    const Actuator fixed = built(s.model, {spec})[0];
    Bodies bodies = s.bodies;
    bodies[body].q_WB = random_attitude(random);
    const Pose X_WE = bodies[body].X_WB(s.model.bodies()[body]) * X_BE;
    for (const Actuator* a : {&local, &fixed}) {
      Load load(s.model);
      a->add(bodies, 3, load);
      const Vec3 d = spec.direction.normalized(), force = 3 * (a == &local ? Vec3(X_WE.q * d) : d);
      EXPECT_LT((load.port[body].force - force).norm(), 1e-14);
      EXPECT_LT((load.port[body].moment - (X_WE.p - bodies[body].p_WC).cross(force)).norm(), 1e-13);
      EXPECT_EQ(load.efforts.norm(), 0);
    }
  }
}

// The power of a pair of forces along a line is its input times the rate of the line's length: by a difference over 2e-5 s with
// an error of (1e-5)² times third derivatives of some 1e2, and rounding 1e-16/1e-5.
// As it is mounted: gain times the input along a direction that is turned in its frame, at a point beside its origin. As it is
// told it knows nothing of that.
TEST(Actuator, ThatIsBadlyMountedPushesElsewhere) {
  for (int k = 0; k < cases(20); ++k) {
    const Sample s = drawn(seed(860) + static_cast<std::uint64_t>(k), k);
    Random random(seed(861), static_cast<std::uint64_t>(k));
    ActuatorSpec spec;
    spec.kind = Kind::Force, spec.frame = "f0", spec.direction = random_vector(random, 1);
    ActuatorSpec plain = spec;
    spec.mounted = {random.uniform(0.5, 1.5), random_vector(random, 0.2), random_vector(random, 0.1)};
    const Frame& frame = s.model.frames()[static_cast<std::size_t>(*s.model.find_frame("f0"))];
    const auto b = static_cast<std::size_t>(frame.body);
    Load really(s.model), told(s.model), ideal(s.model);
    Actuator::build(s.model, spec, true)->add(s.bodies, 3, really);
    Actuator::build(s.model, spec)->add(s.bodies, 3, told);
    Actuator::build(s.model, plain)->add(s.bodies, 3, ideal);
    EXPECT_EQ(told.port[b].force, ideal.port[b].force);
    EXPECT_EQ(told.port[b].moment, ideal.port[b].moment);
    const Pose X_WE = s.bodies[b].X_WB(s.model.bodies()[b]) * frame.X_BE;
    const Vec3 force = X_WE.q * (exp_so3(spec.mounted.turn) * Vec3(3 * spec.mounted.gain * spec.direction.normalized()));
    const Vec3 arm = X_WE * spec.mounted.shift - s.bodies[b].p_WC;
    EXPECT_LT((really.port[b].force - force).norm(), 1e-13);
    EXPECT_LT((really.port[b].moment - arm.cross(force)).norm(), 1e-13);
  }
}

TEST(Actuator, ACylinderPushesItsEndsApartAndMovesNoMomentum) {
  Random random(650);
  for (int k = 0; k < cases(20); ++k) {
    const Sample s = drawn(seed(651) + static_cast<std::uint64_t>(k), k);
    ActuatorSpec spec;
    spec.kind = Kind::Cylinder, spec.name = "c";
    const std::string there = k % 2 == 0 ? "world" : s.model.body_name(1);
    spec.points = {{s.model.body_name(0), "", random_vector(random, 0.3)}, {there, "", random_vector(random, 0.3)}};
    Load load(s.model);
    built(s.model, {spec})[0].add(s.bodies, 2.5, load);
    const auto length_after = [&](double h) {
      const auto at = [&](const PointSpec& p) {
        const auto b = *s.model.find_body(p.body);
        if (b == kWorld) return p.p;
        const BodyState& body = s.bodies[static_cast<std::size_t>(b)];
        const Vec3 arm = p.p - s.model.bodies()[static_cast<std::size_t>(b)].inertia.p_BC;
        return Vec3(body.p_WC + h * body.v_WC + turned(body.q_WB, h * body.w_WB) * arm);
      };
      return (at(spec.points[1]) - at(spec.points[0])).norm();
    };
    double power = 0, scale = 1;
    Vec3 force = Vec3::Zero(), moment = Vec3::Zero();
    for (std::size_t b = 0; b < s.bodies.size(); ++b) {
      power += load.port[b].force.dot(s.bodies[b].v_WC) + load.port[b].moment.dot(s.bodies[b].w_WB);
      force += load.port[b].force, moment += load.port[b].moment + s.bodies[b].p_WC.cross(load.port[b].force);
      scale += s.bodies[b].v_WC.norm() + s.bodies[b].w_WB.norm();
    }
    EXPECT_NEAR(power, 2.5 * (length_after(1e-5) - length_after(-1e-5)) / 2e-5, 1e-7 * scale * scale * scale);
    if (there == "world") continue;
    EXPECT_LT(force.norm(), 1e-13);
    EXPECT_LT(moment.norm(), 1e-12);
  }
}

TEST(Actuator, IsRefusedInWordsWhereItCannotBe) {
  const Sample s = drawn(660, 4, true);
  const auto refusal = [&](const ActuatorSpec& a) {
    const auto made = Actuator::build(s.model, a);
    return made ? std::string() : made.error().what;
  };
  const auto expect = [&](const ActuatorSpec& a, const char* words) {
    EXPECT_NE(refusal(a).find(words), std::string::npos) << words << ": " << refusal(a);
  };
  const std::string body = s.model.body_name(0);
  const Joint* joint = nullptr;
  for (const Joint& j : s.model.joints())
    if (j.nv > 0 && j.kind != JointKind::Prismatic) joint = &j;
  ASSERT_NE(joint, nullptr);
  ActuatorSpec a = motor(*joint, 0);
  EXPECT_EQ(refusal(a), "");
  a.freedom = 6;
  expect(a, "so no freedom 6");
  a = motor(*joint, 0), a.joint += "x";
  expect(a, "did you mean");
  a = motor(*joint, 0), a.kind = Kind::Cylinder;
  expect(a, "pushes along a prismatic one");
  a = motor(*joint, 0), a.lower = 2, a.upper = 1;
  expect(a, "'limits'");
  a = motor(*joint, 0), a.rate = 0;
  expect(a, "'rate' must be positive");
  a = motor(*joint, 0), a.lag = -1;
  expect(a, "'lag'");
  a = motor(*joint, 0), a.weight = 0;
  expect(a, "'weight'");
  a = {}, a.kind = Kind::Thruster, a.frame = "f00";
  expect(a, "there is no frame 'f00'; did you mean 'f0'?");
  a.frame = "f0", a.direction = Vec3::Zero();
  expect(a, "no direction");
  a.direction = Vec3::UnitX(), a.lower = -1;
  expect(a, "only pushes");
  a = {}, a.kind = Kind::Cylinder, a.points = {{body, "", Vec3::Zero()}, {body, "", Vec3::UnitX()}};
  expect(a, "it moves nothing");
  a.points.pop_back();
  expect(a, "two 'points'");
  EXPECT_NE(build_actuators(s.model, {motor(*joint, 0), motor(*joint, 0)}).error().what.find("two have this 'name'"),
            std::string::npos);
}

// Convex: a point of the box from which no step along an axis, and none towards a drawn point of the box, goes down.
TEST(BoxQuadratic, FindsThePointOfTheBoxFromWhichEveryWayGoesUp) {
  int at_bounds = 0;
  for (int k = 0; k < cases(400); ++k) {
    Random random(seed(670), static_cast<std::uint64_t>(k));
    const int n = 1 + random.below(12);
    MatX A(n, n);
    VecX b(n), lower(n), upper(n), x = VecX::Zero(n), y(n);
    for (double& e : A.reshaped()) e = random.normal();
    const MatX H = A * A.transpose() + 1e-6 * MatX::Identity(n, n);
    for (int i = 0; i < n; ++i) {
      b[i] = 3 * random.normal();
      lower[i] = random.chance(0.2) ? -std::numeric_limits<double>::infinity() : random.normal();
      upper[i] = random.chance(0.2) ? std::numeric_limits<double>::infinity() : std::max(lower[i], -5.0) + random.unit();
    }
    BoxQuadratic box(n);
    ASSERT_TRUE(box.minimise(H, b, lower, upper, x)) << k;
    const VecX slope = H * x - b;
    const double scale = 1e-11 * (H.norm() * x.norm() + b.norm());
    for (int i = 0; i < n; ++i) {
      ASSERT_GE(x[i], lower[i]);
      ASSERT_LE(x[i], upper[i]);
      EXPECT_LT(x[i] > lower[i] ? slope[i] : 0, scale) << k;
      EXPECT_GT(x[i] < upper[i] ? slope[i] : 0, -scale) << k;
      at_bounds += x[i] == lower[i] || x[i] == upper[i];
      y[i] = random.uniform(std::max(lower[i], -9.0), std::min(upper[i], 9.0));
    }
    EXPECT_GE(slope.dot(y - x), -scale * (y - x).norm());
  }
  EXPECT_GT(at_bounds, cases(400));
}

}  // namespace
}  // namespace invar::testing
