// SPDX-License-Identifier: Apache-2.0
#include "support/newton_euler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "invar/base/largest.hpp"

namespace invar::testing {

namespace {

/// What acts on one body about its centre of mass, and the magnitudes of what was added.
struct Sum {
  Vec3 force = Vec3::Zero(), moment = Vec3::Zero();
  double forces = 0, moments = 0;  // magnitudes
  double reach = 0;                // longest arm
  double turned = 0, moved = 0;    // by how much gaps may turn forces and moments, and move forces

  void add(const Vec3& f, const Vec3& m, const Vec3& arm) {
    force += f, moment += m + arm.cross(f);
    forces += f.norm(), moments += m.norm() + arm.norm() * f.norm();
    reach = std::max(reach, arm.norm());
  }
  void gape(double gap, double f, double m) { turned += gap * f, moved += gap * (f + m); }
  /// Where rates are off the constraints by a slip s, v' is known but for terms s w: an effort of a rotor that much uncertain.
  void slip(double effort, const Vec3& arm) { turned += effort, moved += effort * (1 + arm.norm()); }
};

/// Which part of the mechanism every body belongs to, joined by joints and couplings.
std::vector<std::size_t> parts_of(const ModelSpec& spec, const std::vector<PlainJoint>& joints) {
  std::vector<std::size_t> part(spec.bodies.size());
  std::iota(part.begin(), part.end(), std::size_t{0});
  const auto join = [&](int a, int b) {
    if (a == kWorld || b == kWorld) return;
    const std::size_t from = part[static_cast<std::size_t>(a)], to = part[static_cast<std::size_t>(b)];
    std::replace(part.begin(), part.end(), from, to);
  };
  for (const PlainJoint& j : joints) join(j.parent, j.child);
  for (const CouplingSpec& c : spec.couplings)
    join(joints[plain_joint(spec, c.joint)].child, joints[plain_joint(spec, c.of)].child);
  return part;
}

/// Where the coordinates and freedoms of every joint start in the stacked vectors.
struct Places {
  std::vector<int> q, v;
};
Places places_of(const std::vector<PlainJoint>& joints) {
  Places at;
  int q = 0, v = 0;
  for (const PlainJoint& j : joints) {
    at.q.push_back(q), at.v.push_back(v);
    q += static_cast<int>(j.q.size()), v += static_cast<int>(j.freedoms.size());
  }
  return at;
}

/// A coupling at one instant: its two freedoms, and slope and curvature of its polynomial.
struct PlainCoupling {
  std::size_t joint, of;
  const PlainFreedom &driven, &driving;
  double slope = 0, curve = 0, q = 0, value = 0;
};
PlainCoupling coupling_at(const ModelSpec& spec, const CouplingSpec& c, const std::vector<PlainJoint>& joints, const Places& at,
                          const VecX& q) {
  const std::size_t j = plain_joint(spec, c.joint), of = plain_joint(spec, c.of);
  PlainCoupling out{j, of, joints[j].freedoms[static_cast<std::size_t>(c.freedom)],
                    joints[of].freedoms[static_cast<std::size_t>(c.of_freedom)]};
  const double x = q[at.q[of] + c.of_freedom];
  out.q = q[at.q[j] + c.freedom];
  for (std::size_t k = 0; k < c.coefficients.size(); ++k) {
    const auto n = static_cast<double>(k);
    out.value += c.coefficients[k] * std::pow(x, n);
    if (k > 0) out.slope += n * c.coefficients[k] * std::pow(x, n - 1);
    if (k > 1) out.curve += n * (n - 1) * c.coefficients[k] * std::pow(x, n - 2);
  }
  return out;
}

/// A wrench on the child at the joint point, and its opposite on the parent.
void add_across(const PlainJoint& j, const Vec3& force, const Vec3& moment, std::vector<Sum>& sums) {
  const auto child = static_cast<std::size_t>(j.child);
  sums[child].add(force, moment, j.arm_C);
  sums[child].gape(j.gap, force.norm(), moment.norm());
  if (j.parent == kWorld) return;
  const auto parent = static_cast<std::size_t>(j.parent);
  sums[parent].add(-force, -moment, j.arm_P);
  sums[parent].gape(j.gap, force.norm(), moment.norm());
}

std::vector<Sum> sums_of(const ModelSpec& spec, const std::vector<PlainJoint>& joints, const Evaluation& e, const Port& port) {
  std::vector<Sum> sums(spec.bodies.size());
  const Vec3 none = Vec3::Zero();
  // Inertia, weight, port.
  for (std::size_t b = 0; b < sums.size(); ++b) {
    const Inertia inertia = plain_inertia(spec, b);
    const Mat3 R = e.bodies[b].q_WB.normalized().toRotationMatrix();
    const Vec3 w = e.bodies[b].w_WB;
    const Mat3 I = R * inertia.I_C * R.transpose();
    sums[b].add(inertia.mass * spec.gravity, none, none);
    sums[b].add(port[b].force, port[b].moment, none);
    sums[b].add(-inertia.mass * e.accelerations[b].a_WC, -I * e.accelerations[b].alpha_WB, none);
    sums[b].add(none, -w.cross(I * w), none);
    sums[b].moments += I.norm() * w.squaredNorm();
  }
  for (const TendonSpec& t : spec.tendons) {
    const PlainTendon tendon = plain_tendon(spec, t, e.bodies);
    for (std::size_t k = 0; k < tendon.body.size(); ++k)
      if (tendon.body[k] != kWorld) {
        Sum& sum = sums[static_cast<std::size_t>(tendon.body[k])];
        sum.add(tendon.force[k], none, tendon.arm[k]);
        sum.forces += tendon.size, sum.moments += tendon.size * tendon.arm[k].norm();
      }
  }
  // Joints: reactions act on the parent, efforts and rotors on the child.
  const Places at = places_of(joints);
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const PlainJoint& j = joints[i];
    add_across(j, -e.reactions[i].force, -e.reactions[i].moment, sums);
    for (std::size_t k = 0; k < j.freedoms.size(); ++k) {
      const PlainFreedom& f = j.freedoms[k];
      for (const double effort : {e.efforts[at.v[i] + static_cast<int>(k)], -f.armature * f.vdot})
        add_across(j, effort * f.force, effort * f.moment, sums);
      const double unsure = f.armature * 4 * j.slip * j.v_size;
      sums[static_cast<std::size_t>(j.child)].slip(unsure, j.arm_C);
      if (j.parent != kWorld) sums[static_cast<std::size_t>(j.parent)].slip(unsure, j.arm_P);
      // The derivative of the rate is a sum of accelerations that may cancel.
      add_across(j, f.armature * j.a_size * f.force, f.armature * j.a_size * f.moment, sums);
      add_across(j, -f.armature * j.a_size * f.force, -f.armature * j.a_size * f.moment, sums);
    }
  }
  for (std::size_t i = 0; i < spec.couplings.size(); ++i) {
    const PlainCoupling c = coupling_at(spec, spec.couplings[i], joints, at, e.q);
    const double effort = e.couplings[static_cast<Eigen::Index>(i)];
    add_across(joints[c.joint], effort * c.driven.force, effort * c.driven.moment, sums);
    add_across(joints[c.of], -c.slope * effort * c.driving.force, -c.slope * effort * c.driving.moment, sums);
  }
  return sums;
}

Balance worst_of(const ModelSpec& spec, const std::vector<PlainJoint>& joints, const std::vector<Sum>& sums) {
  const std::vector<std::size_t> part = parts_of(spec, joints);
  std::vector<double> forces(sums.size(), 0.0), moments(sums.size(), 0.0), reach(sums.size(), 0.0);
  for (std::size_t b = 0; b < sums.size(); ++b) {
    forces[part[b]] += sums[b].forces, moments[part[b]] += sums[b].moments;
    keep_largest(reach[part[b]], sums[b].reach);
  }
  // A force known to round-off of all forces is carried by its arm, also where it is itself nearly zero.
  for (std::size_t b = 0; b < sums.size(); ++b) moments[b] += reach[b] * forces[b];
  Balance worst;
  for (std::size_t b = 0; b < sums.size(); ++b) {
    const auto over = [](double residual, double allowed) { return residual == 0 ? 0.0 : residual / allowed; };
    const double f = over(sums[b].force.norm(), kBalance * forces[part[b]] + sums[b].turned);
    const double m = over(sums[b].moment.norm(), kBalance * moments[part[b]] + sums[b].moved);
    if (!(std::max(f, m) <= std::max(worst.force, worst.moment))) worst.body = static_cast<int>(b);
    keep_largest(worst.force, f), keep_largest(worst.moment, m);
  }
  return worst;
}

void expect_small(double error, double allowed, const std::string& what) {
  EXPECT_LE(error, allowed) << what;  // so that NaN fails
}

/// Coordinates on any turn, rates, their derivatives.
void expect_coordinates(const ModelSpec& spec, const std::vector<PlainJoint>& joints, const Evaluation& e,
                        const std::string& what) {
  const Places at = places_of(joints);
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const PlainJoint& j = joints[i];
    if (j.held) continue;
    const JointKind kind = spec.joints[i].kind;
    const std::string of = " of joint " + spec.joints[i].name + "\n  " + what;
    const std::size_t ball = kind == JointKind::Spherical ? 0 : (kind == JointKind::Free ? 3 : j.q.size());
    const double allowed = kBalance * (1 + j.p_size) + 4 * j.gap;
    for (std::size_t k = 0; k < ball; ++k) {
      const bool angle = k < j.freedoms.size() && !j.freedoms[k].turn.isZero(0);
      double error = e.q[at.q[i] + static_cast<int>(k)] - j.q[k];
      if (angle) error -= 2 * M_PI * std::round(error / (2 * M_PI));
      expect_small(std::abs(error), allowed * (kind == JointKind::Screw ? 1 + 1 / std::abs(spec.joints[i].pitch) : 1),
                   "coordinate" + of);
    }
    if (ball < j.q.size()) {
      const Eigen::Map<const Eigen::Vector4d> q(j.q.data() + ball);
      const Eigen::Vector4d said = e.q.segment<4>(at.q[i] + static_cast<int>(ball));
      expect_small(std::min((said - q).norm(), (said + q).norm()), allowed, "attitude" + of);
    }
    const double v_allowed = (kBalance + 4 * j.gap) * (1 + j.v_size) + 4 * j.slip;
    const double a_allowed = (kBalance + 4 * j.gap) * (1 + j.a_size) + 8 * j.slip * (1 + j.v_size) + 4 * j.miss;
    for (std::size_t k = 0; k < j.freedoms.size(); ++k) {
      const int n = at.v[i] + static_cast<int>(k);
      expect_small(std::abs(e.v[n] - j.freedoms[k].v), v_allowed, "rate" + of);
      if (e.vdot.size() > 0) expect_small(std::abs(e.vdot[n] - j.freedoms[k].vdot), a_allowed, "derivative of the rate" + of);
    }
  }
}

