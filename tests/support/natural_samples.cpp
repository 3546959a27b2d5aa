// SPDX-License-Identifier: Apache-2.0
#include "support/natural_samples.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "invar/mech/assemble.hpp"

namespace invar::testing {

namespace {

void add_tendon(Random& random, ModelSpec& spec, std::vector<PointSpec> points, double stiffness) {
  TendonSpec tendon;
  tendon.name = "tendon" + std::to_string(spec.tendons.size());
  tendon.points = std::move(points);
  tendon.stiffness = stiffness * random.uniform(0.5, 2);
  tendon.length = random.uniform(0.1, 0.5);
  tendon.damping = random.chance(0.3) ? 0.1 * stiffness : 0;
  tendon.tension_only = random.chance(0.3);
  spec.tendons.push_back(tendon);
}

}  // namespace

void add_tendons(Random& random, ModelSpec& spec, int count, double stiffness) {
  for (int k = 0; k < count; ++k) {
    const int points = 2 + random.below(3), bodies = static_cast<int>(spec.bodies.size()) + 1;
    int body = random.below(bodies) - 1;
    std::vector<PointSpec> through;
    for (int p = 0; p < points; ++p) {
      PointSpec point;
      body = (body + 2 + random.below(bodies - 1)) % bodies - 1;  // another one than before
      if (body >= 0) point.body = spec.bodies[static_cast<std::size_t>(body)].name;
      point.p = random_vector(random, 0.5);
      through.push_back(point);
    }
    add_tendon(random, spec, std::move(through), stiffness);
  }
}

void add_tendons_over_joints(Random& random, ModelSpec& spec, int count, double stiffness) {
  for (int k = 0; k < count; ++k) {
    const JointSpec& joint = spec.joints[static_cast<std::size_t>(random.below(static_cast<int>(spec.joints.size())))];
    const Vec3 a = random_vector(random, 0.5), b = random_vector(random, 0.5);
    std::vector<PointSpec> ends = {{joint.parent, "", a}, {joint.child, "", b}};
    if (random.chance(0.5)) std::swap(ends[0], ends[1]);
    add_tendon(random, spec, std::move(ends), stiffness);
  }
}

void leave_out_what_is_refused(ModelSpec& spec) {
  for (JointSpec& joint : spec.joints) {
    if (joint.spring.law == SpringLaw::EulerPrinted) joint.spring.law = SpringLaw::Euler;
    if (joint.kind == JointKind::Spherical) joint.armature.clear();
    if (joint.kind != JointKind::Free) continue;
    joint.spring = {};
    joint.limits = {};
    joint.damping.clear(), joint.friction.clear(), joint.armature.clear();
  }
}

Sample natural_sample(std::uint64_t seed, MechanismOptions options, int tendons, bool with_energy) {
  if (options.kinds.empty()) options.kinds = natural_kinds();
  Random random(seed);
  Mechanism mechanism = random_mechanism(random, options);
  for (JointSpec& joint : mechanism.spec.joints) {
    joint.armature.clear();
    if (with_energy) joint.spring.law = SpringLaw::RotationVector;
  }
  add_tendons(random, mechanism.spec, tendons, 20);
  Model model = build(mechanism.spec);
  Bodies bodies = at_rest(model, mechanism.X_WB);
  draw_velocities(random, model, bodies);
  Load load = random_load(random, model);
  return {std::move(mechanism), std::move(model), std::move(bodies), std::move(load)};
}

Sample pin_tree(std::uint64_t seed, int bodies, int near, int far, double stiffness) {
  Random random(seed);
  Mechanism mechanism = random_mechanism(
      random, {.bodies = bodies, .mass_ratio = 10, .passive = false, .locked = false, .planar = true, .kinds = {}});
  const double down = random.uniform(0, 6.28);
  mechanism.spec.gravity = 9.81 * Vec3(std::cos(down), std::sin(down), 0);
  add_tendons_over_joints(random, mechanism.spec, near, stiffness);
  add_tendons(random, mechanism.spec, far, stiffness);
  Model model = build(mechanism.spec);
  Bodies start = at_rest(model, mechanism.X_WB);
  draw_velocities(random, model, start);
  Load load = random_load(random, model, 2);
  return {std::move(mechanism), std::move(model), std::move(start), std::move(load)};
}

Sample planar_chain(std::uint64_t seed, int n, bool eccentric, int tendons) {
  Random random(seed);
  Mechanism mechanism;
  ModelSpec& spec = mechanism.spec;
  spec.gravity = Vec3(random.uniform(-2, 2), -9.81, 0);
  double last = 0;
  JointState joints;
  for (int k = 0; k < n; ++k) {
    const double length = random.uniform(0.3, 1.5);
    BodySpec body;
    body.name = "link" + std::to_string(k);
    body.inertia = random_inertia(random, random.uniform(0.2, 3), 0.5);
    body.inertia.p_BC =
        Vec3(random.uniform(0.2, 0.8) * length, eccentric ? random.uniform(-0.3, 0.3) : 0, random.uniform(-0.1, 0.1));
    JointSpec joint;
    joint.name = "joint" + std::to_string(k);
    joint.kind = JointKind::Revolute;
    joint.parent = k == 0 ? "world" : spec.bodies.back().name;
    joint.child = body.name;
    joint.at_parent.p = Vec3(last, 0, 0);
    joint.axis = Vec3(0, 0, random.chance(0.5) ? 1 : -1);
    if (random.chance(0.3)) joint.spring.stiffness = {random.uniform(1, 10)};
    if (random.chance(0.3)) joint.damping = {random.uniform(0.1, 1)};
    last = length;
    spec.bodies.push_back(body);
    spec.joints.push_back(joint);
  }
  add_tendons(random, spec, tendons, 20);
  for (TendonSpec& tendon : spec.tendons)
    for (PointSpec& point : tendon.points) point.p.z() = random.uniform(-0.2, 0.2);
  Model model = build(spec);
  joints = JointState::initial(model);
  for (int k = 0; k < n; ++k) joints.q[k] = random.uniform(-2, 2), joints.v[k] = random.uniform(-3, 3);
  joints.known.assign(model.joints().size(), true);
  Bodies bodies = place(model, joints);
  Load load = random_load(random, model);
  return {std::move(mechanism), std::move(model), std::move(bodies), std::move(load)};
}

}  // namespace invar::testing
