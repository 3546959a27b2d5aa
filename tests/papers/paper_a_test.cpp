// SPDX-License-Identifier: Apache-2.0
//
// Paper A, Appendices A, B and C typed in as printed, for three bodies and two ball joints, and compared with the assembly that
// serves every mechanism. Signs: docs/papers.md A1 (force of body j+1 on j), A2 (the unknown of (19) is +F_J), A3 (minus in (9)),
// A5, A6.
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "support/dense_kkt.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

using Mat18 = Eigen::Matrix<double, 18, 18>;

/// S(v) of Appendix B, typed in by itself.
Mat3 S(const Vec3& v) {
  Mat3 m;
  m << 0, -v(2), v(1), v(2), 0, -v(0), -v(1), v(0), 0;
  return m;
}

/// (45), as printed: inertial coordinates to body coordinates.
Mat3 T_BI(const Quat& q) {
  const double q0 = q.w(), q1 = q.x(), q2 = q.y(), q3 = q.z();
  Mat3 T;
  T << q0 * q0 + q1 * q1 - q2 * q2 - q3 * q3, 2 * (q1 * q2 + q0 * q3), 2 * (q1 * q3 - q0 * q2),  //
      2 * (q1 * q2 - q0 * q3), q0 * q0 - q1 * q1 + q2 * q2 - q3 * q3, 2 * (q2 * q3 + q0 * q1),   //
      2 * (q1 * q3 + q0 * q2), 2 * (q2 * q3 - q0 * q1), q0 * q0 - q1 * q1 - q2 * q2 + q3 * q3;
  return T;
}

/// Three bodies, frames at their centres of mass, ball joints between neighbours with the printed spring.
struct Chain {
  Model model;
  Bodies bodies;
  Load load;
  Vec3 stiffness = Vec3(5, 6, 7);
};

Chain chain(std::uint64_t seed) {
  Random random(seed);
  ModelSpec spec;
  spec.gravity = Vec3(0.5, -1, -9);
  for (int b = 0; b < 3; ++b) {
    Inertia inertia = random_inertia(random, random.uniform(0.5, 2), 1.0);
    inertia.p_BC.setZero();
    spec.bodies.push_back({"B" + std::to_string(b + 1), inertia, {}, {}});
  }
  std::vector<Pose> poses = {random_pose(random, 1.0)};
  for (int j = 0; j < 2; ++j) {
    JointSpec joint;
    joint.name = "J" + std::to_string(j + 1);
    joint.kind = JointKind::Spherical;
    joint.parent = "B" + std::to_string(j + 1), joint.child = "B" + std::to_string(j + 2);
    joint.at_parent.p = random_vector(random, 0.5), joint.at_child.p = random_vector(random, 0.5);
    joint.spring = {SpringLaw::EulerPrinted, {5, 6, 7}, {}};
    // Relative attitudes of at most 1.2 rad: away from the singular pitch of the Euler angles.
    const Pose X_FM{exp_so3(random.uniform(0.2, 1.2) * random_unit(random)), Vec3::Zero()};
    poses.push_back(poses.back() * joint.at_parent * X_FM * joint.at_child.inverse());
    spec.joints.push_back(joint);
  }
  Model model = build(spec);
  Bodies bodies = at_rest(model, poses);
  draw_velocities(random, model, bodies);
  Load load = random_load(random, model);
  load.efforts.setZero();
  return {std::move(model), std::move(bodies), std::move(load)};
}

/// m_J of (9)-(11), minus sign of docs/papers.md A3, angles and axes from the transformation matrices.
Vec3 joint_moment(const Chain& c, std::size_t j) {
  const Mat3 Tj = T_BI(c.bodies[j].q_WB), Tk = T_BI(c.bodies[j + 1].q_WB);
  const Mat3 T = Tj * Tk.transpose();  // T1(φ) T2(θ) T3(ψ), (10)
  const double phi = std::atan2(T(1, 2), T(2, 2)), theta = std::asin(-T(0, 2)), psi = std::atan2(T(0, 1), T(0, 0));
  Mat3 T3;
  T3 << std::cos(psi), std::sin(psi), 0, -std::sin(psi), std::cos(psi), 0, 0, 0, 1;
  const Mat3 TX = T3 * Tk;  // (11)
  const Vec3 j1 = Tj.row(0), j2 = TX.row(1), j3 = Tk.row(2);
  return -(c.stiffness[0] * phi * j1 + c.stiffness[1] * theta * j2 + c.stiffness[2] * psi * j3);
}