/// What was commanded and what springs, dampers, friction and stops add.
void expect_efforts(const ModelSpec& spec, const std::vector<PlainJoint>& joints, const Evaluation& e, const Load& load,
                    const std::string& what) {
  const Places at = places_of(joints);
  for (std::size_t i = 0; i < joints.size(); ++i) {
    if (joints[i].held) continue;
    std::vector<double> q(joints[i].q.size()), size;
    for (std::size_t k = 0; k < q.size(); ++k) q[k] = e.q[at.q[i] + static_cast<int>(k)];
    const std::vector<double> passive = plain_passive(spec.joints[i], joints[i], q, size);
    for (std::size_t k = 0; k < passive.size(); ++k) {
      const int n = at.v[i] + static_cast<int>(k);
      const double allowed =
          size[k] * (kBalance * (1 + joints[i].p_size + joints[i].v_size) + 4 * (joints[i].gap + joints[i].slip));
      expect_small(std::abs(e.efforts[n] - load.efforts[n] - passive[k]), allowed + kBalance * std::abs(load.efforts[n]),
                   "effort of joint " + spec.joints[i].name + "\n  " + what);
    }
  }
}

void expect_tendons(const ModelSpec& spec, const Evaluation& e, const std::string& what) {
  ASSERT_EQ(e.tendons.size(), spec.tendons.size()) << what;
  for (std::size_t i = 0; i < spec.tendons.size(); ++i) {
    const PlainTendon t = plain_tendon(spec, spec.tendons[i], e.bodies);
    const std::string of = " of tendon " + spec.tendons[i].name + "\n  " + what;
    expect_small(std::abs(e.tendons[i].length - t.length), kBalance * (1 + t.length), "length" + of);
    expect_small(std::abs(e.tendons[i].tension - t.tension), kBalance * (t.size + std::abs(t.tension)), "tension" + of);
  }
}

