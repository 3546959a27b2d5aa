// SPDX-License-Identifier: Apache-2.0
//
// Impedance on drawn mechanisms: what virtual spring and dampers do over a step of the steppers that account for energy exactly,
// and what joints carry of it.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/mech/augmented.hpp"
#include "invar/mech/planar_chain.hpp"
#include "invar/run/run.hpp"
#include "invar/run/start.hpp"
#include "support/campaign.hpp"
#include "support/moving_mechanisms.hpp"
#include "support/newton_euler.hpp"
#include "support/random_mechanism.hpp"
#include "support/yielding.hpp"

namespace invar::testing {
namespace {

TEST(ImpedanceLaw, GivesUpOverEveryStepWhatItsDampersTake) {
  int judged = 0;
  for (const char* method : {"discrete_gradient", "conserving"})
    for (const Sort sort : {Sort::Space, Sort::Plane, Sort::Loops, Sort::Floating})
      for (const bool through : {false, true})
        for (int i = 0; i < cases(6); ++i) {
          const auto d = drawn(sort, seed(6300) + static_cast<std::uint64_t>(i), true);
          if (!d) continue;
          Random random(6301, static_cast<std::uint64_t>(i));
          ImpedanceSpec spec = drawn_spec(random, d->model, d->bodies);
          spec.through_joints = through;
          if (!ImpedanceLaw(d->model, spec).objection(0.0, d->bodies).empty()) continue;
          const StepBalance b = balance(d->mechanism.spec, d->model, d->bodies, spec, method, 5e-3, 200);
          ASSERT_TRUE(b.verdict.ok()) << d->what << " " << method << " " << name(b.verdict.status);
          if (b.wound) continue;
          const std::string what = d->what + " " + method + (through ? " through joints" : " at the point");
          EXPECT_LE(b.gap, 1e-13) << what;
          EXPECT_LE(b.clause, 1e-13) << what;
          EXPECT_TRUE(b.fell) << what;
          ++judged;
        }
  EXPECT_GT(judged, cases(6) * 4);
}

// Without dampers V stays where it was: rounding of 1e4 steps, each of some 1e-15 of the energies at play, adds up at random.
TEST(ImpedanceLaw, KeepsVOverTenThousandStepsWithoutDampers) {
  for (const Moving& start : {shipped("paper_c_springs", {1, -1, 2}), spring_chain(), shipped("arm")})
    for (const bool through : {false, true}) {
      Random random(6401, 0);
      ImpedanceSpec spec = drawn_spec(random, start.model, start.start);
      spec.body = static_cast<int>(start.model.bodies().size()) - 1;
      spec.path = resting_at(point_of(start.model, spec, start.start) + random_vector(random, 0.2));
      spec.through_joints = through, spec.joint_damping = 0, spec.damping.setZero();
      const StepBalance b = balance(start.spec, start.model, start.start, spec, "discrete_gradient", 5e-3, 10000);
      ASSERT_TRUE(b.verdict.ok()) << start.name;
      ASSERT_FALSE(b.wound) << start.name;
      EXPECT_LE(b.gap, 1e-13) << start.name;
      EXPECT_LE(std::abs(b.last - b.first), 1e-12 * b.at_play) << start.name << (through ? " through joints" : " at the point");
    }
}

// Held at its own place nothing moves but by rounding, and Newton's method must know that from not converging.
TEST(ImpedanceLaw, HoldsStillForTenThousandSteps) {
  for (const char* method : {"discrete_gradient", "conserving"})
    for (const Moving& start : {shipped("paper_c_springs"), shipped("arm")})
      for (const bool through : {false, true}) {
        Random random(6411, 0);
        Bodies rest = start.start;
        for (BodyState& b : rest) b.v_WC = b.w_WB = Vec3::Zero();
        ImpedanceSpec spec = drawn_spec(random, start.model, rest);
        spec.body = static_cast<int>(start.model.bodies().size()) - 1;
        spec.path = resting_at(point_of(start.model, spec, rest));
        spec.through_joints = through;
        const StepBalance b = balance(start.spec, start.model, rest, spec, method, 5e-3, 10000);
        ASSERT_TRUE(b.verdict.ok()) << start.name << " " << method << " " << name(b.verdict.status);
        EXPECT_LE(b.gap, 1e-13) << start.name << " " << method;
        EXPECT_LE(std::abs(b.last), 1e-12 * b.at_play) << start.name << " " << method;
      }
}

// A target on a circle pulls along the chord of every step.
TEST(ImpedanceLaw, GainsOverStepsFromATargetThatMovesWhatItPulls) {
  for (const double filter : {0.0, 40.0}) {
    const Moving start = shipped("arm");
    Random random(6421, 0);
    ImpedanceSpec spec = drawn_spec(random, start.model, start.start);
    spec.body = static_cast<int>(start.model.bodies().size()) - 1, spec.filter = filter;
    const Vec3 p = point_of(start.model, spec, start.start);
    spec.path = [p](Instant at) {
      PoseJet j;
      j.p = p + 0.1 * Vec3(std::cos(3 * at.t), std::sin(3 * at.t), 0),
      j.v = 0.3 * Vec3(-std::sin(3 * at.t), std::cos(3 * at.t), 0);
      return j;
    };
    const StepBalance b = balance(start.spec, start.model, start.start, spec, "conserving", 5e-3, 1000);
    ASSERT_TRUE(b.verdict.ok());
    EXPECT_LE(b.clause, 1e-13) << filter;
  }
}

// C (44) by way of (45) and (49) at the midpoint of a step: mean places and differences in place of places and rates. (49) gives
// moments that do work on tan(half the turn) of the links; efforts on coordinates do the same on their change.
TEST(ImpedanceLaw, IsTheForcesOfThePaperAtMidpointsOfSteps) {
  const Moving start = shipped("paper_c_pendulum");
  const auto chain = PlanarChain::of(start.model);
  ASSERT_TRUE(chain);
  const int tcp = *start.model.find_frame("tcp");
  for (int k = 0; k < cases(20); ++k) {
    Random random(6500, static_cast<std::uint64_t>(k));
    const double h = 0.1;
    Start at(start.model);
    at.named.assign(start.model.joints().size(), true);
    VecX q[2], xi[2];
    Bodies nodes[2], mean(start.model.bodies().size());
    for (int side = 0; side < 2; ++side) {
      q[side].resize(start.model.nq());
      for (Eigen::Index i = 0; i < q[side].size(); ++i)
        q[side][i] = side == 0 ? random.uniform(-1.2, 1.2) : q[0][i] + random.uniform(-0.3, 0.3);
      at.joints.q = q[side];
      at.joints.name(start.model, at.named);
      nodes[side] = *bodies_at(start.model, at);
      xi[side] = chain->xi_from_angles(q[side]);
    }
    for (std::size_t b = 0; b < mean.size(); ++b) mean[b] = mean_motion(nodes[0][b], nodes[1][b], h);
    const Vec3 target = random_vector(random, 1);
    ImpedanceSpec spec;
    spec.body = start.model.frames()[static_cast<std::size_t>(tcp)].body;
    spec.p_BE = start.model.frames()[static_cast<std::size_t>(tcp)].X_BE.p;
    spec.stiffness = 30 * Mat3::Identity(), spec.damping = 4 * Mat3::Identity();
    spec.path = resting_at(target);
    ImpedanceLaw law(start.model, spec);
    Load load(start.model);
    ASSERT_TRUE(law.command(Instant(0, 0, h), mean, load).ok());
    const Eigen::Vector2d aim = chain->plane().project(target);
    const VecX middle = 0.5 * (xi[0] + xi[1]), x_dot = (chain->x_from_xi(xi[1]) - chain->x_from_xi(xi[0])) / h;
    const VecX F = chain->impedance(middle, x_dot, aim, 30 * Eigen::Matrix2d::Identity(), 4 * Eigen::Matrix2d::Identity());
    const VecX tau = chain->torques(middle, F), phi0 = chain->phi_from_xi(xi[0]), phi1 = chain->phi_from_xi(xi[1]);
    double before = 0;  // tan of half the turn of the link before
    for (int i = 0; i < chain->links(); ++i) {
      const Joint& joint = start.model.joints()[static_cast<std::size_t>(chain->joint(i))];
      const double own = std::tan(0.5 * (phi1[i] - phi0[i])), turned = chain->sign(i) * (q[1] - q[0])[joint.q0];
      EXPECT_NEAR(load.efforts[joint.v0], chain->sign(i) * tau[i] * 2 * (own - before) / turned,
                  1e-12 * (1 + tau.cwiseAbs().maxCoeff()));
      before = own;
    }
  }
}

// C (46): efforts and what joints carry beside them are the wanted wrenches, and what is carried does no work.
TEST(ImpedanceLaw, TakesTheWantedWrenchesApartIntoEffortsAndForcesInJoints) {
  int judged = 0;
  for (const Sort sort : {Sort::Space, Sort::Plane, Sort::Loops})
    for (const double h : {0.0, 0.05})
      for (int i = 0; i < cases(10); ++i) {
        const auto d = drawn(sort, seed(6600) + static_cast<std::uint64_t>(i), true);
        if (!d) continue;
        Random random(6601, static_cast<std::uint64_t>(i));
        ImpedanceSpec spec = drawn_spec(random, d->model, d->bodies);
        spec.joint_damping = 0;
        ImpedanceLaw law(d->model, spec);
        if (!law.objection(0.0, d->bodies).empty()) continue;
        Load load(d->model);
        ASSERT_TRUE(law.command(Instant(0, 0, h), d->bodies, load).ok());
        Port sum(d->bodies.size());
        double size = 0;
        for (int j = 0; j < static_cast<int>(d->model.joints().size()); ++j) {
          const Joint& joint = d->model.joints()[static_cast<std::size_t>(j)];
          JointOver over;
          joint_over(d->model, j, d->bodies, h, over);
          const Wrench& carried = law.carried()[static_cast<std::size_t>(j)];
          const Wrench all = effort_wrench(over, load.efforts.segment(joint.v0, joint.nv)) + carried;
          sum[static_cast<std::size_t>(joint.child)] += all.about(over.arm_child);
          if (joint.parent != kWorld) sum[static_cast<std::size_t>(joint.parent)] -= all.about(over.arm_parent);
          const double here = all.force.norm() + all.moment.norm();
          size = std::max(size, here * (1 + over.arm_child.norm() + over.arm_parent.norm()));
          for (int k = 0; k < joint.nv; ++k)
            EXPECT_NEAR(carried.moment.dot(over.S.col(k).head<3>()) + carried.force.dot(over.S.col(k).tail<3>()), 0, 1e-13 * here)
                << d->what;
        }
        for (std::size_t b = 0; b < sum.size(); ++b) {
          EXPECT_LE((sum[b].force - law.wanted()[b].force).norm(), 1e-13 * size) << d->what;
          EXPECT_LE((sum[b].moment - law.wanted()[b].moment).norm(), 1e-13 * size) << d->what;
        }
        ++judged;
      }
  EXPECT_GT(judged, cases(10));
}

// A target that moves gives V the work of its pull.
TEST(ImpedanceLaw, GainsFromATargetThatMovesWhatItPulls) {
  int judged = 0;
  for (const double filter : {0.0, 40.0})
    for (int i = 0; i < cases(8); ++i) {
      const auto d = drawn(Sort::Space, seed(6700) + static_cast<std::uint64_t>(i), true);
      if (!d) continue;
      Random random(6701, static_cast<std::uint64_t>(i));
      ImpedanceSpec spec = drawn_spec(random, d->model, d->bodies);
      spec.filter = filter;
      if (filter > 0) spec.joint_damping = 0;
      const Vec3 p = spec.path(0.0).p, v = random_vector(random, 1);
      spec.path = [=](Instant at) {
        PoseJet j;
        j.p = p + at.t * v, j.v = v;
        return j;
      };
      const auto controller = controller_of(d->model, spec);
      if (!controller->objection(0.0, d->bodies).empty()) continue;
      Natural natural(d->model);
      System system(natural);
      system.add(*controller);
      State x;
      natural.set(d->bodies, x, {});
      Evaluation e;
      // The filter has an offset once the motion went on.
      controller->settle(0, d->bodies);
      ASSERT_TRUE(system.evaluate(0.05, x, e).ok());
      expect_newton_euler(d->mechanism.spec, e, system.load());
      controller->witness(0.05, e);
      const Certificate certificate = controller->certificate();
      for (const Clause& c : certificate.clauses())
        if (c.name == "V_dot_as_promised") {
          EXPECT_LE(c.worst, 1e-10) << d->what;
          ++judged;
        }
    }
  EXPECT_GT(judged, cases(8));
}

// A chain in the plane cannot move its tool out of it; within, the spring shows all of its stiffness.
TEST(ImpedanceLaw, ShowsTheStiffnessOfItsSpringWhereThePointCanMove) {
  const Moving start = shipped("paper_c_springs");
  ImpedanceSpec spec;
  spec.body = static_cast<int>(start.model.bodies().size()) - 1;
  spec.p_BE = Vec3(1, 0, 0);
  spec.stiffness << 20, 3, 5, 3, 30, 7, 5, 7, 40;
  spec.path = resting_at(Vec3(0.5, 0.5, 0));
  const auto controller = controller_of(start.model, spec);
  Natural natural(start.model);
  System system(natural);
  system.add(*controller);
  // Folded by a right angle at the second joint: a straight chain could not move its tool along itself.
  Start folded(start.model);
  folded.named.assign(start.model.joints().size(), true);
  folded.joints.q = Vec3(0.3, 1.5, 0.2);
  folded.joints.name(start.model, folded.named);
  State x;
  natural.set(*bodies_at(start.model, folded), x, {});
  Evaluation e;
  ASSERT_TRUE(system.evaluate(0, x, e).ok());
  expect_newton_euler(start.spec, e, system.load());
  controller->witness(0, e);
  const std::vector<std::pair<std::string, double>> expected = {{"stiffness_xx", 20}, {"stiffness_yy", 30}, {"stiffness_zz", 0},
                                                                {"stiffness_xy", 3},  {"stiffness_xz", 0},  {"stiffness_yz", 0}};
  int found = 0;
  for (const auto& [name, value] : expected) {
    std::size_t at = 0;
    for (const Reading& reading : controller->readings()) {
      if (reading.name == name) {
        EXPECT_NEAR(controller->values()[at], value, 1e-12 * 40) << name;
        ++found;
      }
      at += static_cast<std::size_t>(reading.size);
    }
  }
  EXPECT_EQ(found, 6);
}

// Two rods from the ground that meet in a hinge are rigid: no spring moves them, in any World. A pendulum on one of them moves.
TEST(ImpedanceLaw, SaysWhereItsPointCannotMove) {
  Random random(seed(6480));
  for (int i = 0; i < cases(12); ++i) {
    const Quat turn = random_attitude(random);
    const double size = std::pow(10, random.uniform(-1, 1));
    const Vec3 at[3] = {random_vector(random, size), random_vector(random, size), random_vector(random, size)};
    const Vec3 normal = (at[1] - at[0]).cross(at[2] - at[0]);
    if (normal.norm() < 0.1 * size * size) continue;
    const Vec3 axis = turn * normal.normalized();
    ModelSpec spec;
    const auto body = [&](const char* name, double mass) {
      BodySpec b;
      b.name = name, b.inertia = solid_box(mass, size * Vec3(0.3, 0.2, 0.1));
      b.inertia.p_BC = random_vector(random, size);
      spec.bodies.push_back(b);
    };
    const auto hinge = [&](const char* name, const char* parent, const char* child, const Vec3& p, const Vec3& z) {
      JointSpec j;
      j.name = name, j.kind = JointKind::Revolute, j.parent = parent, j.child = child, j.axis = z;
      j.at_parent.p = j.at_child.p = turn * p;
      spec.joints.push_back(j);
    };
    body("left", std::pow(10, random.uniform(-5, 5))), body("right", std::pow(10, random.uniform(-5, 5)));
    body("pendulum", std::pow(10, random.uniform(-5, 5)));
    hinge("a", "world", "left", at[0], axis), hinge("b", "world", "right", at[1], axis);
    hinge("c", "left", "right", at[2], axis);
    hinge("d", "right", "pendulum", random_vector(random, size), random_vector(random, 1).normalized());
    const Model model = build(spec);
    Augmented augmented(model);
    const Result<State> start = state_at(augmented, Start(model));
    ASSERT_TRUE(start) << start.error().text();
    Bodies bodies(model.bodies().size());
    augmented.bodies(*start, bodies);
    for (int b = 0; b < 3; ++b) {
      ImpedanceSpec law;
      law.name = "k", law.body = b, law.p_BE = random_vector(random, size);
      law.stiffness = 100 * Mat3::Identity(), law.path = resting_at(random_vector(random, size));
      const std::string says = ImpedanceLaw(model, law).objection(0.0, bodies);
      EXPECT_EQ(says.find("cannot move") != std::string::npos, b < 2) << i << ", body " << b << ": " << says;
    }
  }
}

// At a dead centre a slider rests, but at that very pose only; and a light body moves with the heavy one that it is fixed to.
TEST(ImpedanceLaw, MovesAPointThatRestsForAnInstantAndALightOne) {
  Random random(seed(6490));
  const auto says = [](const ModelSpec& spec, int body) {
    const Model model = build(spec);
    ImpedanceSpec law;
    law.body = body, law.stiffness = 100 * Mat3::Identity(), law.path = resting_at(Vec3::Zero());
    law.p_BE = spec.bodies[static_cast<std::size_t>(body)].inertia.p_BC;
    return ImpedanceLaw(model, law).objection(0.0, place(model, JointState::initial(model)));
  };
  for (int i = 0; i < cases(20); ++i) {
    const Vec3 along = random_unit(random), axis = any_perpendicular(along);
    const double size = std::pow(10, random.uniform(-2, 2));
    const auto body = [&](const char* name) {
      BodySpec b;
      b.name = name;
      b.inertia = solid_box(std::pow(10, random.uniform(-5, 5)), size * Vec3(0.3, 0.2, 0.1));
      return b;
    };
    const auto joint = [&](const char* name, JointKind kind, const char* parent, const char* child, const Vec3& z,
                           const Vec3& p) {
      JointSpec j;
      j.name = name, j.kind = kind, j.parent = parent, j.child = child, j.axis = z, j.at_parent.p = size * p;
      return j;
    };
    // Stretched, or with the rod folded back over the crank.
    const double crank = random.uniform(0.1, 0.4), rod = (i % 2 ? 1 : -1) * random.uniform(0.5, 1);
    ModelSpec dead;
    dead.bodies = {body("crank"), body("rod"), body("slider")};
    dead.joints = {joint("main", JointKind::Revolute, "world", "crank", axis, Vec3::Zero()),
                   joint("big", JointKind::Revolute, "crank", "rod", axis, crank * along),
                   joint("small", JointKind::Revolute, "rod", "slider", axis, rod * along),
                   joint("guide", JointKind::Prismatic, "world", "slider", along, (crank + rod) * along)};
    EXPECT_EQ(says(dead, 2), "") << i;

    ModelSpec light;
    light.bodies = {body("boom"), body("tip")};
    light.bodies[0].inertia.mass = 2e3, light.bodies[0].inertia.p_BC = size * random_vector(random, 1);
    light.bodies[1].inertia = solid_box(std::pow(10, random.uniform(-12, 0)), size * Vec3(0.3, 0.2, 0.1));
    light.joints = {joint("ball", JointKind::Spherical, "world", "boom", Vec3::UnitZ(), Vec3::Zero()),
                    joint("end", JointKind::Fixed, "boom", "tip", Vec3::UnitZ(), along)};
    EXPECT_EQ(says(light, 1), "") << i;
  }
}

// Locks, screws, couplings and loops of any mechanism: what moves in the state that was drawn is never said to be held.
TEST(ImpedanceLaw, NeverCallsHeldWhatMoves) {
  int judged = 0;
  for (int i = 0; i < cases(60); ++i) {
    MechanismOptions options;
    options.bodies = 2 + i % 5, options.loops = i % 3 == 2 ? 1 : 0, options.couplings = i % 2, options.passive = false;
    options.mass_ratio = std::pow(10, i % 7);
    const Sample sample = random_sample(seed(6490) + static_cast<std::uint64_t>(i), options);
    const Model model = build(sample.mechanism.spec);
    for (int b = 0; b < static_cast<int>(model.bodies().size()); ++b) {
      const BodyState& at = sample.bodies[static_cast<std::size_t>(b)];
      ImpedanceSpec law;
      law.name = "k", law.body = b, law.p_BE = model.bodies()[static_cast<std::size_t>(b)].inertia.p_BC;
      law.path = resting_at(at.p_WC), law.through_joints = false;
      const std::string says = ImpedanceLaw(model, law).objection(0.0, sample.bodies);
      if (says.find("armature") != std::string::npos || !(at.v_WC.norm() > 1e-3)) continue;
      ++judged;
      EXPECT_EQ(says.find("cannot move"), std::string::npos) << describe(sample.mechanism.spec) << ", body " << b << ": " << says;
    }
  }
  EXPECT_GT(judged, cases(60));
}

}  // namespace
}  // namespace invar::testing
