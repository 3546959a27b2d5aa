// SPDX-License-Identifier: Apache-2.0
// Do poses that a frame shall follow move as they say, wherever World is?
#include "invar/control/pose_reference.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>

#include "support/campaign.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

constexpr int kPositions = 4, kAttitudes = 3;

Reference drawn_sine(Random& random) {
  return Sinusoid{random.uniform(-1, 1), random.uniform(0.1, 0.4), random.uniform(-3, 3), random.uniform(-1, 1)};
}

PositionReference drawn_position(Random& random, int kind) {
  switch (kind) {
    case 0: return Components{drawn_sine(random), Polynomial{{0.1, -0.4, 0.2}, 0}, MinimumJerk{{0, 1, 2}, {0.3, 1, -1}}};
    case 1: return Circle{random_vector(random, 1), 2 * random_unit(random), 0.7, turning(2.5), random_unit(random)};
    case 2: return Circle{random_vector(random, 1), random_unit(random), 0.7, drawn_sine(random), random_unit(random)};
    default: return Lissajous{random_vector(random, 1), random_vector(random, 0.5), {0.2, 0.3, 0.4}, random_vector(random, 1)};
  }
}

AttitudeReference drawn_attitude(Random& random, int kind) {
  if (kind == 0) return Rotations{{}, random_attitude(random)};
  if (kind == 1) {
    Rotations out;
    for (int n = 1 + random.below(3); n > 0; --n) out.turns.push_back({1.5 * random_unit(random), drawn_sine(random)});
    out.q0 = random_attitude(random);
    return out;
  }
  return AttitudeWaypoints({-0.5, 0.4, 1.5, 2.1},
                           {random_attitude(random), random_attitude(random), random_attitude(random), random_attitude(random)});
}

PoseReference drawn_pose(Random& random, int k) {
  return {drawn_position(random, k % kPositions), drawn_attitude(random, k / kPositions % kAttitudes), random_pose(random, 1)};
}

double quiet_instant(Random& random, const PoseReference& r, double e) {
  for (;;)
    if (const double t = random.uniform(-1, 3); next_event(r, t - 2 * e) > t + 2 * e) return t;
}

// As in reference_test.cpp: e⁴ f⁽⁵⁾/480 with rates of up to 15 rad/s (half a turn in 0.6 s with least jerk) is 15⁵ 1e-12/480 =
// 2e-9 for first, 15 times that for second derivatives.
template <class F>
auto slope(F&& f, double t) {
  constexpr double e = 1e-3;
  return ((8 * (f(t + 0.5 * e) - f(t - 0.5 * e)) - (f(t + e) - f(t - e))) / (6 * e)).eval();
}

TEST(PoseReferences, HaveTheDerivativesOfTheirPoses) {
  for (int k = 0; k < kPositions * kAttitudes * cases(20); ++k) {
    Random random(seed(12000) + static_cast<std::uint64_t>(k));
    const PoseReference r = drawn_pose(random, k);
    ASSERT_EQ(flaw(r), "");
    const double t = quiet_instant(random, r, 1e-3);
    const PoseJet is = jet(r, t);
    const auto near = [&](const auto& stated, const auto& seen, double tolerance, const char* what) {
      EXPECT_LE((stated - seen).norm(), tolerance * (1 + stated.norm())) << what << " of " << k << " at " << t;
    };
    near(is.v, slope([&](double s) { return jet(r, s).p; }, t), 1e-8, "v");
    near(is.a, slope([&](double s) { return jet(r, s).v; }, t), 1e-7, "a");
    near(is.alpha, slope([&](double s) { return jet(r, s).w; }, t), 1e-7, "alpha");
    // dq/dt = 1/2 w q, for unit quaternions whose sign does not jump.
    EXPECT_NEAR(is.q.norm(), 1, 4e-16);
    const Quat turning_by(0, is.w.x(), is.w.y(), is.w.z());
    const Eigen::Vector4d rate = 0.5 * (turning_by * is.q).coeffs();
    near(rate, slope([&](double s) { return Eigen::Vector4d(jet(r, s).q.coeffs()); }, t), 1e-8, "q");
  }
}

