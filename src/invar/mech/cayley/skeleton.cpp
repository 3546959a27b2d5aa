// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/cayley/skeleton.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace invar::cayley {
namespace {

struct Element {
  Hang hang;
  Vec3 axis;  // in the frame before it
  int freedom;
};

// The elementary motions from F to M, in order.
std::vector<Element> elements(JointKind kind) {
  const Vec3 x = Vec3::UnitX(), y = Vec3::UnitY(), z = Vec3::UnitZ();
  switch (kind) {
    case JointKind::Revolute: return {{Hang::Hinge, z, 0}};
    case JointKind::Prismatic: return {{Hang::Slide, z, 0}};
    case JointKind::Screw: return {{Hang::Screw, z, 0}};
    case JointKind::Cylindrical: return {{Hang::Slide, z, 1}, {Hang::Hinge, z, 0}};
    case JointKind::Universal: return {{Hang::Hinge, z, 0}, {Hang::Hinge, x, 1}};
    case JointKind::Planar: return {{Hang::Slide, x, 0}, {Hang::Slide, y, 1}, {Hang::Hinge, z, 2}};
    case JointKind::Spherical: return {{Hang::Ball, z, 0}};
    case JointKind::Fixed:
    case JointKind::Free: break;
  }
  return {};
}

// Axes of which z is `axis`.
Mat3 axes_along(const Vec3& axis) {
  Mat3 Q;
  Q.col(2) = axis;
  Q.col(0) = any_perpendicular(axis);
  Q.col(1) = Q.col(2).cross(Q.col(0));
  return Q;
}

bool wants_the_tree(const Model& model, int j) {
  const Joint& joint = model.joints()[j];
  const auto coupled = [j](const Coupling& c) { return c.joint == j || c.of == j; };
  return joint.has_passive || joint.has_armature() || joint.kind == JointKind::Screw ||
         std::any_of(model.couplings().begin(), model.couplings().end(), coupled);
}

SpanningTree tree_of(const Model& model) {
  std::vector<bool> prefer(model.joints().size());
  for (int j = 0; j < static_cast<int>(prefer.size()); ++j) prefer[j] = wants_the_tree(model, j);
  return spanning_tree(model, prefer);
}

// Adds the parts between the inner part and the body of a node, and that of the body.
void add_node(const Model& model, const TreeNode& node, Skeleton& out) {
  Part part;
  part.body = node.body;
  if (node.joint < 0) {
    part.hang = Hang::Free;
    out.part_of_body[node.body] = static_cast<int>(out.parts.size());
    out.parts.push_back(part);
    return;
  }
  const Joint& joint = model.joints()[node.joint];
  const Pose& X_inner = node.reversed ? joint.X_CM : joint.X_PF;
  const Pose X_outer = (node.reversed ? joint.X_PF : joint.X_CM).inverse();  // of the body frame, seen from the joint frame
  const Vec3& p_BC = model.bodies()[node.body].inertia.p_BC;
  const int inner_body = node.reversed ? joint.child : joint.parent;
  auto chain = elements(joint.kind);
  if (node.reversed) std::reverse(chain.begin(), chain.end());

  part.inner = out.part_of(inner_body);
  part.joint = node.joint;
  part.sign = node.reversed ? -1 : 1;
  Mat3 before = out.axes(inner_body, X_inner.q);  // axes of the frame before the next element, in those of the last part
  part.rho = out.arm(model, inner_body, X_inner.p);
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Mat3 along = chain[i].hang == Hang::Ball ? Mat3(Mat3::Identity()) : axes_along(chain[i].axis);
    part.hang = chain[i].hang;
    part.freedom = chain[i].freedom;
    part.Q = before * along;
    before = along.transpose();
    if (i + 1 == chain.size()) break;
    Part link = part;
    link.body = kWorld;
    out.parts.push_back(link);
    part.inner = static_cast<int>(out.parts.size()) - 1;
    part.rho = Vec3::Zero();
  }
  if (chain.empty()) {
    part.Q = before * X_outer.R();
    part.rho += before * (X_outer * p_BC);
    part.hang = Hang::Weld;
  } else {
    part.gam = before * (X_outer * p_BC);
    part.R_SB = before * X_outer.R();
  }
  out.part_of_body[node.body] = static_cast<int>(out.parts.size());
  out.parts.push_back(part);
}

}  // namespace

Vec3 Skeleton::arm(const Model& model, int body, const Vec3& p_BQ) const {
  if (body == kWorld) return p_BQ;
  return parts[part_of_body[body]].R_SB * (p_BQ - model.bodies()[body].inertia.p_BC);
}

Mat3 Skeleton::axes(int body, const Quat& q_BF) const { return parts[part_of(body)].R_SB * q_BF.toRotationMatrix(); }

Skeleton skeleton_of(const Model& model) {
  const SpanningTree tree = tree_of(model);
  Skeleton out;
  out.parts.emplace_back();
  out.part_of_body.assign(model.bodies().size(), -1);
  for (const TreeNode& node : tree.nodes) add_node(model, node, out);
  out.closures = tree.closures;
  return out;
}

std::string why_not_conserving(const Model& model) {
  const SpanningTree tree = tree_of(model);
  std::vector<bool> cut(model.joints().size(), false);
  for (const int j : tree.closures) cut[j] = true;
  for (std::size_t j = 0; j < model.joints().size(); ++j) {
    const Joint& joint = model.joints()[j];
    if (joint.kind == JointKind::Spherical && joint.has_armature())
      return fmt::format("joint '{}' is a ball with rotor inertia, whose energy has no exact discrete form here", joint.name);
    if (joint.kind == JointKind::Free && (joint.has_passive || joint.has_armature()))
      return fmt::format("joint '{}' is free and has springs, dampers or rotors: put tendons in their place", joint.name);
    if (!cut[j]) continue;
    if (joint.kind == JointKind::Screw)
      return fmt::format("joint '{}' is a screw that closes a loop: its row is not quadratic; cut another joint", joint.name);
    if (joint.has_passive || joint.has_armature())
      return fmt::format(
          "joint '{}' closes a loop and has springs, dampers, stops or rotors, as has every other joint that could "
          "be cut",
          joint.name);
  }
  for (const Coupling& coupling : model.couplings())
    for (const int j : {coupling.joint, coupling.of})
      if (cut[j] || model.joints()[j].kind == JointKind::Spherical || model.joints()[j].kind == JointKind::Free)
        return fmt::format("coupling '{}' acts on joint '{}', which closes a loop or has no coordinate of its own", coupling.name,
                           model.joints()[j].name);
  return {};
}

}  // namespace invar::cayley
