// SPDX-License-Identifier: Apache-2.0
// Do joints that follow a tip's path carry the tip along it?
#include "invar/control/joint_path.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <numbers>

#include "invar/mech/kinematics.hpp"
#include "invar/mech/minimal/dynamics.hpp"
#include "support/campaign.hpp"
#include "support/moving_mechanisms.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

struct Arm {
  Model model;
  JointTree tree;
  VecX q, wound;
  std::string frame;
  Pose start;  // of the frame

  Arm(Model m, const Bodies& bodies, std::string tip) : model(std::move(m)), tree(model), frame(std::move(tip)) {
    wound = wound_at(model, bodies, VecX());
    VecX v;
    tree.measure(bodies, wound, q, v);
    EXPECT_TRUE(tree.choose(q, wound).ok());
    start = frame_pose(model, *model.find_frame(frame), bodies);
  }
};

// Hinges about drawn axes, one after the other, a slider in every fourth place.
Arm serial(std::uint64_t at, int joints, JointKind first = JointKind::Revolute) {
  Random random(at, 17);
  ModelSpec spec;
  std::vector<Pose> X_WB;
  for (int k = 0; k < joints; ++k) {
    BodySpec body;
    body.name = "b" + std::to_string(k), body.inertia = random_inertia(random, 1, 0.3);
    JointSpec joint;
    joint.name = "j" + std::to_string(k);
    joint.kind = k == 0 ? first : k % 4 == 2 ? JointKind::Prismatic : JointKind::Revolute;
    joint.parent = k == 0 ? "world" : "b" + std::to_string(k - 1), joint.child = body.name;
    joint.at_parent = random_pose(random, 0.4), joint.axis = random_unit(random);
    X_WB.push_back((k == 0 ? Pose{} : X_WB.back()) * joint.at_parent);
    spec.bodies.push_back(body), spec.joints.push_back(joint);
  }
  spec.frames.push_back({"tip", spec.bodies.back().name, random_pose(random, 0.3), {}});
  Model model = build(spec);
  const Bodies bodies = at_rest(model, X_WB);
  return Arm(std::move(model), bodies, "tip");
}

Arm crane(const std::string& name, const std::string& frame) {
  Moving m = shipped(name);
  const Bodies at = m.start;
  return Arm(std::move(m.model), at, frame);
}

// A Lissajous figure about where the frame stands, swaying about two axes, for 2 s.
PoseReference figure(Random& random, const Pose& X, double size) {
  const Vec3 phases = random_vector(random, 1), amplitudes = size * random_vector(random, 0.5);
  const Vec3 offset = amplitudes.cwiseProduct(Vec3(phases.array().sin()));
  Rotations sway{
      {{random_unit(random), Sinusoid{0.3 * size, 0.4, 0.5, 0}}, {random_unit(random), Sinusoid{0.3 * size, 0.3, 0, 0}}}, X.q};
  return {Lissajous{X.p - offset, amplitudes, {0.3, 0.4, 0.5}, phases}, sway, {}};
}

// Bodies with the joints of a path at an instant, and at rates that are given back, too.
struct Placed {
  VecX q, v, a;
  Bodies bodies;
};
Placed place(const Arm& arm, const JointPath& path, Instant at, double later = 0) {
  Placed out;
  out.q = arm.q, out.v = VecX::Zero(arm.tree.nv()), out.a = out.v;
  for (std::size_t i = 0; i < arm.tree.independent().size(); ++i) {
    const int f = arm.tree.independent()[i];
    const Jet j = jet(path.freedoms[i].reference, at);
    out.q[arm.tree.coordinate_of(f)] = j.q + later * (j.v + 0.5 * later * j.a);
    out.v[f] = j.v + later * j.a;
    out.a[f] = j.a;
  }
  EXPECT_TRUE(arm.tree.complete(out.q, out.v, arm.wound, out.bodies).ok());
  return out;
}