// The same seen from a World that is turned and moved: told by the data of each kind, or by the frame in which it is described.
PoseReference moved(const Pose& X, PoseReference r) {
  const Pose in = r.X_WA.inverse() * X * r.X_WA;  // what X does, as seen from A
  if (auto* circle = std::get_if<Circle>(&r.position)) {
    circle->centre = in * circle->centre;
    circle->normal = in.q * circle->normal;
    circle->start = in.q * circle->start;
  } else {
    r.X_WA = X * r.X_WA;
    return r;
  }
  if (auto* rotations = std::get_if<Rotations>(&r.attitude)) {
    for (Rotations::Turn& turn : rotations->turns) turn.axis = in.q * turn.axis;
    rotations->q0 = in.q * rotations->q0;
  } else {
    const auto& way = std::get<AttitudeWaypoints>(r.attitude);
    std::vector<Quat> attitudes;
    for (const Quat& q : way.attitudes()) attitudes.push_back(in.q * q);
    r.attitude = AttitudeWaypoints(way.times(), attitudes);
  }
  return r;
}

TEST(PoseReferences, MoveWithTheWorld) {
  for (int k = 0; k < kPositions * kAttitudes * cases(10); ++k) {
    Random random(seed(12100) + static_cast<std::uint64_t>(k));
    const PoseReference r = drawn_pose(random, k);
    const Pose X = random_pose(random, 1);
    const double t = random.uniform(-1, 3);
    const PoseJet is = jet(moved(X, r), t), was = jet(r, t);
    // Products of a few rotations of numbers of order ten.
    EXPECT_LE((is.p - X * was.p).norm(), 1e-14 * (5 + was.p.norm())) << k;
    EXPECT_LE((is.v - X.q * was.v).norm(), 1e-13 * (1 + was.v.norm())) << k;
    EXPECT_LE((is.a - X.q * was.a).norm(), 1e-13 * (1 + was.a.norm())) << k;
    EXPECT_LE(log_so3(is.q.conjugate() * (X.q * was.q)).norm(), 1e-14) << k;
    EXPECT_LE((is.w - X.q * was.w).norm(), 1e-13 * (1 + was.w.norm())) << k;
    EXPECT_LE((is.alpha - X.q * was.alpha).norm(), 1e-13 * (1 + was.alpha.norm())) << k;
  }
}

TEST(PoseReferences, MeetTheirWaypointsAtRestOnStraightWays) {
  Random random(seed(12200));
  const std::vector<double> times = {0, 1, 1.5, 3};
  std::vector<Vec3> points;
  std::vector<Quat> attitudes;
  for (std::size_t i = 0; i < times.size(); ++i)
    points.push_back(random_vector(random, 1)), attitudes.push_back(random_attitude(random));
  const PoseReference r{through_points(times, points), AttitudeWaypoints(times, attitudes), {}};
  for (std::size_t i = 0; i < times.size(); ++i)
    for (const double side : {-0.1, 0.1}) {
      const PoseJet is = jet(r, Instant(times[i], times[i] + side));
      EXPECT_LE((is.p - points[i]).norm(), 1e-14);
      EXPECT_LE(log_so3(is.q.conjugate() * attitudes[i]).norm(), 1e-14);
      EXPECT_LE(is.v.norm() + is.w.norm() + is.a.norm() + is.alpha.norm(), 1e-10);
    }
  // Between two of them: on the chord, and about one axis.
  const PoseJet early = jet(r, 1.1), late = jet(r, 1.35);
  const Vec3 chord = (points[2] - points[1]).normalized();
  EXPECT_LE((early.p - points[1]).cross(chord).norm(), 1e-14);
  EXPECT_LE(early.w.normalized().cross(late.w.normalized()).norm(), 1e-13);
}

