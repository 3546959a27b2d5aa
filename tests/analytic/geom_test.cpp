// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <numbers>

#include "invar/base/random.hpp"
#include "invar/geom/inertia.hpp"
#include "invar/geom/pose.hpp"

namespace invar {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kEps = 2.2e-16;

Vec3 random_direction(Random& r) { return Vec3(r.normal(), r.normal(), r.normal()).normalized(); }

/// Angles where formulas change or lose digits: identity, tiny, both sides of the series' ends, anywhere, near and at pi.
std::vector<double> telling_angles(Random& random) {
  std::vector<double> a{0, 1e-300, 1e-16, 1e-8, 1e-4, 9.99e-3, 1.001e-2, 9.99e-2, 1.001e-1, 1, kPi - 1e-4, kPi - 1e-8, kPi};
  for (int i = 0; i < 20; ++i) a.push_back(random.uniform(0, kPi));
  return a;
}

TEST(ExpSo3, IsTheTurnOfRodriguesAndUnit) {
  Random random(1);
  for (const double angle : telling_angles(random)) {
    const Vec3 n = random_direction(random);
    const Quat q = exp_so3(angle * n);
    EXPECT_NEAR(q.squaredNorm(), 1, 4 * kEps) << angle;
    const Mat3 R = Mat3::Identity() + std::sin(angle) * hat(n) + 2 * std::pow(std::sin(angle / 2), 2) * hat(n) * hat(n);
    EXPECT_LE((q.toRotationMatrix() - R).cwiseAbs().maxCoeff(), 20 * kEps) << angle;
  }
}

TEST(LogSo3, UndoesExpAtEveryAngle) {
  Random random(2);
  for (const double angle : telling_angles(random)) {
    const Vec3 u = angle * random_direction(random);
    const Vec3 back = log_so3(exp_so3(u));
    // At pi the vector and its opposite are one rotation; the quaternion decides, up to rounding.
    const double error = angle > kPi - 1e-12 ? std::min((back - u).norm(), (back + u).norm()) : (back - u).norm();
    EXPECT_LE(error, 8 * kEps * std::max(angle, 1e-300)) << angle;
  }
}

TEST(LogSo3, TakesTheShortWayForBothSignsOfAQuaternion) {
  Random random(3);
  for (int i = 0; i < 50; ++i) {
    const Quat q = exp_so3(random.uniform(0, kPi) * random_direction(random));
    const Quat minus(-q.w(), -q.x(), -q.y(), -q.z());
    EXPECT_LE(log_so3(minus).norm(), kPi * (1 + kEps));
    EXPECT_LE((log_so3(q) - log_so3(minus)).norm(), 8 * kEps);
  }
}

TEST(DexpSo3, IsTheRateOfExp) {
  Random random(4);
  for (const double angle : telling_angles(random)) {
    const Vec3 u = angle * random_direction(random);
    const Vec3 du = random_direction(random);
    // Central differences: h²/6 times a third derivative of order 1, and rounding 4 eps/h.
    const double h = 1e-5;
    const Vec3 rate = log_so3(exp_so3(u + h * du) * exp_so3(u - h * du).conjugate()) / (2 * h);
    EXPECT_LE((rate - dexp_so3(u) * du).norm(), 2e-10) << angle;
  }
}

TEST(DexpInverse, TimesDexpIsOne) {
  Random random(5);
  std::vector<double> angles = telling_angles(random);
  for (int i = 0; i < 20; ++i) angles.push_back(random.uniform(kPi, 1.9 * kPi));
  for (const double angle : angles) {
    const Vec3 u = angle * random_direction(random);
    const Mat3 one = dexp_inv_so3(u) * dexp_so3(u);
    // (1 - half cot half)/a² loses eps/a² just above the end of the series, a = 0.1; towards 2 pi the inverse grows like 1/sin.
    EXPECT_LE((one - Mat3::Identity()).cwiseAbs().maxCoeff(), 60 * kEps / std::abs(std::sin(std::max(angle, 0.1) / 2))) << angle;
  }
}

TEST(DexpInverse, ContinuesItsSeries) {
  // Both branches at the same place, to what the closed form can give there: eps/a² times a² = eps.
  const Vec3 u = Vec3(0.6, -0.48, 0.64) * 0.1;
  const Mat3 series = dexp_inv_so3(u * (1 - 1e-9));
  const Mat3 closed = dexp_inv_so3(u * (1 + 1e-9));
  EXPECT_LE((series - closed).cwiseAbs().maxCoeff(), 2e-9 * 0.1);
}

TEST(Normalized, IsUnitToOneRounding) {
  Random random(6);
  for (int i = 0; i < 100; ++i) {
    const Quat q(random.normal(), random.normal(), random.normal(), random.normal());
    EXPECT_NEAR(normalized(q).squaredNorm(), 1, 4 * kEps);
  }
}

TEST(ZyxAngles, AreYawAfterPitchAfterRoll) {
  Random random(7);
  for (int i = 0; i < 50; ++i) {
    const Vec3 a(random.uniform(-3, 3), random.uniform(-1.5, 1.5), random.uniform(-3, 3));
    const Quat product = exp_so3(a.z() * Vec3::UnitZ()) * exp_so3(a.y() * Vec3::UnitY()) * exp_so3(a.x() * Vec3::UnitX());
    EXPECT_LE((from_zyx(a).coeffs() - product.coeffs()).norm(), 8 * kEps);
    // Roll and yaw are ill-conditioned like 1/cos(pitch) near the pole; here cos(1.5) = 0.07.
    EXPECT_LE((to_zyx(from_zyx(a)) - a).norm(), 10 * kEps / std::cos(a.y()));
  }
}

TEST(ZyxAngles, GiveTheAttitudeBackAtAndNearThePole) {
  for (const double off : {0.0, 1e-16, 1e-12, 1e-8, 1e-4}) {
    for (const double pitch : {kPi / 2 - off, -kPi / 2 + off}) {
      const Quat q = from_zyx({0.3, pitch, 0.1});
      // Roll and yaw are one angle there and come back as any split of it; the attitude must not suffer.
      EXPECT_LE((from_zyx(to_zyx(q)).toRotationMatrix() - q.toRotationMatrix()).norm(), 20 * kEps) << pitch;
    }
  }
}

TEST(ZyxAngles, AreThoseOfA43AndA44AsPrinted) {
  const double roll = 0.7, pitch = -0.4, yaw = 2.1;
  const double cF = std::cos(roll / 2), sF = std::sin(roll / 2);
  const double cT = std::cos(pitch / 2), sT = std::sin(pitch / 2);
  const double cY = std::cos(yaw / 2), sY = std::sin(yaw / 2);
  const double q0 = cY * cT * cF + sY * sT * sF;
  const double q1 = cY * cT * sF - sY * sT * cF;
  const double q2 = cY * sT * cF + sY * cT * sF;
  const double q3 = sY * cT * cF - cY * sT * sF;
  const Quat q = from_zyx({roll, pitch, yaw});
  EXPECT_LE((Eigen::Vector4d(q.w(), q.x(), q.y(), q.z()) - Eigen::Vector4d(q0, q1, q2, q3)).norm(), 4 * kEps);

  const Vec3 angles = to_zyx(Quat(q0, q1, q2, q3));
  EXPECT_NEAR(angles.x(), std::atan2(2 * (q2 * q3 + q0 * q1), q0 * q0 - q1 * q1 - q2 * q2 + q3 * q3), 4 * kEps);
  EXPECT_NEAR(angles.y(), std::asin(-2 * (q1 * q3 - q0 * q2)), 4 * kEps);
  EXPECT_NEAR(angles.z(), std::atan2(2 * (q1 * q2 + q0 * q3), q0 * q0 + q1 * q1 - q2 * q2 - q3 * q3), 4 * kEps);
}

TEST(Quaternion, TurnsWorldComponentsIntoBodyOnesByA45) {
  Random random(8);
  const Quat q = exp_so3(random.uniform(0, 3) * random_direction(random));
  const double q0 = q.w(), q1 = q.x(), q2 = q.y(), q3 = q.z();
  Mat3 T;
  T << q0 * q0 + q1 * q1 - q2 * q2 - q3 * q3, 2 * (q1 * q2 + q0 * q3), 2 * (q1 * q3 - q0 * q2),  //
      2 * (q1 * q2 - q0 * q3), q0 * q0 - q1 * q1 + q2 * q2 - q3 * q3, 2 * (q2 * q3 + q0 * q1),   //
      2 * (q1 * q3 + q0 * q2), 2 * (q2 * q3 - q0 * q1), q0 * q0 - q1 * q1 - q2 * q2 + q3 * q3;
  EXPECT_LE((T - q.toRotationMatrix().transpose()).cwiseAbs().maxCoeff(), 8 * kEps);
}

TEST(Poses, ComposeLikeTheirMatrices) {
  Random random(9);
  const Pose A{exp_so3(2 * random_direction(random)), Vec3(1, 2, 3)}, B{exp_so3(random_direction(random)), Vec3(-1, 0, 2)};
  const Vec3 p(0.3, -0.2, 0.9);
  EXPECT_LE((((A * B) * p) - (A * (B * p))).norm(), 30 * kEps);
  EXPECT_LE((A.inverse() * (A * p) - p).norm(), 30 * kEps);
}

TEST(AnyPerpendicular, IsUnitAndPerpendicularEverywhere) {
  Random random(10);
  std::vector<Vec3> all{Vec3::UnitX(), Vec3::UnitY(), Vec3::UnitZ(), -Vec3::UnitX(), -Vec3::UnitY(), -Vec3::UnitZ()};
  for (int i = 0; i < 200; ++i) all.push_back(random_direction(random));
  for (const Vec3& n : all) {
    EXPECT_NEAR(any_perpendicular(n).norm(), 1, 8 * kEps);
    EXPECT_NEAR(any_perpendicular(n).dot(n), 0, 8 * kEps);
  }
}

/// Inertia of a solid by the midpoint rule on an n³ grid over the box ±half: an independent judge, error of order 1/n.
Mat3 by_counting(double mass, const Vec3& half, const std::function<bool(const Vec3&)>& inside) {
  constexpr int n = 80;
  Mat3 sum = Mat3::Zero();
  int count = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k) {
        const Vec3 p = half.cwiseProduct(Vec3((2 * i + 1.0) / n - 1, (2 * j + 1.0) / n - 1, (2 * k + 1.0) / n - 1));
        if (!inside(p)) continue;
        sum += p.squaredNorm() * Mat3::Identity() - p * p.transpose();
        ++count;
      }
  return mass / count * sum;
}

