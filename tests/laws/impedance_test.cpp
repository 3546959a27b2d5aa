// SPDX-License-Identifier: Apache-2.0
//
// Impedance on drawn mechanisms: what virtual spring and dampers do over a step of the steppers that account for energy exactly,
// what joints carry of it, and what it is when no velocity is measured.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "invar/base/largest.hpp"
#include "invar/control/controller.hpp"
#include "invar/control/impedance_law.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/cayley/skeleton.hpp"
#include "invar/mech/energy.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/natural.hpp"
#include "invar/mech/planar_chain.hpp"
#include "invar/run/run.hpp"
#include "support/campaign.hpp"
#include "support/march.hpp"
#include "support/moving_mechanisms.hpp"
#include "support/natural_samples.hpp"

namespace invar::testing {
namespace {

struct Drawn {
  Mechanism mechanism;
  Model model;
  Bodies bodies;
  std::string what;
};

enum class Sort { Space, Plane, Loops, Floating };

// Trees with every kind of joint, planar trees, loops, and parts that float; springs, dampers and tendons, no rotors.
std::optional<Drawn> drawn(Sort sort, std::uint64_t at, bool lossy) {
  MechanismOptions o;
  o.bodies = 3 + static_cast<int>(at % 4), o.mass_ratio = 10, o.locked = false;
  o.planar = sort == Sort::Plane, o.loops = sort == Sort::Loops ? 1 : 0, o.floating = sort == Sort::Floating;
  o.kinds = {JointKind::Revolute, JointKind::Prismatic, JointKind::Cylindrical, JointKind::Universal,
             JointKind::Screw,    JointKind::Spherical, JointKind::Planar,      JointKind::Fixed};
  Random random(at, 91);
  Mechanism mechanism = random_mechanism(random, o);
  add_tendons(random, mechanism.spec, 2, 20.0);
  leave_out_what_is_refused(mechanism.spec);
  for (JointSpec& joint : mechanism.spec.joints) {
    joint.armature.clear();
    if (!lossy) joint.damping.clear(), joint.friction.clear(), joint.limits.damping = 0;
  }
  for (TendonSpec& t : mechanism.spec.tendons) t.damping = lossy ? 0.3 : 0;
  Model model = build(mechanism.spec);
  if (!cayley::why_not_conserving(model).empty()) return std::nullopt;
  Bodies bodies = at_rest(model, mechanism.X_WB);
  draw_velocities(random, model, bodies);
  const std::string what = std::to_string(at) + ": " + describe(mechanism.spec);
  return Drawn{std::move(mechanism), std::move(model), std::move(bodies), what};
}

PosePath resting_at(const Vec3& p) {
  return [p](Instant) {
    PoseJet j;
    j.p = p;
    return j;
  };
}

Vec3 point_of(const Model& model, const ImpedanceSpec& spec, const Bodies& bodies) {
  return body_pose(model, bodies, spec.body) * spec.p_BE;
}

ImpedanceSpec drawn_spec(Random& random, const Model& model, const Bodies& bodies) {
  ImpedanceSpec spec;
  spec.body = random.below(static_cast<int>(bodies.size()));
  spec.p_BE = random_vector(random, 0.3);
  const Mat3 R = random_attitude(random).toRotationMatrix();
  spec.stiffness = R * Vec3(5, 20, 60).asDiagonal() * R.transpose();
  spec.damping = R.transpose() * Vec3(0.5, 1, 2).asDiagonal() * R;
  spec.joint_damping = 0.1;
  spec.path = resting_at(point_of(model, spec, bodies) + random_vector(random, 0.3));
  return spec;
}

std::unique_ptr<Controller> controller_of(const Model& model, const ImpedanceSpec& spec) {
  ControllerSpec c;
  c.nominal = std::shared_ptr<const Model>(&model, [](const Model*) {});
  c.law = [spec](const Model& m) { return std::make_unique<ImpedanceLaw>(m, spec); };
  return std::move(*Controller::build(c, model, 0));
}

/// V with what it is made of, at a node.
struct Node {
  Bodies bodies;
  VecX q, v;
  Vec3 error = Vec3::Zero();
  double V = 0, at_play = 0, dissipated = 0;
};

Node node_at(const Model& model, const ImpedanceSpec& spec, const Natural& natural, const State& x) {
  Node n;
  n.bodies.resize(model.bodies().size());
  natural.bodies(x, n.bodies);
  n.q.resize(model.nq()), n.v.resize(model.nv());
  joint_coordinates(model, n.bodies, n.q, n.v);
  unwind(model, x.wound, n.q);
  const Energy e = energy(model, n.bodies, n.q, n.v);
  n.error = point_of(model, spec, n.bodies) - spec.path(0.0).p;
  n.V = e.kinetic + 0.5 * n.error.dot(spec.stiffness * n.error);
  double weight = 0, reach = 0;
  for (const Body& b : model.bodies()) weight += b.inertia.mass * model.gravity().norm();
  for (const BodyState& b : n.bodies) reach = std::max(reach, b.p_WC.norm());
  n.at_play = n.V + e.elastic + weight * (model.length() + reach);
  n.dissipated = x.aux[kDissipated];
  return n;
}

/// What joint dampers take over a step, J: for coordinates from their change, for balls from the rate of the rotation.
double taken_by_joints(const Model& model, const Node& a, const Node& b, double h) {
  double sum = 0;
  for (const Joint& joint : model.joints()) {
    if (joint.nq == joint.nv) {
      sum += (b.q - a.q).segment(joint.q0, joint.nq).squaredNorm() / h;
      continue;
    }
    const auto rate = [&](int body) {
      return body == kWorld
                 ? Vec3(Vec3::Zero())
                 : mean_motion(a.bodies[static_cast<std::size_t>(body)], b.bodies[static_cast<std::size_t>(body)], h).w_WB;
    };
    sum += h * (rate(joint.child) - rate(joint.parent)).squaredNorm();
    if (joint.kind != JointKind::Free) continue;
    EXPECT_EQ(joint.parent, kWorld);
    const auto place = [&](const Bodies& bodies) { return (body_pose(model, bodies, joint.child) * joint.X_CM).p; };
    sum += (place(b.bodies) - place(a.bodies)).squaredNorm() / h;
  }
  return sum;
}

struct Balance {
  Verdict verdict;
  double gap = 0;  // largest over a step, relative to the energies at play
  double first = 0, last = 0, at_play = 0;
  bool fell = true;
  bool wound = false;  // an angle with a spring came near half a turn: they are compensated within it
  double clause = 0;   // what the certificate says
};

Balance balance(const Model& model, const Bodies& bodies, ImpedanceSpec spec, const char* method, double h, int steps) {
  spec.over_steps = true;
  const auto controller = controller_of(model, spec);
  Natural natural(model);
  System system(natural);
  system.add(*controller);
  State x;
  natural.set(bodies, x, {});
  auto integrator = std::move(*make_integrator(method, {}));
  Balance out;
  Node before = node_at(model, spec, natural, x);
  out.first = before.V;
  controller->settle(0, before.bodies);
  out.verdict = march(system, *integrator, 0, h * steps, h, x, [&](double t, double done) {
                  const Node now = node_at(model, spec, natural, x);
                  controller->settle(t + done, now.bodies);
                  if (integrator->report().substeps > 1) return before = now, void();
                  const Vec3 way = now.error - before.error;
                  double taken =
                      way.dot(spec.damping * way) / done + spec.joint_damping * taken_by_joints(model, before, now, done);
                  taken += now.dissipated - before.dissipated;
                  keep_largest(out.at_play, now.at_play);
                  if (spec.filter == 0) keep_largest(out.gap, std::abs(now.V - before.V + taken) / out.at_play);
                  out.fell = out.fell && now.V <= before.V + 1e-13 * out.at_play;
                  for (const Joint& joint : model.joints())
                    for (int k = 0; k < joint.nv; ++k)
                      out.wound = out.wound || (joint.has_passive && winds(joint.kind, k) && std::abs(now.q[joint.q0 + k]) > 3.0);
                  before = now;
                }).verdict;
  out.last = before.V;
  for (const Clause& c : controller->law().certificate().clauses())
    if (c.name == "V_falls_over_steps") out.clause = c.worst;
  return out;
}

// Over a step the relative motion at a joint is what its coordinates did, whatever its kind and however large the step.
TEST(JointOver, TakesTheMotionOverAStepApartIntoTheChangesOfCoordinates) {
  int joints = 0;
  for (const Sort sort : {Sort::Space, Sort::Plane, Sort::Loops})
    for (int i = 0; i < cases(12); ++i) {
      const auto d = drawn(sort, seed(6100) + static_cast<std::uint64_t>(i), true);
      if (!d) continue;
      const double h = 0.05;
      Natural natural(d->model);
      System system(natural);
      State x;
      natural.set(d->bodies, x, {});
      auto integrator = std::move(*make_integrator("discrete_gradient", {}));
      Bodies from = d->bodies, to = d->bodies, mean = d->bodies;
      natural.bodies(x, from);
      VecX q0(d->model.nq()), q1(q0), v(d->model.nv());
      joint_coordinates(d->model, from, q0, v);
      integrator->reset(system, x, h);
      double done = 0;
      if (!integrator->step(system, 0, h, x, done).ok()) continue;
      natural.bodies(x, to);
      joint_coordinates(d->model, to, q1, v);
      for (std::size_t b = 0; b < mean.size(); ++b) mean[b] = mean_motion(from[b], to[b], h);
      for (int j = 0; j < static_cast<int>(d->model.joints().size()); ++j) {
        const Joint& joint = d->model.joints()[static_cast<std::size_t>(j)];
        JointOver over;
        joint_over(d->model, j, mean, h, over);
        const BodyState &P = body_state(mean, joint.parent), &C = mean[static_cast<std::size_t>(joint.child)];
        Vec6 X;
        X << C.w_WB - P.w_WB, C.v_WC + C.w_WB.cross(over.arm_child) - P.v_WC - P.w_WB.cross(over.arm_parent);
        const double speed = 1 + C.w_WB.norm() + C.v_WC.norm() + P.w_WB.norm() + P.v_WC.norm();
        // Positions are met to some 1e-14 m, and over h that is a velocity.
        const double noise = 1e-12 * speed * (1 + P.p_WC.norm());
        for (int k = 0; k < joint.nv; ++k) X -= over.v[k] * over.S.col(k);
        EXPECT_LE(X.norm(), noise) << d->what << ", joint " << joint.name;
        for (int k = 0; k < joint.nv; ++k) {
          for (int l = 0; l < joint.nv; ++l) EXPECT_NEAR(over.dual.col(k).dot(over.S.col(l)), k == l ? 1 : 0, 1e-14);
          if (joint.nq != joint.nv) continue;
          const double change = q1[joint.q0 + k] - q0[joint.q0 + k];
          const double nearest = winds(joint.kind, k) ? nearest_turn(change, h * over.v[k]) : change;
          EXPECT_NEAR(over.v[k], nearest / h, noise) << d->what << ", joint " << joint.name << " freedom " << k;
        }
        ++joints;
      }
    }
  EXPECT_GT(joints, cases(12) * 4);
}

// Between any two configurations that joints allow: here those of the drawn motion, some steps apart in size.
TEST(OwnForces, DoTheWorkOverAStepThatTheirEnergyLoses) {
  int judged = 0;
  for (const Sort sort : {Sort::Space, Sort::Plane, Sort::Loops, Sort::Floating})
    for (int i = 0; i < cases(10); ++i) {
      const auto d = drawn(sort, seed(6200) + static_cast<std::uint64_t>(i), true);
      if (!d) continue;
      const double h = 0.02;
      Natural natural(d->model);
      System system(natural);
      State x;
      natural.set(d->bodies, x, {});
      auto integrator = std::move(*make_integrator("discrete_gradient", {}));
      ImpedanceSpec nowhere;
      nowhere.path = resting_at(Vec3::Zero());
      const Node a = node_at(d->model, nowhere, natural, x);
      integrator->reset(system, x, h);
      double done = 0;
      if (!integrator->step(system, 0, h, x, done).ok() || integrator->report().substeps > 1) continue;
      const Node b = node_at(d->model, nowhere, natural, x);
      Bodies mean = a.bodies;
      for (std::size_t k = 0; k < mean.size(); ++k) mean[k] = mean_motion(a.bodies[k], b.bodies[k], h);
      OwnForces own(d->model);
      own.at(mean, h);
      Port port(mean.size());
      own.add_at_rest(port);
      double work = 0;
      for (std::size_t k = 0; k < mean.size(); ++k) work += h * power(port[k], Twist{mean[k].w_WB, mean[k].v_WC});
      const Energy e0 = energy(d->model, a.bodies, a.q, a.v), e1 = energy(d->model, b.bodies, b.q, b.v);
      // Sums of a hundred terms; joints are closed to 1e-15 or so, and a gap times the forces (energies over lengths) is work.
      EXPECT_NEAR(work, e0.potential + e0.elastic - e1.potential - e1.elastic, 1e-13 * a.at_play) << d->what;
      EXPECT_NEAR(h * own.lost(), b.dissipated - a.dissipated, 1e-13 * a.at_play) << d->what;
      ++judged;
    }
  EXPECT_GT(judged, cases(10));
}

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
          if (!ImpedanceLaw(d->model, spec).objection(d->bodies).empty()) continue;
          const Balance b = balance(d->model, d->bodies, spec, method, 5e-3, 200);
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
      const Balance b = balance(start.model, start.start, spec, "discrete_gradient", 5e-3, 10000);
      ASSERT_TRUE(b.verdict.ok()) << start.name;
      ASSERT_FALSE(b.wound) << start.name;
      EXPECT_LE(b.gap, 1e-13) << start.name;
      EXPECT_LE(std::abs(b.last - b.first), 1e-12 * b.at_play) << start.name << (through ? " through joints" : " at the point");
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
        if (!law.objection(d->bodies).empty()) continue;
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
      if (!controller->objection(d->bodies).empty()) continue;
      Natural natural(d->model);
      System system(natural);
      system.add(*controller);
      State x;
      natural.set(d->bodies, x, {});
      Evaluation e;
      // The filter has an offset once the motion went on.
      controller->settle(0, d->bodies);
      ASSERT_TRUE(system.evaluate(0.05, x, e).ok());
      controller->witness(0.05, e);
      const Certificate certificate = controller->certificate();
      for (const Clause& c : certificate.clauses()) EXPECT_LE(c.name == "V_dot_as_promised" ? c.worst : 0, 1e-10) << d->what;
    }
}

