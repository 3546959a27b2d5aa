// SPDX-License-Identifier: Apache-2.0
#include "support/meeting_loops.hpp"

#include <cmath>

namespace invar::testing {

ModelSpec links(Random& random, double scale, const std::array<double, 3>& lengths) {
  ModelSpec spec;
  spec.gravity = 9.81 * scale * random_unit(random);  // so that all sizes move alike
  for (std::size_t i = 0; i < 3; ++i) {
    BodySpec body;
    body.name = std::to_string(i + 1);
    body.inertia = solid_box(random.uniform(0.5, 3), {lengths[i], 0.1 * scale, 0.1 * scale});
    body.inertia.p_BC = {0.5 * lengths[i], 0, 0};
    spec.bodies.push_back(body);
  }
  return spec;
}

void join(ModelSpec& spec, const char* name, const char* parent, const char* child, const Pose& on_parent, double on_child) {
  JointSpec joint;
  joint.name = name, joint.kind = JointKind::Revolute, joint.parent = parent, joint.child = child;
  joint.at_parent = on_parent, joint.at_child.p = {on_child, 0, 0};
  spec.joints.push_back(joint);
}

Pose along(double x) { return {Quat::Identity(), {x, 0, 0}}; }

void turn_ground(Random& random, double scale, ModelSpec& spec) {
  const Pose X = random_pose(random, scale);
  for (JointSpec& joint : spec.joints)
    if (joint.parent == "world") joint.at_parent = X * joint.at_parent;
}

/// Opposite sides equal, l and b: flat, cranks turn alike, or d = -a (b + l)/(b - l). (From b² = the squared distance of the
/// pins to second order of both angles.)
Meeting4 meeting_parallelogram(Random& random, double scale) {
  const double l = scale * random.uniform(0.3, 0.5), b = scale * random.uniform(1, 2), at = random.uniform(0.3, 0.7);
  Meeting4 out;
  out.spec = links(random, scale, {l, b, l});
  join(out.spec, "a", "world", "1", along(0), 0);
  join(out.spec, "b", "1", "2", along(l), 0);
  join(out.spec, "c", "3", "2", along(l), b);
  join(out.spec, "d", "world", "3", along(b), 0);
  turn_ground(random, scale, out.spec);
  out.spec.initial = {{"a", {at}}, {"b", {-at}}, {"c", {-at}}, {"d", {at}}};
  out.at = {{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}};
  // The coupler turns by (l/b) times the difference of the cranks.
  const double d = -(b + l) / (b - l), turn = l / b * (d - 1);
  out.branches = {{{"a", 1}, {"b", -1}, {"c", -1}, {"d", 1}}, {{"a", 1}, {"b", turn - 1}, {"c", turn - d}, {"d", d}}};
  return out;
}

/// Neighbouring sides equal: crank and ground r, coupler and rocker s. Where the crank lies on the ground, its pin is on the
/// rocker's pivot: coupler and rocker turn together there, or the kite opens and its axis turns by half the crank's angle.
Meeting4 meeting_kite(Random& random, double scale) {
  const double r = scale * random.uniform(0.6, 1), s = scale * random.uniform(1.2, 2), at = random.uniform(0.4, 0.9);
  Meeting4 out;
  out.spec = links(random, scale, {r, s, s});
  join(out.spec, "a", "world", "1", along(0), 0);
  join(out.spec, "b", "1", "2", along(r), 0);
  join(out.spec, "c", "3", "2", along(s), s);
  join(out.spec, "d", "world", "3", along(r), 0);
  turn_ground(random, scale, out.spec);
  // Pins at P = r (cos, sin) and (r, 0): their middle, and from there along the axis of symmetry.
  const double half = r * std::sin(0.5 * at), axis = 0.5 * at, high = std::sqrt(s * s - half * half);
  const double x = r * std::cos(axis) * std::cos(axis) + high * std::cos(axis);
  const double y = r * std::cos(axis) * std::sin(axis) + high * std::sin(axis);
  const double coupler = std::atan2(y - r * std::sin(at), x - r * std::cos(at)), rocker = std::atan2(y, x - r);
  out.spec.initial = {{"a", {at}}, {"b", {coupler - at}}, {"c", {coupler - rocker}}, {"d", {rocker}}};
  out.at = {{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}};
  // Half the angle at the tip is r a / (2 s), so coupler and rocker turn by a/2 ∓ r a/(2 s).
  const double tip = 0.5 * r / s;
  out.branches = {{{"a", 1}, {"b", 0.5 - tip - 1}, {"c", -2 * tip}, {"d", 0.5 + tip}}, {{"a", 0}, {"b", 1}, {"c", 0}, {"d", 1}}};
  return out;
}

/// Crank and rod equal, the slider's line through the pivot: with the slider over the pivot both turn together, or it goes on.
Meeting4 meeting_slider_crank(Random& random, double scale) {
  const double r = scale * random.uniform(0.5, 1.5), at = random.uniform(0.3, 0.8);
  Meeting4 out;
  out.spec = links(random, scale, {r, r, 0.2 * scale});
  out.spec.bodies[2].inertia.p_BC.setZero();
  join(out.spec, "a", "world", "1", along(0), 0);
  join(out.spec, "b", "1", "2", along(r), 0);
  join(out.spec, "c", "3", "2", along(0), r);
  JointSpec slide;
  slide.name = "d", slide.kind = JointKind::Prismatic, slide.parent = "world", slide.child = "3", slide.axis = Vec3::UnitX();
  out.spec.joints.push_back(slide);
  turn_ground(random, scale, out.spec);
  out.spec.initial = {{"a", {at}}, {"b", {-2 * at}}, {"c", {-at}}, {"d", {2 * r * std::cos(at)}}};
  const double up = M_PI / 2;
  out.at = {{"a", up}, {"b", -2 * up}, {"c", -up}, {"d", 0}};
  out.branches = {{{"a", 1}, {"b", -2}, {"c", -1}, {"d", -2 * r}}, {{"a", 1}, {"b", 0}, {"c", 1}, {"d", 0}}};
  return out;
}

Meeting4 drawn_meeting(Random& random, int i, double scale) {
  if (i % 3 == 0) return meeting_parallelogram(random, scale);
  return i % 3 == 1 ? meeting_kite(random, scale) : meeting_slider_crank(random, scale);
}

}  // namespace invar::testing