/// A reaction is the constraint part: no freedom feels it.
void expect_workless(const ModelSpec& spec, const std::vector<PlainJoint>& joints, const Evaluation& e, double force,
                     double moment, const std::string& what) {
  for (std::size_t i = 0; i < joints.size(); ++i)
    for (const PlainFreedom& f : joints[i].freedoms) {
      const double m = f.turn.dot(e.reactions[i].moment), l = f.slide.dot(e.reactions[i].force);
      const double size = f.turn.norm() * (moment + joints[i].gap * e.reactions[i].moment.norm() / kBalance) +
                          f.slide.norm() * (force + joints[i].gap * e.reactions[i].force.norm() / kBalance);
      expect_small(std::abs(m + l), kBalance * size, "power of the reaction of joint " + spec.joints[i].name + "\n  " + what);
    }
}

/// Accelerations keep the joints closed and the couplings in step. Bound: see kKept. Forces that cancel leave accelerations of
/// their own round-off.
void expect_kept(const ModelSpec& spec, const std::vector<PlainJoint>& joints, const std::vector<Sum>& sums, const Evaluation& e,
                 const std::string& what) {
  double size = spec.gravity.norm();
  for (const PlainJoint& j : joints) keep_largest(size, j.a_size);
  for (std::size_t b = 0; b < sums.size(); ++b)
    if (const double mass = plain_inertia(spec, b).mass; mass > 0) keep_largest(size, sums[b].forces / mass);
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const PlainJoint& j = joints[i];
    expect_small(j.miss, kKept * size + 8 * (j.slip + j.gap * j.v_size) * (1 + j.v_size) + 4 * j.gap * j.a_size,
                 "acceleration across joint " + spec.joints[i].name + "\n  " + what);
  }
  const Places at = places_of(joints);
  for (const CouplingSpec& s : spec.couplings) {
    const PlainCoupling c = coupling_at(spec, s, joints, at, e.q);
    const double error = c.driven.vdot - c.slope * c.driving.vdot - c.curve * c.driving.v * c.driving.v;
    const double slip = joints[c.joint].slip + joints[c.of].slip + joints[c.joint].gap + joints[c.of].gap;
    expect_small(std::abs(error), (kKept * size + 8 * slip * (1 + size)) * (1 + std::abs(c.slope) + std::abs(c.curve)),
                 "acceleration of coupling " + s.name + "\n  " + what);
  }
}

}  // namespace

