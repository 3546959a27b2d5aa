// SPDX-License-Identifier: Apache-2.0
//
// One evaluation of the dynamics knows nothing of the World frame, of the order of a file, or of units. Every mechanism is
// described twice, the second time changed, and the results are changed back and compared.
//
// Tolerance: 1e-13 of the largest acceleration (reaction), or 4 u cond(K) where that is more: the two descriptions are rounded
// differently, which is an uncertainty of u in the inputs.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "invar/mech/augmented.hpp"
#include "invar/model/joint/kinds.hpp"
#include "support/dense_kkt.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

struct Case {
  ModelSpec spec;
  Bodies bodies;
  Load load;
};

struct Outcome {
  Accelerations accelerations;
  std::vector<Wrench> reactions;
};

Outcome evaluate(const Model& model, const Bodies& bodies, const Load& load) {
  Augmented product(model);
  State x;
  product.set(bodies, x);
  Evaluation e;
  const Verdict verdict = product.evaluate(x, load, e);
  EXPECT_TRUE(verdict.ok()) << name(verdict.status);
  return {e.accelerations, e.reactions};
}

Sample draw(int i, bool mixed_units) {
  MechanismOptions o;
  o.bodies = 2 + i % 9;
  o.floating = i % 3 == 1;
  o.loops = i % 4 == 0 ? 0 : i % 3;
  o.redundant = i % 5 == 2 ? 1 : 0;
  o.couplings = i % 6 == 0 ? 1 : 0;
  o.mass_ratio = 100;
  if (!mixed_units)
    o.kinds = {JointKind::Fixed, JointKind::Revolute,  JointKind::Prismatic,
               JointKind::Screw, JointKind::Universal, JointKind::Spherical};
  return random_sample(500 + static_cast<std::uint64_t>(i), o);
}

double bound(const Sample& s) { return std::max(1e-13, 4 * 1.1e-16 * judge(s.model, s.bodies, s.load).condition); }

void expect_same(const Sample& s, const Outcome& a, const Outcome& b, int i) {
  const double l = s.model.length(), tolerance = bound(s);
  double a_size = s.model.gravity().norm(), f_size = s.model.mean_mass(), a_error = 0, f_error = 0;
  for (std::size_t k = 0; k < a.accelerations.size(); ++k) {
    const BodyAcceleration &x = a.accelerations[k], &y = b.accelerations[k];
    a_size = std::max(a_size, x.a_WC.norm() + l * x.alpha_WB.norm());
    a_error = std::max(a_error, (x.a_WC - y.a_WC).norm() + l * (x.alpha_WB - y.alpha_WB).norm());
    f_size = std::max(f_size, s.load.port[k].force.norm());
  }
  for (std::size_t k = 0; k < a.reactions.size(); ++k) {
    const Wrench &x = a.reactions[k], &y = b.reactions[k];
    f_size = std::max(f_size, x.force.norm() + x.moment.norm() / l);
    f_error = std::max(f_error, (x.force - y.force).norm() + (x.moment - y.moment).norm() / l);
  }
  EXPECT_LT(a_error / a_size, tolerance) << "case " << i << ": " << describe(s.mechanism.spec);
  EXPECT_LT(f_error / f_size, tolerance) << "case " << i << ": " << describe(s.mechanism.spec);
}

constexpr int kCases = 36;

TEST(Evaluation, IsTheSameInEveryWorld) {
  for (int i = 0; i < kCases; ++i) {
    const Sample s = draw(i, true);
    Random random(static_cast<std::uint64_t>(i), 7);
    const Pose X = random_pose(random, 2.0);  // the old World seen from the new one
    // What is fixed in World moves: frames of joints on it, gravity, bodies, wrenches.
    Case c{s.mechanism.spec, s.bodies, s.load};
    c.spec.gravity = X.q * c.spec.gravity;
    for (JointSpec& j : c.spec.joints)
      if (j.parent == "world") j.at_parent = X * j.at_parent;
    for (BodyState& b : c.bodies) b = {X * b.p_WC, X.q * b.v_WC, X.q * b.w_WB, normalized(X.q * b.q_WB)};
    for (Wrench& w : c.load.port) w = {X.q * w.moment, X.q * w.force};
    Outcome there = evaluate(build(c.spec), c.bodies, c.load);
    const Quat back = X.q.conjugate();
    for (BodyAcceleration& a : there.accelerations) a = {back * a.a_WC, back * a.alpha_WB};
    for (Wrench& w : there.reactions) w = {back * w.moment, back * w.force};
    expect_same(s, evaluate(s.model, s.bodies, s.load), there, i);
  }
}