// The way to an attitude 355 degrees off is 5 degrees long, whatever the signs of quaternions.
TEST(PoseReferences, TakeTheShorterWayBetweenAttitudes) {
  const double degree = std::numbers::pi / 180;
  for (const double sign : {1.0, -1.0}) {
    Quat far = exp_so3({0, 0, 355 * degree});
    far.coeffs() *= sign;
    const PoseReference r{Components{}, AttitudeWaypoints({0, 1}, {Quat::Identity(), far}), {}};
    double travelled = 0;
    constexpr int n = 1000;
    for (int k = 0; k < n; ++k) travelled += jet(r, (k + 0.5) / n).w.z() / n;
    EXPECT_NEAR(travelled, -5 * degree, 1e-7);  // midpoint rule: ẅ/24n² = 60/24e6 of 5 degrees
    EXPECT_LE((jet(r, 1).q.coeffs() - jet(r, Instant(1, 0.5)).q.coeffs()).norm(), 1e-15) << "no jump of sign";
  }
}

TEST(PoseReferences, OnCirclesKeepTheirDistance) {
  Random random(seed(12300));
  const Circle c{random_vector(random, 1), 3 * random_unit(random), 0.4, turning(1.6), random_unit(random)};
  const PoseReference r{c, Rotations{}, {}};
  const Vec3 n = c.normal.normalized();
  for (double t = 0; t < 2; t += 0.13) {
    const PoseJet is = jet(r, t);
    EXPECT_NEAR((is.p - c.centre).norm(), 0.4, 1e-15);
    EXPECT_NEAR(n.dot(is.p - c.centre), 0, 1e-15);
    EXPECT_NEAR(is.v.norm(), 0.4 * 2 * std::numbers::pi / 1.6, 1e-14);
    EXPECT_GT(n.dot((is.p - c.centre).cross(is.v)), 0) << "counter-clockwise about the normal";
    EXPECT_LE((jet(r, t + 1.6).p - is.p).norm(), 1e-14) << "once around in a period";
  }
  EXPECT_GT((jet(r, 0).p - c.centre).dot(c.start), 0) << "begins towards its start";
}

TEST(PoseReferences, ThatNothingCanFollowHaveAFlaw) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [](const PositionReference& p, const AttitudeReference& a, const char* word) {
    const std::string why = flaw(PoseReference{p, a, {}});
    EXPECT_NE(why.find(word), std::string::npos) << why;
  };
  const Components still;
  const Rotations level;
  const Vec3 o = Vec3::Zero(), x = Vec3::UnitX(), z = Vec3::UnitZ();
  refused(Components{Jump{}, Constant{}, Constant{}}, level, "x: ");
  refused(Circle{o, z, 0, Constant{}, x}, level, "radius");
  refused(Circle{o, o, 1, Constant{}, x}, level, "normal");
  refused(Circle{o, z, 1, Constant{}, -2 * z}, level, "start");
  refused(Circle{o, z, 1, Ramp{}, x}, level, "angle: ");
  refused(Circle{o, z, 1, turning(0), x}, level, "finite");
  refused(Lissajous{o, {1, nan, 0}, x, o}, level, "finite");
  refused(still, Rotations{{{o, Constant{}}}, Quat::Identity()}, "axis");
  refused(still, Rotations{{{z, Pulse{}}}, Quat::Identity()}, "angle: ");
  refused(still, Rotations{{}, Quat(2, 0, 0, 0)}, "length 2");
  refused(still, AttitudeWaypoints({}, {}), "at least one");
  refused(still, AttitudeWaypoints({1, 1}, {Quat::Identity(), Quat::Identity()}), "increase");
  refused(still, AttitudeWaypoints({0, 1}, {Quat::Identity(), Quat(0, 1, 0, 0)}), "half a turn");
}

}  // namespace
}  // namespace invar::testing