struct Tip {
  Vec3 p, v, w;
  Quat q;
};
Tip tip_of(const Arm& arm, const Bodies& bodies) {
  const Frame& frame = arm.model.frames()[static_cast<std::size_t>(*arm.model.find_frame(arm.frame))];
  const Pose X = frame_pose(arm.model, *arm.model.find_frame(arm.frame), bodies);
  const BodyState& s = body_state(bodies, frame.body);
  return {X.p, s.velocity_at(X.p), s.w_WB, X.q};
}

// At nodes, with r the rate at which joints move (sum of rates, root of the sum of second rates): poses to the tolerance of the
// search, 1e-10, so twists to 1e-10 r and accelerations to 1e-10 r²; differences of the latter leave e⁴ r⁶/480 of arms of some
// metres, and rounding 1e-14/e.
void expect_on_path(const Arm& arm, const JointPath& path, const PoseReference& tip, Instant at, bool attitude) {
  constexpr double e = 1e-3;
  const PoseJet goal = jet(tip, at);
  const Placed here = place(arm, path, at);
  const Tip is = tip_of(arm, here.bodies);
  const double r = 1 + here.v.lpNorm<1>() + std::sqrt(here.a.lpNorm<1>()), size = std::max(1.0, arm.model.length());
  const double twists = 1e-9 * size * r, accelerations = 1e-9 * size * r * r + 0.1 * size * std::pow(e * r, 4) * r * r;
  EXPECT_LE((is.p - goal.p).norm(), 1e-10 * size);
  EXPECT_LE((is.v - goal.v).norm(), twists);
  const auto slope = [&](auto&& what) {
    const auto at_time = [&](double later) { return what(tip_of(arm, place(arm, path, at, later).bodies)); };
    return Vec3((8 * (at_time(0.5 * e) - at_time(-0.5 * e)) - (at_time(e) - at_time(-e))) / (6 * e));
  };
  EXPECT_LE((slope([](const Tip& t) { return t.v; }) - goal.a).norm(), accelerations) << r;
  if (!attitude) return;
  EXPECT_LE(log_so3(normalized(is.q.conjugate() * goal.q)).norm(), 1e-10);
  EXPECT_LE((is.w - goal.w).norm(), twists);
  EXPECT_LE((slope([](const Tip& t) { return t.w; }) - goal.alpha).norm(), accelerations) << r;
}

// The rates of arms with freedoms to spare are square to motions that leave the frame where it is.
void expect_least_rates(const Arm& arm, const Placed& at, bool attitude) {
  Partition p;
  ASSERT_TRUE(partition_at(arm.tree, at.q, at.v, arm.wound, Load(arm.model), p).ok());
  MatX J = frame_jacobian(arm.model, p, *arm.model.find_frame(arm.frame));
  if (!attitude) J = J.bottomRows<3>().eval();
  Eigen::FullPivLU<MatX> lu(J);
  lu.setThreshold(1e-9);
  if (lu.dimensionOfKernel() == 0) return;
  const MatX null = lu.kernel();
  VecX size(p.v.size());
  for (Eigen::Index i = 0; i < size.size(); ++i) size[i] = arm.tree.size_of(arm.tree.independent()[static_cast<std::size_t>(i)]);
  for (Eigen::Index c = 0; c < null.cols(); ++c) {
    const VecX moved = size.cwiseProduct(null.col(c)), rates = size.cwiseProduct(p.v);
    EXPECT_LE(std::abs(moved.dot(rates)), 1e-7 * moved.norm() * (1e-3 + rates.norm()));
  }
}

struct Case {
  int joints;
  bool attitude;
};

