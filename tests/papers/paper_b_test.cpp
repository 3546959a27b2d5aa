// SPDX-License-Identifier: Apache-2.0
//
// Paper B's series-parallel manipulator: the inertia at one configuration, the closed form of its triangle, and the Jacobians
// (27) written out with adjoints, frame by frame.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/io/model_file.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/mech/minimal/partition.hpp"
#include "invar/run/start.hpp"
#include "support/newton_euler.hpp"
#include "support/places.hpp"

namespace invar {
namespace {

constexpr double kL0 = 0.35, kl0 = 0.425, kL = 2;

ModelSpec shipped(const char* name) {
  std::string path = testing::source_path();
  path += "/models/";
  path += name;
  path += ".toml";
  return *read_model_file(path);
}

struct At {
  ModelSpec spec;
  Model model;
  Minimal minimal;
  State x;
  Partition p;

  At(const char* name, double phi, double theta, double delta, const Vec3& rates)
      : spec(shipped(name)), model(*Model::build(spec)), minimal(model) {
    Start start(model);
    start.named.assign(model.joints().size(), false);
    const double q[] = {phi, theta, delta};
    int k = 0;
    for (const char* each : {"phi", "theta", "delta"}) {
      const int j = *model.find_joint(each);
      const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
      start.named[static_cast<std::size_t>(j)] = true;
      start.joints.q[joint.q0] = q[k];
      start.joints.v[joint.v0] = rates[k++];
    }
    start.joints.name(model, start.named);
    x = *state_at(minimal, start);
    EXPECT_TRUE(partition_at(minimal.tree(), x.q, x.v, x.wound, Load(model), p).ok());
  }
};

double zeta_of(double delta) { return -2 * std::acos((kl0 + delta) / (2 * kL0)); }

TEST(PaperB, InertiaAtOneConfiguration) {
  const At at("series_parallel_nominal", 0.3, 0.4, 0.1, Vec3::Zero());
  EXPECT_EQ(at.p.coordinates, (std::vector<std::string>{"phi", "theta", "delta"}));
  EXPECT_NEAR(at.p.Gamma(0, 0), 408.702, 5e-4);  // to the digits that are known
}

TEST(PaperB, TriangleIsTheClosedFormOfEquation28) {
  for (const double delta : {0.0, 0.05, 0.1, 0.15, 0.2}) {
    At at("series_parallel_plant", -0.4, 0.7, delta, Vec3(1, -2, 0.3));
    const Joint& zeta = at.model.joints()[static_cast<std::size_t>(*at.model.find_joint("zeta"))];
    Evaluation out;
    ASSERT_TRUE(at.minimal.evaluate(at.x, Load(at.model), out).ok());
    testing::expect_newton_euler(at.spec, out, Load(at.model));
    EXPECT_NEAR(out.q[zeta.q0], zeta_of(delta), 1e-12) << delta;
    const double l = kl0 + delta, slope = 2 / std::sqrt(4 * kL0 * kL0 - l * l);
    EXPECT_NEAR(at.p.joint_rates(zeta.v0, 2), slope, 1e-12 * slope) << delta;
    EXPECT_NEAR(at.p.joint_rates(zeta.v0, 0), 0, 1e-14);
    EXPECT_NEAR(at.p.joint_rates(zeta.v0, 1), 0, 1e-14);
    // The printed form of (28) is the same number.
    const double c = l * l / (2 * kL0 * kL0) - 1;
    EXPECT_NEAR(slope, l / (kL0 * kL0 * std::sqrt(1 - c * c)), 1e-12 * slope);
  }
}

using Mat6 = Eigen::Matrix<double, 6, 6>;

// Ad of T_AB on twists (angular; linear): from B to A.
Mat6 adjoint(const Mat3& R, const Vec3& p) {
  Mat3 hat;
  hat << 0, -p.z(), p.y(), p.z(), 0, -p.x(), -p.y(), p.x(), 0;
  Mat6 out = Mat6::Zero();
  out.topLeftCorner<3, 3>() = out.bottomRightCorner<3, 3>() = R;
  out.bottomLeftCorner<3, 3>() = hat * R;
  return out;
}

Mat3 about(const Vec3& axis, double angle) { return Eigen::AngleAxisd(angle, axis).toRotationMatrix(); }

// Equation (27) as it stands: Table I's distances p_CB, p_FB with B1 of docs/papers.md, one line per frame.
TEST(PaperB, JacobiansOfEquation27) {
  const double theta = 0.4, delta = 0.13, zeta = zeta_of(delta), l = kl0 + delta;
  const At at("series_parallel_nominal", 0.3, theta, delta, Vec3::Zero());
  const Mat3 one = Mat3::Identity();
  const auto unit = [](int column) {
    MatX out = MatX::Zero(6, 3);
    out(2, column) = 1;
    return out;
  };
  const Mat3 R_F1B1 = about(Vec3::UnitX(), std::acos(0.0)).transpose();
  const MatX J_B1 = unit(0);
  const MatX J_C1 = adjoint(one, Vec3(0, 0, -0.103)) * J_B1;
  const MatX J_F1 = adjoint(R_F1B1, Vec3(0, -0.206, -0.075)) * J_B1;
  const MatX J_B2 = adjoint(about(Vec3::UnitZ(), theta).transpose(), Vec3::Zero()) * J_F1 + unit(1);
  const MatX J_C2 = adjoint(one, Vec3(-0.959, -0.001, 0.077)) * J_B2;
  const MatX J_F2 = adjoint(one, Vec3(-kL, 0, 0)) * J_B2;
  const MatX Jhat_B3 = adjoint(about(Vec3::UnitZ(), zeta).transpose(), Vec3::Zero()) * J_F2 + unit(2);
  Mat3 E = Mat3::Identity();
  E(2, 2) = 2 / std::sqrt(4 * kL0 * kL0 - l * l);
  const MatX J_B3 = Jhat_B3 * E;
  const MatX J_C3 = adjoint(one, Vec3(-1.041, -0.001, 0.077)) * J_B3;
  const MatX J_F3 = adjoint(one, Vec3(-kL, 0, 0)) * J_B3;
  // Numbers of a few metres per radian, and 4.4 rad/m: 1e-13 is some hundred of their last places.
  EXPECT_LE((at.p.J[0] - J_C1).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_LE((at.p.J[1] - J_C2).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_LE((at.p.J[2] - J_C3).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LE((at_frame(at.p.J[2], Pose{Quat::Identity(), Vec3(kL - 1.041, -0.001, 0.077)}) - J_F3).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(PaperB, PlantAcceleratesAsTheUnreducedEquationsSay) {
  const At at("series_parallel_plant", 0.3, 0.4, 0.1, Vec3(0.5, -0.7, 0.1));
  const Model& model = at.model;
  Bodies bodies;
  at.minimal.bodies(at.x, bodies);
  Augmented augmented(model);
  State x;
  Evaluation out;
  augmented.set(bodies, x);
  ASSERT_TRUE(augmented.evaluate(x, Load(model), out).ok());
  testing::expect_newton_euler(at.spec, out, Load(model));
  int k = 0;
  for (const char* name : {"phi", "theta", "delta"}) {
    const double vdot = out.vdot[model.joints()[static_cast<std::size_t>(*model.find_joint(name))].v0];
    EXPECT_NEAR(at.p.vdot[k++], vdot, 1e-9 * (1 + std::abs(vdot))) << name;
  }
}

}  // namespace
}  // namespace invar