// What it is told of velocities does not matter to a law that measures positions.
TEST(ImpedanceLaw, FromPositionsDoesNotLookAtVelocities) {
  for (const Sort sort : {Sort::Space, Sort::Plane, Sort::Loops})
    for (int i = 0; i < cases(8); ++i) {
      const auto d = drawn(sort, seed(6800) + static_cast<std::uint64_t>(i), true);
      if (!d) continue;
      Random random(6801, static_cast<std::uint64_t>(i));
      ImpedanceSpec spec = drawn_spec(random, d->model, d->bodies);
      spec.filter = 30;
      for (const bool true_ones : {true, false}) {
        ImpedanceLaw told(d->model, spec), lied(d->model, spec), measured(d->model, [&] {
          ImpedanceSpec other = spec;
          other.filter = 0;
          return other;
        }());
        Bodies first = d->bodies, later = d->bodies;
        Random motion(6802, static_cast<std::uint64_t>(i));
        for (BodyState& b : later) b.p_WC += random_vector(motion, 0.01), b.q_WB = exp_so3(random_vector(motion, 0.01)) * b.q_WB;
        const auto distort = [&](Bodies bodies) {
          for (BodyState& b : bodies)
            b.v_WC = random_vector(motion, true_ones ? 0 : 5), b.w_WB = random_vector(motion, true_ones ? 0 : 5);
          return bodies;
        };
        Load a(d->model), b(d->model), c(d->model);
        told.settle(0, first), lied.settle(0, distort(first));
        ASSERT_TRUE(told.command(0.01, later, a).ok() && lied.command(0.01, distort(later), b).ok());
        told.settle(0.02, later), lied.settle(0.02, distort(later));
        ASSERT_TRUE(told.command(0.025, first, a).ok() && lied.command(0.025, distort(first), b).ok());
        EXPECT_EQ((a.efforts - b.efforts).norm(), 0) << d->what;
        ASSERT_TRUE(measured.command(0.01, later, c).ok() && measured.command(0.025, first, c).ok());
        EXPECT_GT((a.efforts - c.efforts).norm(), 1e-3) << "the filter says something, and not what velocities say";
      }
    }
}

