// SPDX-License-Identifier: Apache-2.0
#include "support/linkages.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace invar::testing {
namespace {

// A uniform rod from the origin to `end`, with some inertia about itself.
BodySpec rod(const std::string& name, const Vec3& end, double about) {
  BodySpec body;
  body.name = name;
  body.inertia.mass = 1;
  body.inertia.p_BC = 0.5 * end;
  const double l2 = end.squaredNorm();
  const Vec3 e = end / std::sqrt(l2);
  body.inertia.I_C = l2 / 12 * (Mat3::Identity() - e * e.transpose()) + about * e * e.transpose();
  return body;
}

JointSpec hinge(const std::string& name, const std::string& parent, const std::string& child, const Pose& at_parent,
                const Pose& at_child, const Vec3& axis = Vec3::UnitZ()) {
  JointSpec joint;
  joint.name = name, joint.kind = JointKind::Revolute, joint.parent = parent, joint.child = child;
  joint.at_parent = at_parent, joint.at_child = at_child, joint.axis = axis;
  return joint;
}

Pose at(const Vec3& p, double roll = 0) { return {Quat(Eigen::AngleAxisd(roll, Vec3::UnitX())), p}; }

}  // namespace

double Bennett::beta() const { return std::asin(b / a * std::sin(alpha)); }
double Bennett::k() const { return std::sin(0.5 * (beta() + alpha)) / std::sin(0.5 * (beta() - alpha)); }

ModelSpec Bennett::spec() const {
  ModelSpec out;
  out.name = "Bennett";
  out.bodies = {rod("link1", {a, 0, 0}, 1e-3), rod("link2", {b, 0, 0}, 1e-3), rod("link3", {a, 0, 0}, 1e-3)};
  out.joints = {hinge("j1", "world", "link1", {}, {}), hinge("j2", "link1", "link2", at({a, 0, 0}, alpha), {}),
                hinge("j3", "link2", "link3", at({b, 0, 0}, beta()), {}),
                hinge("j4", "world", "link3", at({-b, 0, 0}, -beta()), at({a, 0, 0}, alpha))};
  const double other = 2 * std::atan(k() / std::tan(0.5 * start));
  out.initial = {{"j1", {start}}, {"j2", {other}}, {"j3", {-start}}, {"j4", {other}}};
  return out;
}

Bennett random_bennett(Random& random) {
  Bennett out;
  out.a = random.uniform(0.5, 2);
  out.b = out.a * random.uniform(1.15, 1.8);
  out.alpha = random.uniform(0.15, 0.9 * std::asin(out.a / out.b));
  out.start = random.uniform(0.5, 2.6);
  return out;
}

ModelSpec sarrus(double angle, double stiffness) {
  ModelSpec out;
  out.name = "Sarrus";
  out.gravity.setZero();
  const double c = std::cos(angle), s = std::sin(angle);
  BodySpec platform;
  platform.name = "platform";
  platform.inertia.mass = 2;
  platform.inertia.I_C = Vec3(0.2, 0.2, 0.4).asDiagonal();
  out.bodies = {platform};
  for (const bool first : {true, false}) {
    // Outwards from the platform, and the axis of the hinges.
    const Vec3 out_of = first ? Vec3(0, -1, 0) : Vec3(-1, 0, 0), axis = first ? Vec3::UnitX() : Vec3::UnitY();
    const std::string n = first ? "1" : "2";
    const Vec3 lower = c * out_of + s * Vec3::UnitZ(), upper = -c * out_of + s * Vec3::UnitZ(), foot = 0.5 * out_of;
    out.bodies.push_back(rod("lower" + n, lower, 1e-3));
    out.bodies.push_back(rod("upper" + n, upper, 1e-3));
    out.joints.push_back(hinge("foot" + n, "world", "lower" + n, at(foot), {}, axis));
    out.joints.push_back(hinge("knee" + n, "lower" + n, "upper" + n, at(lower), {}, axis));
    out.joints.push_back(hinge("hip" + n, "upper" + n, "platform", at(upper), at(foot), axis));
    out.joints[out.joints.size() - 3].spring = {SpringLaw::RotationVector, {stiffness}, {0}};
  }
  return out;
}