/// Appendix B for N = 3.
struct AppendixB {
  Mat18 M = Mat18::Zero();
  Eigen::Matrix<double, 6, 18> J = Eigen::Matrix<double, 6, 18>::Zero();
  Eigen::Matrix<double, 18, 1> F;
  Eigen::Matrix<double, 6, 1> gamma;
};

AppendixB appendix_b(const Chain& c) {
  AppendixB B;
  const Mat3 I3 = Mat3::Identity(), O = Mat3::Zero();
  Mat3 I[3];
  Vec3 w[3], f[3], m[3];
  double mass[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const Mat3 T = T_BI(c.bodies[i].q_WB);
    I[i] = T.transpose() * c.model.bodies()[i].inertia.I_C * T;  // (51)
    w[i] = c.bodies[i].w_WB;
    mass[i] = c.model.bodies()[i].inertia.mass;
    f[i] = c.load.port[i].force;
    m[i] = T.transpose() * (T * c.load.port[i].moment);  // (55): given in body axes, turned to I
  }
  // s_XY = X - Y
  const auto joint = [&](std::size_t j) -> Vec3 {
    return c.bodies[j].p_WC + T_BI(c.bodies[j].q_WB).transpose() * c.model.joints()[j].X_PF.p;
  };
  const Vec3 s11 = c.bodies[0].p_WC - joint(0), s21 = c.bodies[1].p_WC - joint(0);
  const Vec3 s22 = c.bodies[1].p_WC - joint(1), s32 = c.bodies[2].p_WC - joint(1);
  // (48)-(50)
  for (int i = 0; i < 3; ++i) {
    B.M.block<3, 3>(3 * i, 3 * i) = mass[i] * I3;
    B.M.block<3, 3>(9 + 3 * i, 9 + 3 * i) = I[i];
  }
  // (52)-(54)
  B.J << -I3, I3, O, -S(s11), S(s21), O,  //
      O, -I3, I3, O, -S(s22), S(s32);
  // (55)
  const Vec3 m1 = joint_moment(c, 0), m2 = joint_moment(c, 1), g = c.model.gravity();
  B.F << f[0] + mass[0] * g, f[1] + mass[1] * g, f[2] + mass[2] * g,  //
      m[0] + m1 - S(w[0]) * I[0] * w[0],                              //
      m[1] - m1 + m2 - S(w[1]) * I[1] * w[1],                         //
      m[2] - m2 - S(w[2]) * I[2] * w[2];
  // (56)
  B.gamma << -S(w[0]) * S(w[0]) * s11 + S(w[1]) * S(w[1]) * s21,  //
      -S(w[1]) * S(w[1]) * s22 + S(w[2]) * S(w[2]) * s32;
  return B;
}

/// The general assembly of the same chain, rows turned from the axes of F to World as the paper has them.
DenseKkt general(const Chain& c) {
  DenseKkt k = assemble(c.model, c.bodies, c.load.port, total_efforts(c.model, c.bodies, c.load));
  for (int j = 0; j < 2; ++j) {
    const Joint& joint = c.model.joints()[static_cast<std::size_t>(j)];
    const Mat3 R_WF = (body_pose(c.model, c.bodies, joint.parent) * joint.X_PF).R();
    k.J.middleRows<3>(3 * j) = (R_WF * k.J.middleRows<3>(3 * j)).eval();
    k.gamma.segment<3>(3 * j) = (R_WF * k.gamma.segment<3>(3 * j)).eval();
  }
  return k;
}

// Entries are of size 1 to 50 and come from a dozen roundings.
constexpr double kEntry = 1e-13;

TEST(AppendixB, EqualsTheGeneralAssemblyEntryByEntry) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Chain c = chain(seed);
    const AppendixB B = appendix_b(c);
    const DenseKkt k = general(c);
    ASSERT_EQ(k.J.rows(), 6);
    EXPECT_LT((k.M - B.M).cwiseAbs().maxCoeff(), kEntry) << "(48)-(51)";
    EXPECT_LT((k.J - B.J).cwiseAbs().maxCoeff(), kEntry) << "(52)-(54)";
    EXPECT_LT((k.force - B.F).cwiseAbs().maxCoeff(), 10 * kEntry) << "(55)";
    EXPECT_LT((k.gamma - B.gamma).cwiseAbs().maxCoeff(), 10 * kEntry * (1 + B.gamma.norm())) << "(56)";
  }
}