// z' = ω (x - z) for a path that is straight: against the solution of that equation, in one part or in many; and over steps the
// account of ½ ω u² is exact.
TEST(PositionFilter, FollowsStraightPathsExactlyAndAccountsForWhatItTakes) {
  for (int i = 0; i < cases(20); ++i) {
    Random random(6900, static_cast<std::uint64_t>(i));
    const double rate = random.uniform(1, 200), speed = random.uniform(-3, 3), end = random.uniform(0.01, 0.2),
                 from = random.uniform(2, 3);
    PositionFilter filter(rate, {true});
    const auto x = [&](double t) {
      const double angle = from + speed * t;
      return VecX::Constant(1, angle - 2 * std::numbers::pi * std::round(angle / (2 * std::numbers::pi))).eval();
    };
    VecX u(1);
    filter.settle(0, x(0), false);
    for (const int parts : {1, 5}) {
      PositionFilter again = filter;
      for (int k = 1; k < parts; ++k) again.settle(end * k / parts, x(end * k / parts), false);
      again.at(end, x(end), u);
      EXPECT_NEAR(u[0], speed / rate * (1 - std::exp(-rate * end)), 1e-14);
    }
    // Over steps along any path.
    double position = from, storage = 0;
    const double h = 0.01;
    for (int k = 0; k < 50; ++k) {
      const double change = random.uniform(-0.3, 0.3);
      const VecX start = VecX::Constant(1, position), way = VecX::Constant(1, change);
      filter.over(k * h, h, start, way, u);
      const double taken = rate * u[0];
      position += change;
      filter.settle((k + 1) * h, VecX::Constant(1, position), true);
      filter.at((k + 1) * h, VecX::Constant(1, position), u);
      const double now = 0.5 * rate * u[0] * u[0];
      EXPECT_NEAR(now - storage, taken * (change - h * taken), 1e-14 * (1 + rate));
      storage = now;
    }
  }
}