Balance balance(const Judged& by, const Evaluation& e, const Port& port) {
  const std::vector<PlainJoint> joints = plain_joints(by.spec, e.bodies, e.accelerations);
  Balance worst = worst_of(by.spec, joints, sums_of(by.spec, joints, e, port));
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const double open = joints[j].gap / (by.open * (1 + joints[j].p_size));
    if (!(open <= worst.open)) worst.joint = static_cast<int>(j);
    keep_largest(worst.open, open);
  }
  return worst;
}

void expect_balance(const Judged& by, const Evaluation& e, const Port& port, const std::string& what) {
  const Balance worst = balance(by, e, port);
  const std::string body = worst.body < 0 ? "" : by.spec.bodies[static_cast<std::size_t>(worst.body)].name;
  expect_small(worst.force, 1, "Newton at body " + body + "\n  " + what);
  expect_small(worst.moment, 1, "Euler at body " + body + "\n  " + what);
  const std::string joint = worst.joint < 0 ? "" : by.spec.joints[static_cast<std::size_t>(worst.joint)].name;
  expect_small(worst.open, 1, "gap of joint " + joint + "\n  " + what);
}

void expect_balance(const Judged& by, System& system, double t, const State& x) {
  Evaluation e;
  const Verdict verdict = system.evaluate(t, x, e);
  ASSERT_TRUE(verdict.ok()) << name(verdict.status) << ": not judged at t = " << t;
  ASSERT_EQ(e.efforts.size(), system.model().nv()) << "a formulation that does not see joints cannot be judged";
  expect_balance(by, e, system.load().port, "t = " + std::to_string(t));
}

void expect_newton_euler(const Judged& by, const Evaluation& e, const Load& load, const std::string& what) {
  const ModelSpec& spec = by.spec;
  const std::vector<PlainJoint> joints = plain_joints(spec, e.bodies, e.accelerations);
  expect_coordinates(spec, joints, e, what);
  expect_efforts(spec, joints, e, load, what);
  expect_tendons(spec, e, what);
  double force = 0, moment = 0;
  const std::vector<Sum> sums = sums_of(spec, joints, e, load.port);
  for (const Sum& sum : sums) force += sum.forces, moment += sum.moments;
  expect_workless(spec, joints, e, force, moment, what);
  expect_kept(spec, joints, sums, e, what);
  expect_balance(by, e, load.port, what);
}

}  // namespace invar::testing