void expect_solid(const Inertia& solid, const Mat3& counted) {
  // The staircase on a curved face misplaces about 1/n of the cells either way; what is left after cancelling is below 0.3 %.
  EXPECT_LE((solid.I_C - counted).cwiseAbs().maxCoeff(), 3e-3 * counted.cwiseAbs().maxCoeff());
  EXPECT_EQ(flaw(solid), "");
}

TEST(Solids, HaveTheInertiaThatCountingGives) {
  const double m = 2.5, r = 0.3, l = 0.8;
  expect_solid(solid_box(m, {0.2, 0.5, 0.9}), by_counting(m, {0.1, 0.25, 0.45}, [](const Vec3&) { return true; }));
  expect_solid(solid_sphere(m, r), by_counting(m, {r, r, r}, [&](const Vec3& p) { return p.norm() < r; }));
  for (int axis = 0; axis < 3; ++axis) {
    Vec3 half = Vec3::Constant(r);
    half[axis] = l / 2;
    const auto across = [axis](Vec3 p) { return p[axis] = 0, p.norm(); };
    expect_solid(solid_cylinder(m, r, l, axis), by_counting(m, half, [&](const Vec3& p) { return across(p) < r; }));
    half[axis] += r;
    const auto in_capsule = [&](const Vec3& p) {
      const double beyond = std::max(0.0, std::abs(p[axis]) - l / 2);
      return std::hypot(across(p), beyond) < r;
    };
    expect_solid(solid_capsule(m, r, l, axis), by_counting(m, half, in_capsule));
  }
}