std::vector<std::size_t> permutation(Random& random, std::size_t n) {
  std::vector<std::size_t> p(n);
  std::iota(p.begin(), p.end(), std::size_t{0});
  for (std::size_t i = n; i > 1; --i) std::swap(p[i - 1], p[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
  return p;
}

TEST(Evaluation, IsTheSameInEveryOrderOfBodiesAndJoints) {
  for (int i = 0; i < kCases; ++i) {
    const Sample s = draw(i, true);
    Random random(static_cast<std::uint64_t>(i), 8);
    const auto bodies = permutation(random, s.bodies.size()), joints = permutation(random, s.mechanism.spec.joints.size());
    Case c{s.mechanism.spec, s.bodies, s.load};
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      c.spec.bodies[b] = s.mechanism.spec.bodies[bodies[b]];
      c.bodies[b] = s.bodies[bodies[b]];
      c.load.port[b] = s.load.port[bodies[b]];
    }
    for (std::size_t j = 0; j < joints.size(); ++j) c.spec.joints[j] = s.mechanism.spec.joints[joints[j]];
    const Model model = build(c.spec);
    for (std::size_t j = 0; j < joints.size(); ++j) {
      const Joint& from = s.model.joints()[joints[j]];
      c.load.efforts.segment(model.joints()[j].v0, from.nv) = s.load.efforts.segment(from.v0, from.nv);
    }
    const Outcome there = evaluate(model, c.bodies, c.load);
    Outcome back = there;
    for (std::size_t b = 0; b < bodies.size(); ++b) back.accelerations[bodies[b]] = there.accelerations[b];
    for (std::size_t j = 0; j < joints.size(); ++j) back.reactions[joints[j]] = there.reactions[j];
    expect_same(s, evaluate(s.model, s.bodies, s.load), back, i);
  }
}

/// How many new units one old unit is.
struct Units {
  double length, mass, time;
  double velocity() const { return length / time; }
  double acceleration() const { return length / time / time; }
  double force() const { return mass * acceleration(); }
  double moment() const { return force() * length; }
};

/// Of the coordinate of freedom k. Kinds that mix angles with lengths are left out (see `draw`): a joint has one number for the
/// stiffness of all its stops and one for the smoothing of friction. Only free joints of floating systems mix them: they have
/// no stops, and their friction is taken away.
double coordinate_unit(JointKind kind, std::size_t k, const Units& u) {
  return kind == JointKind::Prismatic || (kind == JointKind::Free && k < 3) ? u.length : 1.0;
}

/// Multiplies entry k by effort^a coordinate^b time^c of its freedom.
void convert(std::vector<double>& list, JointKind kind, const Units& u, int a, int b, int c) {
  for (std::size_t k = 0; k < list.size(); ++k) {
    const double q = coordinate_unit(kind, k, u);
    list[k] *= std::pow(u.moment() / q, a) * std::pow(q, b) * std::pow(u.time, c);
  }
}

JointSpec converted(JointSpec j, const Units& u) {
  const double q = coordinate_unit(j.kind, 0, u), effort = u.moment() / q;
  j.at_parent.p *= u.length, j.at_child.p *= u.length, j.pitch *= u.length;
  convert(j.spring.stiffness, j.kind, u, 1, -1, 0), convert(j.spring.rest, j.kind, u, 0, 1, 0);
  convert(j.limits.lower, j.kind, u, 0, 1, 0), convert(j.limits.upper, j.kind, u, 0, 1, 0);
  j.limits.stiffness *= effort / q, j.limits.damping *= u.time / q;
  convert(j.damping, j.kind, u, 1, -1, 1), convert(j.friction, j.kind, u, 1, 0, 0), convert(j.armature, j.kind, u, 1, -1, 2);
  j.friction_velocity *= q / u.time;
  if (j.kind == JointKind::Prismatic || j.kind == JointKind::Free) convert(j.locked_at, j.kind, u, 0, 1, 0);
  return j;
}

Case converted(const Sample& s, const Units& u) {
  Case c{s.mechanism.spec, s.bodies, s.load};
  c.spec.gravity *= u.acceleration();
  for (BodySpec& b : c.spec.bodies) {
    b.inertia.mass *= u.mass, b.inertia.p_BC *= u.length, b.inertia.I_C *= u.mass * u.length * u.length;
  }
  for (JointSpec& j : c.spec.joints) j = converted(j, u);
  for (CouplingSpec& g : c.spec.couplings) {
    const auto unit = [&](const std::string& joint) {
      return coordinate_unit(s.model.joints()[static_cast<std::size_t>(*s.model.find_joint(joint))].kind, 0, u);
    };
    double factor = unit(g.joint);
    for (double& x : g.coefficients) x *= factor, factor /= unit(g.of);
  }
  for (BodyState& b : c.bodies) b.p_WC *= u.length, b.v_WC *= u.velocity(), b.w_WB /= u.time;
  for (Wrench& w : c.load.port) w = {u.moment() * w.moment, u.force() * w.force};
  for (const Joint& j : s.model.joints())
    for (int k = 0; k < j.nv; ++k)
      c.load.efforts[j.v0 + k] *= u.moment() / coordinate_unit(j.kind, static_cast<std::size_t>(k), u);
  return c;
}

void expect_same_in(const Units& u) {
  for (int i = 0; i < kCases; ++i) {
    Sample s = draw(i, false);
    for (JointSpec& j : s.mechanism.spec.joints)
      if (j.kind == JointKind::Free) j.friction.clear();
    s.model = build(s.mechanism.spec);
    const Case c = converted(s, u);
    Outcome there = evaluate(build(c.spec), c.bodies, c.load);
    for (BodyAcceleration& a : there.accelerations) a.a_WC /= u.acceleration(), a.alpha_WB *= u.time * u.time;
    for (Wrench& w : there.reactions) w = {w.moment / u.moment(), w.force / u.force()};
    expect_same(s, evaluate(s.model, s.bodies, s.load), there, i);
  }
}

TEST(Evaluation, IsTheSameInMillimetresGramsAndMilliseconds) { expect_same_in({1e3, 1e3, 1e3}); }
TEST(Evaluation, IsTheSameInKilometresTonnesAndHours) { expect_same_in({1e-3, 1e-3, 1.0 / 3600}); }

}  // namespace
}  // namespace invar::testing