TEST(ImpedanceLaw, FromPositionsGivesUpOverEveryStepWhatTheFilterTakes) {
  int judged = 0;
  for (const char* method : {"discrete_gradient", "conserving"})
    for (const Sort sort : {Sort::Space, Sort::Plane, Sort::Loops})
      for (const bool through : {false, true})
        for (int i = 0; i < cases(5); ++i) {
          const auto d = drawn(sort, seed(7000) + static_cast<std::uint64_t>(i), true);
          if (!d) continue;
          Random random(7001, static_cast<std::uint64_t>(i));
          ImpedanceSpec spec = drawn_spec(random, d->model, d->bodies);
          spec.through_joints = through, spec.filter = 50;
          if (!ImpedanceLaw(d->model, spec).objection(d->bodies).empty()) spec.joint_damping = 0;
          if (!ImpedanceLaw(d->model, spec).objection(d->bodies).empty()) continue;
          const Balance b = balance(d->model, d->bodies, spec, method, 5e-3, 200);
          ASSERT_TRUE(b.verdict.ok()) << d->what;
          if (b.wound) continue;
          EXPECT_LE(b.clause, 1e-13) << d->what << " " << method;
          EXPECT_GT(b.clause, 0) << d->what;
          ++judged;
        }
  EXPECT_GT(judged, cases(5) * 3);
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
  controller->witness(0, e);
  const std::vector<std::pair<std::string, double>> expected = {{"stiffness_xx", 20}, {"stiffness_yy", 30}, {"stiffness_zz", 0},
                                                                {"stiffness_xy", 3},  {"stiffness_xz", 0},  {"stiffness_yz", 0}};
  for (const auto& [name, value] : expected)
    for (std::size_t k = 0; k < controller->readings().size(); ++k)
      if (controller->readings()[k].name == name) {
        EXPECT_NEAR(controller->values()[k], value, 1e-12 * 40) << name;
      }
}

/// Counts how often it may remember something.
class Counting final : public ControlLaw {
 public:
  explicit Counting(int& count) : count_(count) {}
  Verdict command(Instant, const Bodies&, Load&) override { return {}; }
  void settle(Instant, const Bodies&) override { ++count_; }
  void witness(const Witness&) override {}

 private:
  int& count_;
};

TEST(Controller, LetsASampledLawRememberWhatItSeesAtTicksOnly) {
  const Moving start = shipped("paper_c_pendulum");
  for (const double period : {0.0, 0.1}) {
    int count = 0;
    ControllerSpec c;
    c.nominal = std::make_shared<const Model>(start.model);
    c.law = [&](const Model&) { return std::make_unique<Counting>(count); };
    c.period = period;
    const auto controller = std::move(*Controller::build(c, start.model, 0));
    for (int k = 0; k <= 20; ++k) controller->settle(0.02 * k, start.start);
    EXPECT_EQ(count, period > 0 ? 5 : 21);
  }
}

}  // namespace
}  // namespace invar::testing