// Arms with as many freedoms as the path asks for, and with some to spare.
TEST(JointPath, CarriesTheFrameAlongItsPath) {
  const Case all[] = {{6, true}, {7, true}, {9, true}, {3, false}, {5, false}};
  int followed = 0, asked = 0;
  for (int k = 0; k < cases(25); ++k) {
    const Case& c = all[k % 5];
    const Arm arm = serial(seed(13000) + static_cast<std::uint64_t>(k), c.joints);
    Random random(seed(13001) + static_cast<std::uint64_t>(k));
    const PoseReference tip = figure(random, arm.start, 0.1);
    JointPathOptions options;
    options.attitude = c.attitude, options.spacing = 0.05;
    const auto path = joint_path(arm.tree, "tip", tip, 0, 2, arm.q, arm.wound, options);
    ++asked;
    if (!path) continue;
    ++followed;
    SCOPED_TRACE(k);
    ASSERT_EQ(path->freedoms.size(), static_cast<std::size_t>(c.joints));
    for (const double node : {0.0, 0.35, 1.2, 1.95}) {
      expect_on_path(arm, *path, tip, node, c.attitude);
      expect_least_rates(arm, place(arm, *path, node), c.attitude);
    }
    const Tip begin = tip_of(arm, path->start);
    EXPECT_LE((begin.p - jet(tip, 0).p).norm() + (begin.v - jet(tip, 0).v).norm(), 1e-7);
  }
  // Drawn arms may stand near a singular configuration, or have their path beyond it.
  EXPECT_GE(10 * followed, 7 * asked) << followed << " of " << asked;
}

// Half the spacing: a 64th of the distance between nodes. Spacings are those of a short path's beginning, where the leading term
// rules; factors of 2⁵ to 2⁷ are taken for 2⁶, on the sum over all arms.
TEST(JointPath, IsOffBetweenNodesByTheSixthPowerOfTheirSpacing) {
  double coarse = 0, fine = 0;
  int compared = 0;
  for (int k = 0; k < cases(12); ++k) {
    const Arm arm = serial(seed(13100) + static_cast<std::uint64_t>(k), 6 + k % 3);
    Random random(seed(13101) + static_cast<std::uint64_t>(k));
    const PoseReference tip = figure(random, arm.start, 0.05);
    JointPathOptions options;
    options.spacing = 0.1;
    const auto first = joint_path(arm.tree, "tip", tip, 0, 1, arm.q, arm.wound, options);
    options.spacing = 0.05;
    const auto second = joint_path(arm.tree, "tip", tip, 0, 1, arm.q, arm.wound, options);
    if (!first || !second || first->position > 1e-7) continue;  // singular, or close to it
    ++compared;
    coarse += first->position, fine += second->position;
    EXPECT_LE(second->position, 1e-8);
    // What is said to be left is what is seen midway.
    const double t = 0.325;
    const Placed middle = place(arm, *second, t);
    EXPECT_LE((tip_of(arm, middle.bodies).p - jet(tip, t).p).norm(), second->position + 1e-12) << k;
  }
  ASSERT_GE(2 * compared, cases(12));
  EXPECT_GT(coarse, 32 * fine) << coarse << " " << fine;
  EXPECT_LT(coarse, 128 * fine) << coarse << " " << fine;
}

// Cylinders close triangles, gears couple wheels; the hook follows a circle in space with a freedom to spare.
TEST(JointPath, MovesWhatClosesLoopsAndCouples) {
  for (const Arm& arm : {crane("hydraulic_crane", "hook"), crane("crane", "tip")}) {
    Circle circle{arm.start.p - Vec3(0.2, 0, 0), Vec3(0.2, 1, 0.3), 0.2, MinimumJerk{{0, 3}, {0, 2 * std::numbers::pi}},
                  Vec3::UnitX()};
    const PoseReference tip{circle, Rotations{}, {}};
    JointPathOptions options;
    options.attitude = false;
    const auto path = joint_path(arm.tree, arm.frame, tip, -0.1, 3.1, arm.q, arm.wound, options);
    ASSERT_TRUE(path) << path.error().text();
    for (const double node : {0.0, 1.5, 3.0}) expect_on_path(arm, *path, tip, node, false);
    EXPECT_LE(path->position, 1e-9);
    EXPECT_GT(path->position, 0);
  }
}