ModelSpec windows(int n, double about) {
  ModelSpec out;
  out.name = fmt::format("A02 {}-four-bar", n);
  out.gravity = {0, -9.81, 0};
  for (int k = 0; k <= n; ++k) out.bodies.push_back(rod(fmt::format("rod{}", k), {0, 1, 0}, about));
  for (int k = 0; k < n; ++k) out.bodies.push_back(rod(fmt::format("bar{}", k), {1, 0, 0}, about));
  for (int k = 0; k <= n; ++k)
    out.joints.push_back(hinge(fmt::format("a{}", k), "world", fmt::format("rod{}", k), at(Vec3(k, 0, 0)), {}));
  for (int k = 0; k < n; ++k) {
    out.joints.push_back(hinge(fmt::format("b{}", k), fmt::format("rod{}", k), fmt::format("bar{}", k), at({0, 1, 0}), {}));
    out.joints.push_back(
        hinge(fmt::format("c{}", k), fmt::format("bar{}", k), fmt::format("rod{}", k + 1), at({1, 0, 0}), at({0, 1, 0})));
    out.joints.back().cut = true;
  }
  return out;
}

ModelSpec net_of_rods(int k, double about) {
  ModelSpec out;
  out.name = fmt::format("net of {0} x {0} windows", k);
  out.gravity = {0, -9.81, 0};
  Random random(3);
  const auto nodes = static_cast<std::size_t>((k + 1) * (k + 1));
  std::vector<Vec3> node(nodes), start;  // start: per rod
  for (std::size_t i = 0; i < nodes; ++i)
    node[i] = Vec3(static_cast<int>(i) % (k + 1) + random.uniform(-0.2, 0.2),
                   static_cast<int>(i) / (k + 1) + random.uniform(-0.2, 0.2), 0);
  std::vector<int> first(nodes, -1);  // rod
  const auto meet = [&](std::size_t n, int rod) {
    if (int& one = first[n]; one < 0) {
      one = rod;
    } else {
      const std::size_t i = static_cast<std::size_t>(one), j = static_cast<std::size_t>(rod);
      out.joints.push_back(hinge(fmt::format("h{}", out.joints.size()), out.bodies[i].name, out.bodies[j].name,
                                 at(node[n] - start[i]), at(node[n] - start[j])));
    }
  };
  const auto join = [&](std::size_t from, std::size_t to) {
    const int i = static_cast<int>(out.bodies.size());
    out.bodies.push_back(rod(fmt::format("rod{}", i), node[to] - node[from], about));
    start.push_back(node[from]);
    if (i == 0) out.joints.push_back(hinge("foot", "world", "rod0", at(node[from]), {}));
    meet(from, i), meet(to, i);
  };
  for (int y = 0; y <= k; ++y)
    for (int x = 0; x <= k; ++x) {
      const auto n = static_cast<std::size_t>(y * (k + 1) + x);
      if (x < k) join(n, n + 1);
      if (y < k) join(n, n + static_cast<std::size_t>(k) + 1);
    }
  return out;
}

ModelSpec hinge_chain(int n) {
  ModelSpec out;
  out.name = fmt::format("chain of {}", n);
  for (int k = 0; k < n; ++k) {
    out.bodies.push_back(rod(fmt::format("link{}", k), {0.1, 0, 0}, 1e-4));
    out.joints.push_back(hinge(fmt::format("h{}", k), k == 0 ? "world" : fmt::format("link{}", k - 1), fmt::format("link{}", k),
                               at(Vec3(k == 0 ? 0 : 0.1, 0, 0)), {}, Vec3::UnitY()));
    out.initial[fmt::format("h{}", k)] = {0.01 * (k % 7)};
  }
  return out;
}

ModelSpec crank_rocker(Random& random, double scale) {
  const double crank = scale * random.uniform(0.2, 0.4), coupler = scale * random.uniform(1.2, 1.4);
  const double rocker = scale * random.uniform(1.0, 1.2), ground = scale * random.uniform(1.1, 1.3);
  ModelSpec spec;
  const auto body = [&](const char* name, double length) {
    BodySpec b;
    b.name = name;
    b.inertia = solid_box(1, {length, 0.1 * scale, 0.1 * scale});
    b.inertia.p_BC = {0.5 * length, 0, 0};
    spec.bodies.push_back(b);
  };
  body("crank", crank), body("coupler", coupler), body("rocker", rocker);
  const auto hinge = [&](const char* name, const char* parent, const char* child, double on_parent, double on_child) {
    JointSpec j;
    j.name = name, j.kind = JointKind::Revolute, j.parent = parent, j.child = child;
    j.at_parent.p = {on_parent, 0, 0}, j.at_child.p = {on_child, 0, 0};
    spec.joints.push_back(j);
  };
  hinge("a", "world", "crank", 0, 0), hinge("b", "crank", "coupler", crank, 0);
  hinge("c", "rocker", "coupler", rocker, coupler), hinge("d", "world", "rocker", ground, 0);
  return spec;
}

}  // namespace invar::testing
