// SPDX-License-Identifier: Apache-2.0
//
// Paper A, section 4.1, as docs/papers.md puts it right, shown on the product.
#include <gtest/gtest.h>

#include "invar/base/largest.hpp"
#include "invar/control/disturbance.hpp"
#include "invar/integrate/make.hpp"
#include "invar/io/model_file.hpp"
#include "invar/mech/assemble.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/energy.hpp"
#include "support/newton_euler.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

// docs/papers.md A13: two thin rods of half-length l in line, at rest, a transverse moment M on the first: |F_J| = 3 M / (8 l),
// exactly. From m a = F, I alpha_1 = M - l F, I alpha_2 = -l F, the joint closed (a_1 + l alpha_1 = a_2 - l alpha_2), I = m l²/3.
TEST(TwoRods, TransverseMomentNeedsAJointForceOfThreeEighths) {
  const double l = 0.5, M = 0.7, m = 1.3;
  ModelSpec spec;
  spec.gravity.setZero();
  for (const char* name : {"rod1", "rod2"}) {
    BodySpec body;
    body.name = name;
    body.inertia.mass = m;
    body.inertia.I_C.diagonal() << 0, m * l * l / 3, m * l * l / 3;
    spec.bodies.push_back(body);
  }
  JointSpec joint;
  joint.name = "elbow", joint.kind = JointKind::Spherical, joint.parent = "rod1", joint.child = "rod2";
  joint.at_parent.p.x() = l, joint.at_child.p.x() = -l;
  spec.joints.push_back(joint);
  // An ideal rod may spin about itself without inertia: a trace of it makes the question well posed and changes nothing else.
  for (BodySpec& body : spec.bodies) body.inertia.I_C(0, 0) = 1e-3 * m * l * l;
  const Model model = *Model::build(spec);
  Augmented dynamics(model);
  State x;
  dynamics.set(place(model, JointState::initial(model)), x);
  Load load(model);
  load.port[0].moment = Vec3(0, 0, M);
  Evaluation e;
  ASSERT_TRUE(dynamics.evaluate(x, load, e).ok());
  expect_newton_euler(spec, e, load);
  EXPECT_NEAR(e.reactions[0].force.norm(), 3 * M / (8 * l), 1e-14);
  load.port[0].moment = Vec3(M, 0, 0);  // along the chain: none
  ASSERT_TRUE(dynamics.evaluate(x, load, e).ok());
  expect_newton_euler(spec, e, load);
  EXPECT_LT(e.reactions[0].force.norm(), 1e-14);
}

// The open loop with projection: gaps at round-off, linear momentum constant outside the pulses.
TEST(OpenLoop, ProjectionKeepsJointsClosedToRoundOff) {
  const Model model = *Model::build(*read_model_file(source_path("models/paper_a_chain.toml")));
  Augmented dynamics(model);
  System system(dynamics);
  DisturbanceSpec push;
  push.body = "body2", push.force = Vec3(0, 2, 0), push.signal = Pulse{3.0, 4.0, 1.0};
  const Disturbance disturbance = *Disturbance::build(model, push);
  system.add(disturbance);
  State x;
  dynamics.set(place(model, JointState::initial(model)), x);
  const auto rk4 = std::move(*make_integrator("rk4"));
  rk4->reset(system, x, 0.005);
  Bodies bodies;
  double gap = 0, drift = 0;
  Vec3 after = Vec3::Zero();
  for (int k = 600; k < 1600; ++k) {  // from 3 s on; before, the chain rests
    const double h = 0.005, t = k * h;
    double done = 0;
    system.enter(t, t + h);
    ASSERT_TRUE(rk4->step(system, t, h, x, done).ok());
    dynamics.bodies(x, bodies);
    keep_largest(gap, constraint_error(model, bodies, x.wound).position);
    const Vec3 p = momentum(model, bodies).linear;
    if (k == 799) after = p;
    if (k > 799) keep_largest(drift, (p - after).norm());
  }
  EXPECT_NEAR(after.y(), 2, 1e-13);  // 2 N over 1 s
  EXPECT_LT(gap, 1e-14);             // a few roundings of positions up to 5 m
  EXPECT_LT(drift, 1e-12);
}

}  // namespace
}  // namespace invar::testing