TEST(Solids, BecomeRodsWhenTheyThin) {
  for (const Inertia& rod : {solid_cylinder(3, 0, 2, 0), solid_capsule(3, 0, 2, 0)}) {
    EXPECT_NEAR(rod.I_C(1, 1), 3 * 4 / 12.0, 1e-15);
    EXPECT_NEAR(rod.I_C(0, 0), 0, 1e-15);
    EXPECT_EQ(flaw(rod), "");
  }
}

TEST(Inertia, AboutTheOriginAddsTheParallelAxes) {
  Inertia i = solid_sphere(2, 0.5);
  i.p_BC = Vec3(1, 2, 3);
  const Mat3 I = i.about_origin();
  EXPECT_NEAR(I(0, 0), 0.2 + 2 * (4 + 9), 1e-14);
  EXPECT_NEAR(I(0, 1), -2 * 1 * 2, 1e-14);
  EXPECT_NEAR(I(1, 2), -2 * 2 * 3, 1e-14);
}

TEST(Inertia, AcceptsIdealBodiesAndRefusesImpossibleOnes) {
  const auto diagonal = [](double mass, double x, double y, double z) {
    Inertia i;
    i.mass = mass, i.I_C.diagonal() = Vec3(x, y, z);
    return i;
  };
  EXPECT_EQ(flaw(diagonal(0, 0, 0, 0)), "");  // massless link
  EXPECT_EQ(flaw(diagonal(1, 0, 0, 0)), "");  // point mass
  EXPECT_EQ(flaw(diagonal(1, 0, 1, 1)), "");  // ideal rod
  EXPECT_EQ(flaw(diagonal(1, 1, 1, 2)), "");  // flat plate: the triangle inequality is an equality
  EXPECT_NE(flaw(diagonal(-1, 1, 1, 1)), "");
  EXPECT_NE(flaw(diagonal(1, 1, 1, 2.01)), "");
  EXPECT_NE(flaw(diagonal(1, -1e-3, 1, 1)), "");
  EXPECT_NE(flaw(diagonal(0, 1, 1, 1)), "");
  EXPECT_NE(flaw(diagonal(std::nan(""), 1, 1, 1)), "");
  Inertia skew = diagonal(1, 1, 1, 1);
  skew.I_C(0, 1) = 0.1;
  EXPECT_NE(flaw(skew), "");
}

}  // namespace
}  // namespace invar