TEST(AppendixB, UnknownOfTheSystemIsPlusTheForceOnTheParent) {
  const Chain c = chain(3);
  const AppendixB B = appendix_b(c);
  Eigen::Matrix<double, 24, 24> K = Eigen::Matrix<double, 24, 24>::Zero();
  K << B.M, B.J.transpose(), B.J, Eigen::Matrix<double, 6, 6>::Zero();
  const Eigen::Matrix<double, 24, 1> right = (Eigen::Matrix<double, 24, 1>() << B.F, B.gamma).finished();
  const Eigen::Matrix<double, 24, 1> y = K.fullPivLu().solve(right);
  const Judgement verdict = judge(c.model, c.bodies, c.load);
  for (int j = 0; j < 2; ++j) {
    const Vec3 f = y.segment<3>(18 + 3 * j);
    EXPECT_LT((verdict.reactions[static_cast<std::size_t>(j)].force - f).norm(), 1e-12 * (1 + f.norm()));
    EXPECT_LT(verdict.reactions[static_cast<std::size_t>(j)].moment.norm(), 1e-14);
  }
  // (1) for body 1: m a = f_B + f_J + m g.
  const double m = c.model.bodies()[0].inertia.mass;
  const Vec3 a = c.load.port[0].force / m + y.segment<3>(18) / m + c.model.gravity();
  EXPECT_LT((verdict.accelerations[0].a_WC - a).norm(), 1e-12 * (1 + a.norm()));
}

TEST(Equation22, BlocksAreThoseOfTheInverse) {
  const AppendixB B = appendix_b(chain(4));
  MatX K = MatX::Zero(24, 24);
  K << B.M, B.J.transpose(), B.J, MatX::Zero(6, 6);
  const MatX Minv = B.M.inverse();
  const MatX mobility = B.J * Minv * B.J.transpose();
  const MatX Sinv = mobility.inverse();
  MatX inverse(24, 24);
  inverse << Minv - Minv * B.J.transpose() * Sinv * B.J * Minv, Minv * B.J.transpose() * Sinv, Sinv * B.J * Minv, -Sinv;
  // Condition number of K near 1e3 for these masses: 1e-16 * 1e3 with room for the products.
  EXPECT_LT((K * inverse - MatX::Identity(24, 24)).cwiseAbs().maxCoeff(), 1e-11);
  // docs/papers.md A6: eliminating M leaves -S, so S is the mobility of the joint points: forces in, accelerations out.
  const Eigen::PartialPivLU<MatX> lu(K);
  EXPECT_NEAR(lu.determinant(), B.M.determinant() * (-mobility).determinant(), 1e-9 * std::abs(lu.determinant()));
}

TEST(Equation22, RegularMassIsSufficientButNotNecessary) {
  // docs/papers.md A6: a middle body without mass that cannot move by itself; M is singular, K is not.
  AppendixB B = appendix_b(chain(5));
  B.M.block<3, 3>(3, 3).setZero();
  MatX K = MatX::Zero(24, 24);
  K << B.M, B.J.transpose(), B.J, MatX::Zero(6, 6);
  EXPECT_EQ(Eigen::FullPivLU<MatX>(B.M).rank(), 15);
  EXPECT_EQ(Eigen::FullPivLU<MatX>(K).rank(), 24);
}

TEST(Equation65, RateOfInertiaMinusTwiceCoriolisIsSkewForEveryBody) {
  const Chain c = chain(6);
  for (std::size_t i = 0; i < 3; ++i) {
    const Mat3 I_B = c.model.bodies()[i].inertia.I_C;
    const Vec3 w = c.bodies[i].w_WB;
    const auto world = [&](double t) -> Mat3 {
      const Mat3 T = T_BI(turned(c.bodies[i].q_WB, t * w));
      return T.transpose() * I_B * T;
    };
    const Mat3 I = world(0), Omega = S(w);
    // (57) by differences: truncation (1e-2 |w|)^6-like after two extrapolations, round-off 1e-14.
    const auto slope = [&](double t) -> Mat3 { return (world(t) - world(-t)) / (2 * t); };
    const Mat3 a = slope(1e-2), b = slope(5e-3), d = slope(2.5e-3);
    const Mat3 rate = (16 * ((4 * d - b) / 3) - (4 * b - a) / 3) / 15;
    EXPECT_LT((rate - (Omega * I - I * Omega)).cwiseAbs().maxCoeff(), 1e-9 * (1 + I.norm() * w.norm()));
    const Mat3 N = (Omega * I - I * Omega) - 2 * Omega * I;
    EXPECT_LT((N + N.transpose()).cwiseAbs().maxCoeff(), 1e-14 * (1 + I.norm() * w.norm()));
    EXPECT_GT(N.cwiseAbs().maxCoeff(), 1e-3);
  }
}