// Where accelerations of the path jump (by 3 m/s² at the ends of the spline), those of the joints do, too. A piece of 0.03 s
// across such a jump would be off by some 3 · 0.03²/100 m = 3e-5 m; smooth pieces are by (3 · 0.03)⁶/46080 = 1e-11 of a motion of
// a metre.
TEST(JointPath, HasNodesOnTheEventsOfItsPath) {
  const Arm arm = crane("hydraulic_crane", "hook");
  const Vec3 p = arm.start.p;
  const Spline x({0.1, 0.2345, 0.5}, {p.x(), p.x() + 0.01, p.x() + 0.03});
  const PoseReference tip{Components{x, Constant{p.y()}, Constant{p.z()}}, Rotations{}, {}};
  JointPathOptions options;
  options.attitude = false, options.spacing = 0.03;
  const auto path = joint_path(arm.tree, "hook", tip, 0, 0.6, arm.q, arm.wound, options);
  ASSERT_TRUE(path) << path.error().text();
  for (const double event : {0.1, 0.2345, 0.5})
    for (const double side : {-0.001, 0.001}) expect_on_path(arm, *path, tip, Instant(event, event + side), false);
  EXPECT_LE(path->position, 1e-9);
}

void expect_refused(const Result<JointPath>& path, const std::vector<std::string>& words) {
  ASSERT_FALSE(path);
  for (const std::string& word : words)
    EXPECT_NE(path.error().what.find(word), std::string::npos) << word << " is not in: " << path.error().what;
}

// A pendulum of two links outwards along a line: it is stretched before it gets there. And a turn out of its plane.
TEST(JointPath, IsRefusedWithTimeAndDistanceWhereItLeavesTheReach) {
  const Arm arm = crane("double_pendulum", "tip");
  JointPathOptions options;
  options.attitude = false;
  const Pose X = arm.start;
  const auto towards = [&](const Vec3& by) {
    const PoseReference line{through_points({0, 10}, {X.p, X.p + by}), Rotations{}, {}};
    return joint_path(arm.tree, arm.frame, line, 0, 10, arm.q, arm.wound, options);
  };
  expect_refused(towards(X.p.normalized() * 10), {" s ", "'tip'", " m"});
  options.attitude = true;
  const PoseReference twist{through_points({0}, {X.p}), AttitudeWaypoints({0, 1}, {X.q, turned(X.q, X.q * Vec3(1, 1, 1))}), {}};
  expect_refused(joint_path(arm.tree, arm.frame, twist, 0, 1, arm.q, arm.wound, options), {"'tip'", "rad"});
}

TEST(JointPath, IsRefusedWhereAJointWouldPassItsLimit) {
  const Arm arm = crane("hydraulic_crane", "hook");
  JointPathOptions options;
  options.attitude = false;
  const PoseReference line{through_points({0, 10}, {arm.start.p, arm.start.p * 3}), Rotations{}, {}};
  expect_refused(joint_path(arm.tree, "hook", line, 0, 10, arm.q, arm.wound, options), {" s ", "joint '", "limit of "});
}

TEST(JointPath, IsRefusedWhenItMakesNoSense) {
  const Arm arm = serial(13300, 6), ball = serial(13301, 4, JointKind::Spherical);
  Random random(13302);
  const PoseReference tip = figure(random, arm.start, 0.05), swing = figure(random, ball.start, 0.05);
  const auto path = [&](const std::string& frame, const PoseReference& r, double from, double to, double spacing) {
    JointPathOptions options;
    options.spacing = spacing;
    return joint_path(arm.tree, frame, r, from, to, arm.q, arm.wound, options);
  };
  expect_refused(path("tipp", tip, 0, 1, 0.1), {"no frame 'tipp'", "did you mean 'tip'"});
  expect_refused(path("tip", tip, 1, 1, 0.1), {"end after it begins"});
  expect_refused(path("tip", tip, 0, 1, 0), {"spacing"});
  expect_refused(path("tip", tip, 0, 1, 1e-9), {"spacing"});
  expect_refused(path("tip", {Components{Jump{}, Constant{}, Constant{}}, Rotations{}, {}}, 0, 1, 0.1), {"follow"});
  expect_refused(joint_path(ball.tree, "tip", swing, 0, 1, ball.q, ball.wound), {"'j0.0'", "attitude"});
}

}  // namespace
}  // namespace invar::testing
