// SPDX-License-Identifier: Apache-2.0
// Work that reactions miss, against the sum written down in joules: the masses of connected parts, the units and the axes of
// World do not enter.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/mech/unbounded.hpp"
#include "support/campaign.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

// Bodies that nothing holds are parts of their own; masses over six decades, random accelerations and motions. Sums of some tens
// of terms: 1e-12 of them.
TEST(MissedWork, IsThatOfForcesLessInertiaInJoules) {
  for (int k = 0; k < cases(40); ++k) {
    const auto at = seed(98800) + static_cast<std::uint64_t>(k);
    Random random(at);
    ModelSpec spec;
    const int count = 2 + random.below(4);
    for (int b = 0; b < count; ++b) {
      BodySpec made;
      made.name = "b" + std::to_string(b);
      made.inertia = random_inertia(random, std::pow(10.0, random.uniform(-3, 3)), 0.5);
      spec.bodies.push_back(made);
    }
    spec.gravity = random_vector(random, 5);
    const Model model = build(spec);
    std::vector<Pose> X_WB;
    for (int b = 0; b < count; ++b) X_WB.push_back(random_pose(random, 1));
    Bodies state = at_rest(model, X_WB), motion = state;
    Accelerations x(state.size());
    const Load load = random_load(random, model);
    double work = 0, terms = 0;
    const auto add = [&](double given, double used) { work += given - used, terms += std::abs(given) + std::abs(used); };
    for (std::size_t b = 0; b < state.size(); ++b) {
      state[b].w_WB = random_vector(random, 1);
      motion[b].v_WC = random_vector(random, 1), motion[b].w_WB = random_vector(random, 1);
      x[b] = {random_vector(random, 5), random_vector(random, 5)};
      const Inertia& inertia = model.bodies()[b].inertia;
      const Mat3 R = state[b].q_WB.toRotationMatrix(), I = R * inertia.I_C * R.transpose();
      const Vec3 force = load.port[b].force + inertia.mass * model.gravity();
      const Vec3 moment = load.port[b].moment - state[b].w_WB.cross(I * state[b].w_WB);
      add(force.dot(motion[b].v_WC), inertia.mass * x[b].a_WC.dot(motion[b].v_WC));
      add(moment.dot(motion[b].w_WB), (I * x[b].alpha_WB).dot(motion[b].w_WB));
    }
    const VecX wound = VecX::Zero(model.nv());
    EXPECT_NEAR(work_that_is_missed(model, state, wound, x, load, motion), std::abs(work) / terms, 1e-12) << "seed " << at;
  }
}

}  // namespace
}  // namespace invar::testing
