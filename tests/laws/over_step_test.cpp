// SPDX-License-Identifier: Apache-2.0
//
// Joints and forces over the mean motion of a step, on drawn mechanisms.
#include <gtest/gtest.h>

#include "invar/integrate/make.hpp"
#include "invar/mech/energy.hpp"
#include "invar/mech/kinematics.hpp"
#include "support/campaign.hpp"
#include "support/yielding.hpp"

namespace invar::testing {
namespace {

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
          const double nearest = joint.winds(k) ? nearest_turn(change, h * over.v[k]) : change;
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
      const VNode a = node_at(d->model, nowhere, natural, x);
      integrator->reset(system, x, h);
      double done = 0;
      if (!integrator->step(system, 0, h, x, done).ok() || integrator->report().substeps > 1) continue;
      const VNode b = node_at(d->model, nowhere, natural, x);
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

}  // namespace
}  // namespace invar::testing
