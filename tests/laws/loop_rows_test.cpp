// SPDX-License-Identifier: Apache-2.0
//
// The rows of loops: of unit size whatever couples, and blind to what carries the loop.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/mech/assemble.hpp"
#include "invar/mech/loops.hpp"
#include "support/campaign.hpp"
#include "support/flat_loops.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

// Rows are pure numbers whatever a gear's ratio and unit: of a rack (rad/m), of a train of wheels, of a screw drive (m/rad).
TEST(LoopRows, OfCouplingsHaveUnitSize) {
  Random random(seed(7850));
  for (int i = 0; i < cases(30); ++i) {
    ModelSpec spec;
    const char* names[2] = {"one", "two"};
    for (int k = 0; k < 2; ++k) {
      BodySpec body;
      body.name = names[k], body.inertia = solid_box(1, {0.3, 0.2, 0.1});
      spec.bodies.push_back(body);
      JointSpec joint;
      joint.name = names[k], joint.child = names[k], joint.parent = "world";
      joint.kind = random.uniform(0, 1) < 0.5 ? JointKind::Revolute : JointKind::Prismatic;
      joint.at_parent.p = {random.uniform(1, 2) * k, 0, 0};
      spec.joints.push_back(joint);
    }
    CouplingSpec coupling;
    coupling.name = "gear", coupling.joint = "one", coupling.of = "two";
    coupling.coefficients = {0, std::pow(10.0, random.uniform(-4, 4))};
    spec.couplings.push_back(coupling);
    const Model model = build(spec);
    Loops loops(model);
    const Bodies bodies = place(model, JointState::initial(model));
    loops.measure_lengths(bodies);
    VecX q, v;
    loops.tree().measure(bodies, VecX::Zero(model.nv()), q, v);
    loops.place(q, VecX::Zero(model.nv()));
    ASSERT_EQ(loops.groups().size(), 1u);
    MatX J;
    loops.jacobian(0, J);
    EXPECT_NEAR(J.row(0).norm(), 1, 1e-12) << i << ", ratio " << coupling.coefficients[1];
    // The residual belongs to it: a small move changes one by what the other says.
    VecX by = VecX::Zero(2), before, after;
    by[random.below(2)] = 1e-6;
    loops.residual(0, before);
    loops.move(0, by, q);
    loops.place(q, VecX::Zero(model.nv()));
    loops.residual(0, after);
    EXPECT_NEAR((after - before)[0], J.row(0).dot(by), 1e-15) << i;
  }
}

// A linkage on a vehicle has moved where its own joints have: neither the way nor the speed of the vehicle counts.
TEST(LoopRows, DoNotSeeWhatCarriesThem) {
  Random random(seed(7900));
  for (int i = 0; i < cases(20); ++i) {
    Flat flat = flat_loop(random, 1);
    flat.spec.joints[0].kind = JointKind::Free;
    flat.spec.initial.erase("sling");
    const Model model = build(flat.spec);
    Loops loops(model);
    JointState joints = JointState::initial(model);
    const Bodies here = place(model, joints);
    loops.measure_lengths(here);
    const int q0 = model.joints()[0].q0, v0 = model.joints()[0].v0;
    joints.q.segment<3>(q0) += 30 * Vec3(1, 2, 0.5);
    const Quat turn(exp_so3(Vec3(random.uniform(-2, 2), random.uniform(-2, 2), random.uniform(-2, 2))));
    joints.q.segment<4>(q0 + 3) << turn.w(), turn.x(), turn.y(), turn.z();
    joints.v.segment<3>(v0) = Vec3(30, 5, 1);
    joints.v.segment<3>(v0 + 3) = Vec3(0.1, 0.7, -3);
    const Bodies there = place(model, joints);
    // A position at 70 m is rounded by 1e-14 m.
    EXPECT_LT(loops.moved(0, here, there), 1e-13) << i;
    EXPECT_LT(loops.speed(0, there), 1e-12) << i;
    const int a = model.joints()[static_cast<std::size_t>(*model.find_joint("a"))].q0;
    joints.q[a] += 0.01;
    EXPECT_NEAR(loops.moved(0, there, place(model, joints)), 0.01, 2e-2) << i;
    EXPECT_GT(loops.moved(0, there, place(model, joints)), 0.0099) << i;
  }
}

}  // namespace
}  // namespace invar::testing
