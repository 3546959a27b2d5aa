// SPDX-License-Identifier: Apache-2.0
//
// What follows from the matrices of minimal coordinates, against Bodies and the unreduced equations, on drawn trees and loops.
// All are products of numbers of order one that are computed twice; 1e-10 leaves six digits to the condition of Γ and of
// closures.
#include "invar/mech/minimal/dynamics.hpp"

#include <gtest/gtest.h>

#include "invar/mech/energy.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "support/campaign.hpp"
#include "support/newton_euler.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

constexpr double kSame = 1e-10;

struct At {
  Sample sample;
  Minimal minimal;
  State x;
  Partition p;

  explicit At(Sample&& s) : sample(std::move(s)), minimal(sample.model) {
    minimal.set(sample.bodies, x);
    EXPECT_TRUE(partition_at(minimal.tree(), x.q, x.v, x.wound, sample.load, p).ok());
  }
};

template <class F>
void for_mechanisms(bool passive, F&& f) {
  for (int k = 0; k < cases(40); ++k) {
    MechanismOptions options{.bodies = 2 + k % 6, .kinds = {}};
    options.mass_ratio = 10, options.passive = passive, options.floating = k % 4 == 3;
    if (k % 3 == 1) options.loops = 1;
    const std::uint64_t at = seed(5600) + static_cast<std::uint64_t>(k);
    At sample(random_sample(at, options));
    if (sample.p.v.size() == 0) continue;
    f(sample, "seed " + std::to_string(at) + ": " + describe(sample.sample.mechanism.spec));
  }
}

TEST(InverseDynamics, AsksForNothingWhereTheMotionIsFree) {
  for_mechanisms(true, [](At& s, const std::string& what) {
    const VecX needed = inverse_dynamics(s.p, s.p.vdot);
    const double size = (s.p.Gamma * s.p.vdot).cwiseAbs().maxCoeff() + s.p.h.cwiseAbs().maxCoeff() + s.p.Q.cwiseAbs().maxCoeff();
    EXPECT_LE(needed.cwiseAbs().maxCoeff(), kSame * size) << what;
  });
}

TEST(InverseDynamics, IsUndoneByForwardDynamics) {
  for_mechanisms(true, [](At& s, const std::string& what) {
    // Drive the tree's own joints as inverse dynamics asks, and let the unreduced equations answer.
    const JointTree& tree = s.minimal.tree();
    VecX wanted = VecX::LinSpaced(s.p.v.size(), -1, 2);
    const VecX needed = inverse_dynamics(s.p, wanted);
    Load load = s.sample.load;
    for (std::size_t i = 0; i < tree.independent().size(); ++i) {
      const int f = tree.freedom_of_model(tree.independent()[i]);
      if (f < 0) return;  // a floating body has no motor
      load.efforts[f] += needed[static_cast<Eigen::Index>(i)];
    }
    Rate rate;
    ASSERT_TRUE(s.minimal.rate(s.x, load, rate).ok()) << what;
    for (std::size_t i = 0; i < tree.independent().size(); ++i)
      EXPECT_NEAR(rate.a[tree.independent()[i]], wanted[static_cast<Eigen::Index>(i)],
                  kSame * (1 + s.p.vdot.cwiseAbs().maxCoeff() + rate.a.cwiseAbs().maxCoeff()))
          << what;
  });
}

TEST(Regressor, TimesParametersIsInverseDynamics) {
  for_mechanisms(false, [](At& s, const std::string& what) {
    Partition bare;
    ASSERT_TRUE(partition_at(s.minimal.tree(), s.x.q, s.x.v, s.x.wound, Load(s.sample.model), bare).ok());
    const VecX vdot = VecX::LinSpaced(s.p.v.size(), 3, -1);
    const VecX needed = inverse_dynamics(bare, vdot);
    const VecX told = regressor(s.sample.model, bare, vdot) * inertial_parameters(s.sample.model);
    EXPECT_LE((needed - told).cwiseAbs().maxCoeff(), kSame * (1 + needed.cwiseAbs().maxCoeff() + bare.Q.cwiseAbs().maxCoeff()))
        << what;
  });
}

TEST(CentroidalMomentum, IsThatOfTheBodies) {
  for_mechanisms(true, [](At& s, const std::string& what) {
    const Vec6 h = centroidal_momentum(s.sample.model, s.p) * s.p.v;
    const Vec3 angular = angular_momentum_about_com(s.sample.model, s.sample.bodies),
               linear = momentum(s.sample.model, s.sample.bodies).linear;
    EXPECT_LE((h.head<3>() - angular).norm(), kSame * (1 + angular.norm())) << what;
    EXPECT_LE((h.tail<3>() - linear).norm(), kSame * (1 + linear.norm())) << what;
  });
}

TEST(FrameJacobian, MovesTheFrame) {
  for_mechanisms(true, [](At& s, const std::string& what) {
    ModelSpec spec = s.sample.mechanism.spec;
    FrameSpec frame;
    frame.name = "probe", frame.body = spec.bodies.back().name;
    frame.at = Pose{normalized(Quat(0.3, -0.5, 0.2, 0.7)), Vec3(0.3, -0.2, 0.5)};
    spec.frames.push_back(frame);
    const Model model = build(spec);
    const int index = *model.find_frame("probe");
    const int body = static_cast<int>(spec.bodies.size()) - 1;
    Minimal minimal(model);
    State x;
    Partition p;
    minimal.set(s.sample.bodies, x);
    ASSERT_TRUE(partition_at(minimal.tree(), x.q, x.v, x.wound, s.sample.load, p).ok());
    Evaluation e;
    ASSERT_TRUE(minimal.evaluate(x, s.sample.load, e).ok());
    expect_newton_euler(spec, e, s.sample.load);
    const Pose X_WE = frame_pose(model, index, e.bodies);
    const BodyState& state = e.bodies[static_cast<std::size_t>(body)];
    const BodyAcceleration& a = e.accelerations[static_cast<std::size_t>(body)];
    const Vec3 arm = X_WE.p - state.p_WC, v = state.velocity_at(X_WE.p);
    const Vec3 acceleration = a.a_WC + a.alpha_WB.cross(arm) + state.w_WB.cross(state.w_WB.cross(arm));
    const Vec6 V = frame_jacobian(model, p, index) * p.v;
    const Vec6 A = frame_jacobian(model, p, index) * p.vdot + frame_bias(model, p, index);
    const double size = 1 + v.norm() + state.w_WB.norm(), fast = size + a.a_WC.norm() + a.alpha_WB.norm() + size * size;
    EXPECT_LE((X_WE.q * Vec3(V.head<3>()) - state.w_WB).norm(), kSame * size) << what;
    EXPECT_LE((X_WE.q * Vec3(V.tail<3>()) - v).norm(), kSame * size) << what;
    EXPECT_LE((X_WE.q * Vec3(A.head<3>()) - a.alpha_WB).norm(), kSame * fast) << what;
    EXPECT_LE((X_WE.q * Vec3(A.tail<3>()) + state.w_WB.cross(v) - acceleration).norm(), kSame * fast) << what;
  });
}

}  // namespace
}  // namespace invar::testing
