// SPDX-License-Identifier: Apache-2.0
//
// With all coordinates of the spanning tree at zero the body frames have the poses X_WB0. In a planar mechanism every motion from
// there is a turn about the normal n and a shift across it, so that n_B = R_WB0^T n is fixed in each body, and the offset of
// each body along n is that of X_WB0. So it is enough to look at this one configuration, whether or not loops close in it:
//   hinge, planar joint    z_F = z_M = ±n, the same sign for both
//   slider                 z_F . n = 0, and n has the same components in F and in M
//   fixed                  n has the same components in F and in M
//   ball in a loop         nothing: the joints of the tree keep its bodies in the plane already, and it pins two points there
//   closures               the origins of F and M have the same offset along n
#include "invar/mech/plane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "invar/mech/spanning_tree.hpp"

namespace invar {
namespace {

// Round-off of a thousand joints in a row stays far below; what a person writes with six digits stays far above.
constexpr double kTolerance = 1e-12;

using Poses = std::vector<Pose>;
using Motion = Element::Motion;

/// Where the frames of a joint are when the tree's coordinates are zero. For joints of the tree they coincide.
struct Frames {
  Pose X_WF, X_WM;
};

Pose pose_of(const Poses& X_WB, int body) { return body == kWorld ? Pose{} : X_WB[body]; }

Frames frames(const Joint& joint, const Poses& X_WB) {
  return {pose_of(X_WB, joint.parent) * joint.X_PF, pose_of(X_WB, joint.child) * joint.X_CM};
}

Poses zero_configuration(const Model& model, const SpanningTree& tree) {
  Poses X_WB(model.bodies().size());
  for (const TreeNode& node : tree.nodes) {
    if (node.joint < 0) continue;
    const Joint& joint = model.joints()[node.joint];
    const Pose inner = node.inner < 0 ? Pose{} : X_WB[tree.nodes[node.inner].body];
    const Pose& near = node.reversed ? joint.X_CM : joint.X_PF;
    const Pose& far = node.reversed ? joint.X_PF : joint.X_CM;
    X_WB[node.body] = inner * near * far.inverse();
  }
  return X_WB;
}

/// The only element of a path of this motion, or the first of them.
const Element* first_of(const Facts& facts, Element::Motion motion) {
  for (const Element& e : facts.path())
    if (e.motion == motion) return &e;
  return nullptr;
}

Vec3 axis_in_world(const Pose& X_WF, const Element& e) { return (X_WF.q * Vec3::Unit(e.axis)).normalized(); }

// Turns about two axes, a ball, a turn with an advance, or a turn with a slide along its axis do not stay in any plane.
bool leaves_every_plane(const Facts& facts) {
  if (facts.turning() == Turning::None) return false;
  if (facts.turning() != Turning::OneAxis || !facts.quadratic()) return true;
  const Element* turn = first_of(facts, Motion::Turn);
  return std::any_of(facts.path().begin(), facts.path().end(),
                     [&](const Element& e) { return e.motion == Motion::Slide && e.axis == turn->axis; });
}

// The normal: the axis of the first hinge. Where nothing turns it is across all slides and gravity, as far as they leave a
// choice.
Vec3 candidate(const Model& model, const Poses& X_WB) {
  for (const Joint& joint : model.joints())
    if (const Element* turn = first_of(*joint.facts, Motion::Turn); turn && !leaves_every_plane(*joint.facts))
      return axis_in_world(frames(joint, X_WB).X_WF, *turn);
  std::vector<Vec3> in_plane;
  for (const Joint& joint : model.joints())
    if (const Element* slide = first_of(*joint.facts, Motion::Slide))
      in_plane.push_back(axis_in_world(frames(joint, X_WB).X_WF, *slide));
  if (model.gravity().norm() > 0) in_plane.push_back(model.gravity().normalized());
  if (in_plane.empty()) return Vec3::UnitZ();
  Vec3 widest = Vec3::Zero();
  for (const Vec3& a : in_plane)
    if (const Vec3 across = in_plane[0].cross(a); across.norm() > widest.norm()) widest = across;
  return widest.norm() > kTolerance ? Vec3(widest.normalized()) : any_perpendicular(in_plane[0]);
}

// The largest length in the configuration: offsets carry its round-off.
double extent(const Model& model, const Poses& X_WB) {
  double most = 0;
  for (const Joint& joint : model.joints()) {
    const auto [X_WF, X_WM] = frames(joint, X_WB);
    most = std::max({most, joint.X_PF.p.norm(), joint.X_CM.p.norm(), X_WF.p.norm(), X_WM.p.norm()});
  }
  return most;
}

// What is wrong with one joint, or nothing. `pin`: a ball that only closes a loop and has no spring, damper or stop.
std::string flaw(const Joint& joint, bool pin, const Poses& X_WB, const Vec3& n, double size) {
  const auto [X_WF, X_WM] = frames(joint, X_WB);
  const Vec3 n_F = X_WF.q.conjugate() * n, n_M = X_WM.q.conjugate() * n;
  if (!pin && leaves_every_plane(*joint.facts))
    return fmt::format("joint '{}' is {} and leaves the plane", joint.name, name(joint.kind));
  for (const Element& e : joint.facts->path()) {
    const double along = std::abs(n_F[e.axis]);
    if (e.motion == Motion::Turn && (n_F - n_F[e.axis] * Vec3::Unit(e.axis)).norm() > kTolerance)
      return fmt::format("the axis of joint '{}' is not along the normal of the others", joint.name);
    if (e.motion == Motion::Slide && along > kTolerance) return fmt::format("joint '{}' slides out of the plane", joint.name);
  }
  if (!pin && (n_F - n_M).norm() > kTolerance)
    return fmt::format("joint '{}' closes its loop only with its bodies turned out of the plane", joint.name);
  if (std::abs(n.dot(X_WM.p - X_WF.p)) > kTolerance * size)
    return fmt::format("joint '{}' has a gap along the normal", joint.name);
  return {};
}

bool pins(const Model& model, const SpanningTree& tree, int j) {
  const Joint& joint = model.joints()[j];
  const bool closes = std::find(tree.closures.begin(), tree.closures.end(), j) != tree.closures.end();
  return closes && joint.facts->is_point() && !joint.has_passive && !joint.has_armature();
}

// The first reason against a plane; empty where there is none, and then the plane is filled.
std::string find(const Model& model, Plane& plane) {
  const SpanningTree tree = spanning_tree(model);
  for (const TreeNode& node : tree.nodes)
    if (node.joint < 0) return fmt::format("body '{}' is not joined to the ground", model.body_name(node.body));
  const Poses X_WB = zero_configuration(model, tree);
  const Vec3 n = candidate(model, X_WB);
  const double size = extent(model, X_WB);
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j)
    if (std::string found = flaw(model.joints()[j], pins(model, tree, j), X_WB, n, size); !found.empty()) return found;
  const double g = model.gravity().norm();
  if (std::abs(model.gravity().dot(n)) > kTolerance * g) return "gravity has a part along the normal of the plane";

  plane.normal = n;
  const Vec3 up = -model.gravity() + model.gravity().dot(n) * n;
  plane.e2 = g > 0 ? Vec3(up.normalized()) : Vec3(n.cross(any_perpendicular(n)));
  plane.e1 = plane.e2.cross(n);
  for (const Pose& X : X_WB) {
    const Vec3 n_B = (X.q.conjugate() * n).normalized();
    const Vec3 along = X.q.conjugate() * plane.e1;
    const Vec3 b1 = (along - along.dot(n_B) * n_B).normalized();
    plane.bodies.push_back({b1, n_B.cross(b1), n_B});
  }
  return {};
}

}  // namespace

std::optional<Plane> plane_of(const Model& model) {
  Plane plane;
  if (!find(model, plane).empty()) return std::nullopt;
  return plane;
}

std::string why_not_planar(const Model& model) {
  Plane plane;
  return find(model, plane);
}

bool never_planar(const Model& model) {
  return std::any_of(model.joints().begin(), model.joints().end(), [](const Joint& joint) {
    if (joint.facts->is_point()) return joint.has_passive || joint.has_armature();
    return leaves_every_plane(*joint.facts);
  });
}

}  // namespace invar
