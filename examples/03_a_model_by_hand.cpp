// SPDX-License-Identifier: Apache-2.0
// Two thin rods of half-length l, floating, joined end to end by a ball, and a moment M across the first one: the joint carries
// the force 3M/(8l), exactly, although nobody pushes (paper A's third criterion of section 4.1, put right).
#include <cmath>
#include <cstdio>

#include "invar/mech/augmented.hpp"

int main() {
  using namespace invar;
  const double l = 0.5, mass = 1.0, moment = 2.0;
  ModelSpec spec;
  spec.name = "two rods";
  spec.gravity.setZero();
  for (const char* rod : {"left", "right"}) {
    BodySpec body;
    body.name = rod;
    body.inertia.mass = mass;
    body.inertia.I_C = Vec3(1e-4, mass * l * l / 3, mass * l * l / 3).asDiagonal();
    spec.bodies.push_back(body);
  }
  JointSpec ball;
  ball.name = "ball";
  ball.kind = JointKind::Spherical;
  ball.parent = "left";
  ball.child = "right";
  ball.at_parent.p = Vec3(l, 0, 0);
  ball.at_child.p = Vec3(-l, 0, 0);
  spec.joints.push_back(ball);
  const auto model = Model::build(spec);
  if (!model) return std::puts(model.error().text().c_str()), 2;

  // Both along x, at rest.
  Bodies bodies(2);
  bodies[1].p_WC = Vec3(2 * l, 0, 0);
  Load load(*model);
  load.port[0].moment = Vec3(0, 0, moment);

  Augmented dynamics(*model);
  Accelerations accelerations(2);
  std::vector<Wrench> reactions(1);
  const Verdict verdict = dynamics.solve(bodies, load, accelerations, reactions);
  if (!verdict.ok()) return std::printf("%s\n", name(verdict.status)), 3;
  const double force = reactions[0].force.norm(), expected = 3 * moment / (8 * l);
  std::printf("the joint carries %.15f N, 3M/(8l) is %.15f N\n", force, expected);
  return std::abs(force - expected) < 1e-13 * expected ? 0 : 1;
}
