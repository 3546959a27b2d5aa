// SPDX-License-Identifier: Apache-2.0
#include "support/natural_samples.hpp"

#include <gtest/gtest.h>

#include "invar/mech/assemble.hpp"

namespace invar::testing {

void add_tendons(Random& random, ModelSpec& spec, int count, double stiffness) {
  for (int k = 0; k < count; ++k) {
    TendonSpec tendon;
    tendon.name = "tendon" + std::to_string(k);
    const int points = 2 + random.below(3), bodies = static_cast<int>(spec.bodies.size()) + 1;
    int body = random.below(bodies) - 1;
    for (int p = 0; p < points; ++p) {
      PointSpec point;
      body = (body + 2 + random.below(bodies - 1)) % bodies - 1;  // another one than before
      if (body >= 0) point.body = spec.bodies[static_cast<std::size_t>(body)].name;
      point.p = random_vector(random, 0.5);
      tendon.points.push_back(point);
    }
    tendon.stiffness = stiffness * random.uniform(0.5, 2);
    tendon.length = random.uniform(0.1, 0.5);
    tendon.damping = random.chance(0.3) ? 0.1 * stiffness : 0;
    tendon.tension_only = random.chance(0.3);
    spec.tendons.push_back(tendon);
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
