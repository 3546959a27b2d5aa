// SPDX-License-Identifier: Apache-2.0
//
// Closed loops under laws II and III are the same in every World: paths told relative to where the bodies start, gains isotropic
// or fixed in the bodies.
#include <gtest/gtest.h>

#include <cmath>

#include "invar/base/largest.hpp"
#include "invar/control/body_law.hpp"
#include "invar/control/task_law.hpp"
#include "invar/integrate/make.hpp"
#include "invar/mech/augmented.hpp"
#include "invar/mech/system.hpp"
#include "support/campaign.hpp"
#include "support/controlled.hpp"
#include "support/march.hpp"
#include "support/redescribed.hpp"

namespace invar::testing {
namespace {

/// Swings about where X is, in the axes of X.
PosePath swing(const Pose& X, const Vec3& amplitude, const Vec3& axis) {
  return [=](Instant at) {
    const double s = std::sin(2 * at.t), c = std::cos(2 * at.t);
    const Vec3 a = X.q * amplitude, u = X.q * axis;
    PoseJet j;
    j.p = X.p + s * a, j.v = 2 * c * a, j.a = -4 * s * a;
    j.q = exp_so3(0.4 * s * u) * X.q, j.w = 0.8 * c * u, j.alpha = -1.6 * s * u;
    return j;
  };
}

enum class Which { Task, Printed, Bodies };

std::unique_ptr<ControlLaw> law_for(Which which, const Model& model, const Bodies& start) {
  std::vector<Pose> X;
  for (std::size_t b = 0; b < start.size(); ++b) X.push_back(start[b].X_WB(model.bodies()[b]));
  if (which == Which::Bodies) {
    BodyLawSpec spec;
    for (const Pose& pose : X) spec.paths.push_back(swing(pose, {0.1, 0, 0.05}, Vec3(0, 0.6, 0.8)));
    return std::make_unique<BodyLaw>(model, spec);
  }
  TaskLawSpec spec;
  spec.as_printed = which == Which::Printed;
  const int last = static_cast<int>(X.size()) - 1;
  spec.tasks = {Task{.name = "tip",
                     .body = last,
                     .X_BE = Pose{Quat::Identity(), {0.1, 0.2, 0}},
                     .path = swing(X.back(), {0.1, 0.2, 0}, {0, 0.6, 0.8})}};
  Obstacle o;
  o.a = X.front() * Vec3(0.4, 0.1, 0.2), o.width = 0.4;
  const Repulsion repulsion(model, {o}, {{0, Vec3(0.1, 0, 0), 0.05, Vec3(0.2, -0.3, 0.1)}});
  if (spec.as_printed) return std::make_unique<TaskLaw>(model, spec, repulsion);
  // For the first body less is left than it is asked for.
  spec.tasks.push_back(
      Task{.name = "root", .body = 0, .X_BE = {}, .path = swing(X.front(), {0, 0.2, 0.1}, {1, 0, 0}), .damping = 1e-3});
  spec.gains.integral_linear = 2, spec.gains.integral_angular = 0.5, spec.gains.observer = 15;
  return std::make_unique<TaskLaw>(model, spec, repulsion, LimitRepulsion(model, limits_about(model, start, 1.0), 0.2, 0.4));
}

/// A law as something that acts.
class Acting final : public Environment {
 public:
  explicit Acting(std::unique_ptr<ControlLaw> law) : law_(std::move(law)) {}
  void add(Instant at, const Bodies& bodies, Load& load) const override { law_->command(at, bodies, load); }
  void settle(double t, const Bodies& bodies) { law_->settle(t, bodies); }

 private:
  std::unique_ptr<ControlLaw> law_;
};

std::optional<Bodies> after(const ModelSpec& spec, const Bodies& start, Which which) {
  const Model model = build(spec);
  Augmented formulation(model);
  System system(formulation);
  auto law = law_for(which, model, start);
  if (!law->objection(0.0, start).empty()) return {};  // a mechanism that cannot do what is asked for
  Acting acting(std::move(law));
  system.add(acting);
  State x;
  formulation.set(start, x);
  const auto rk4 = std::move(*make_integrator("rk4"));
  Bodies out = start;
  for (int k = 0; k < 30; ++k) {
    acting.settle(0.01 * k, out);
    if (!march(spec, system, *rk4, 0.01 * k, 0.01 * (k + 1), 0.0025, x).verdict.ok()) return {};
    formulation.bodies(x, out);
  }
  return out;
}

/// How far a motion goes from itself when its start is nudged, four times.
double noise_of(const ModelSpec& spec, const Bodies& start, Which which, const Bodies& end, Random& random) {
  double noise = 0;
  for (int n = 0; n < 4; ++n)
    if (const auto beside = after(spec, nudged(random, start), which)) keep_largest(noise, apart(end, *beside));
  return noise;
}

// 400 evaluations with round-off of 1e-16 times the condition of joints and inertias, 1e4, are 4e-11. Where tasks and limits
// leave hardly any freedom more is lost: as much as the same motion loses when its start is changed by 1e-15.
void expect_the_same(Which which, bool same) {
  int judged = 0, differing = 0;
  for (int k = 0; k < cases(12); ++k) {
    MechanismOptions o;
    o.bodies = 2 + k % 4, o.floating = which != Which::Bodies || k % 2 == 0, o.passive = false, o.locked = false,
    o.mass_ratio = 5;
    o.kinds = {JointKind::Spherical, JointKind::Revolute, JointKind::Universal, JointKind::Cylindrical};
    const Sample s = random_sample(seed(9900) + static_cast<std::uint64_t>(k), o);
    Random random(9901, static_cast<std::uint64_t>(k));
    const Redescribed other = in_another_world(s, random);
    const auto here = after(s.mechanism.spec, s.bodies, which), there = after(other.spec, other.bodies, which);
    if (!here || !there) continue;
    ++judged;
    const Bodies back = other.bodies_back(*there);
    const double difference = apart(*here, back);
    if (same && difference > 1e-9) {
      EXPECT_LT(difference, 10 * noise_of(s.mechanism.spec, s.bodies, which, *here, random)) << describe(s.mechanism.spec);
    }
    differing += difference > 1e-4;
  }
  EXPECT_GE(judged, cases(12) * 3 / 4);
  if (!same) {
    EXPECT_GT(differing, judged / 2);
  }
}

TEST(ClosedLoop, OfTasksIsTheSameInEveryWorld) { expect_the_same(Which::Task, true); }
TEST(ClosedLoop, OfAllBodiesIsTheSameInEveryWorld) { expect_the_same(Which::Bodies, true); }

// Body components of an attitude error, added to a velocity in World: the printed law prefers a World.
TEST(ClosedLoop, AsPrintedIsNot) { expect_the_same(Which::Printed, false); }

}  // namespace
}  // namespace invar::testing