TEST(Equation42, IsTheRateOfTheQuaternionWithBodyRates) {
  Random random(7);
  for (int i = 0; i < 20; ++i) {
    const Quat q = random_attitude(random);
    const Vec3 w_B = random_vector(random, 2.0);
    const double p = w_B.x(), y = w_B.y(), r = w_B.z();
    Eigen::Matrix4d A;
    A << 0, -p, -y, -r, p, 0, r, -y, y, -r, 0, p, r, y, -p, 0;
    const Eigen::Vector4d now(q.w(), q.x(), q.y(), q.z());
    const auto at = [&](double t) -> Eigen::Vector4d {
      const Quat x = turned(q, t * (q * w_B));
      return {x.w(), x.x(), x.y(), x.z()};
    };
    const Eigen::Vector4d difference = (at(1e-5) - at(-1e-5)) / 2e-5;
    EXPECT_LT((difference - 0.5 * A * now).norm(), 1e-9);  // truncation (1e-5 |w|)² |w|, round-off 1e-11
  }
}

TEST(Equation43And44, AreInverseOfEachOtherAndMakeTheMatrix45) {
  Random random(8);
  for (int i = 0; i < 50; ++i) {
    const Vec3 a(random.uniform(-3, 3), random.uniform(-1.4, 1.4), random.uniform(-3, 3));  // Φ, Θ, Ψ
    const double cF = std::cos(a[0] / 2), sF = std::sin(a[0] / 2), cT = std::cos(a[1] / 2), sT = std::sin(a[1] / 2);
    const double cP = std::cos(a[2] / 2), sP = std::sin(a[2] / 2);
    const Quat printed(cP * cT * cF + sP * sT * sF, cP * cT * sF - sP * sT * cF, cP * sT * cF + sP * cT * sF,
                       sP * cT * cF - cP * sT * sF);
    EXPECT_LT((printed.coeffs() - from_zyx(a).coeffs()).norm(), 1e-15) << "(43)";
    EXPECT_LT((to_zyx(from_zyx(a)) - a).norm(), 1e-13) << "(44)";  // pitch to 1.4 rad: the arcsine loses a factor 6
    EXPECT_LT((T_BI(printed) - printed.toRotationMatrix().transpose()).norm(), 1e-15) << "(45)";
  }
}

TEST(TwoThinRods, TransverseMomentNeedsThreeEighthsOfMOverLAtTheJoint) {
  // docs/papers.md A13: rods of half-length l at rest in line, moment M across on the first: |F_J| = 3 M / (8 l), not zero.
  const double l = 0.5, M = 0.7, m = 1.3;
  ModelSpec spec;
  spec.gravity.setZero();
  Inertia rod;
  rod.mass = m;
  rod.I_C = Vec3(1e-3, m * l * l / 3, m * l * l / 3).asDiagonal();  // the spin inertia does not matter, it must only exist
  spec.bodies = {{"rod1", rod, {}, {}}, {"rod2", rod, {}, {}}};
  JointSpec joint;
  joint.name = "elbow", joint.kind = JointKind::Spherical, joint.parent = "rod1", joint.child = "rod2";
  joint.at_parent.p = Vec3(l, 0, 0), joint.at_child.p = Vec3(-l, 0, 0);
  spec.joints = {joint};
  const Model model = build(spec);
  const Bodies bodies = at_rest(model, {Pose{}, Pose{Quat::Identity(), Vec3(2 * l, 0, 0)}});
  Load load(model);
  load.port[0].moment = Vec3(0, 0, M);
  EXPECT_LT((judge(model, bodies, load).reactions[0].force - Vec3(0, -3 * M / (8 * l), 0)).norm(), 1e-15);
  // An axial moment turns the first rod alone.
  load.port[0].moment = Vec3(M, 0, 0);
  EXPECT_LT(judge(model, bodies, load).reactions[0].force.norm(), 1e-15);
}

}  // namespace
}  // namespace invar::testing
