// SPDX-License-Identifier: Apache-2.0
#include "support/yielding.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "invar/base/largest.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/cayley/skeleton.hpp"
#include "invar/mech/energy.hpp"
#include "invar/mech/kinematics.hpp"
#include "support/march.hpp"
#include "support/natural_samples.hpp"

namespace invar::testing {

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

VNode node_at(const Model& model, const ImpedanceSpec& spec, const Natural& natural, const State& x) {
  VNode n;
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

namespace {

// What joint dampers take over a step, J: for coordinates from their change, for balls from the rate of the rotation.
double taken_by_joints(const Model& model, const VNode& a, const VNode& b, double h) {
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

}  // namespace

StepBalance balance(const ModelSpec& plant, const Model& model, const Bodies& bodies, ImpedanceSpec spec, const char* method,
                    double h, int steps) {
  spec.over_steps = true;
  const auto controller = controller_of(model, spec);
  Natural natural(model);
  System system(natural);
  system.add(*controller);
  State x;
  natural.set(bodies, x, {});
  auto integrator = std::move(*make_integrator(method, {}));
  StepBalance out;
  VNode before = node_at(model, spec, natural, x);
  out.first = before.V;
  controller->settle(0, before.bodies);
  out.verdict = march(plant, system, *integrator, 0, h * steps, h, x, [&](double t, double done) {
                  const VNode now = node_at(model, spec, natural, x);
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
                      out.wound = out.wound || (joint.has_passive && joint.winds(k) && std::abs(now.q[joint.q0 + k]) > 3.0);
                  before = now;
                }).verdict;
  out.last = before.V;
  for (const Clause& c : controller->law().certificate().clauses())
    if (c.name == "V_falls_over_steps") out.clause = c.worst;
  return out;
}

}  // namespace invar::testing
