// SPDX-License-Identifier: Apache-2.0
//
// A MuJoCo body hangs on its parent by a pose and a joint written in the body's own frame. With X_PC = X_PF X_FM(q) X_MC and
// X_FM(0) = 1, the pose is X_PF X_CM⁻¹, the joint's anchor is the origin of M and its axis the z axis of M, both in the child.
#include "to_mjcf.hpp"

#include <fmt/format.h>

namespace invar::bench {

namespace {

template <class T>
const T& at(const std::vector<T>& values, int i) {
  return values[static_cast<std::size_t>(i)];
}

std::string words(const Vec3& v) { return fmt::format("{:.17g} {:.17g} {:.17g}", v.x(), v.y(), v.z()); }
std::string words(const Quat& q) { return fmt::format("{:.17g} {:.17g} {:.17g} {:.17g}", q.w(), q.x(), q.y(), q.z()); }

std::string inertial(const Inertia& i) {
  return fmt::format("<inertial pos=\"{}\" mass=\"{:.17g}\" fullinertia=\"{:.17g} {:.17g} {:.17g} {:.17g} {:.17g} {:.17g}\"/>\n",
                     words(i.p_BC), i.mass, i.I_C(0, 0), i.I_C(1, 1), i.I_C(2, 2), i.I_C(0, 1), i.I_C(0, 2), i.I_C(1, 2));
}

std::string hinge_or_slide(const Joint& joint) {
  const Passive& p = joint.passive.front();
  return fmt::format(
      "<joint name=\"{}\" type=\"{}\" pos=\"{}\" axis=\"{}\" stiffness=\"{:.17g}\" springref=\"{:.17g}\" damping=\"{:.17g}\" "
      "armature=\"{:.17g}\"/>\n",
      joint.name, joint.kind == JointKind::Revolute ? "hinge" : "slide", words(joint.X_CM.p), words(joint.X_CM.q * Vec3::UnitZ()),
      p.stiffness, p.rest, p.damping, p.armature);
}

std::string joint_text(const Joint& joint) {
  switch (joint.kind) {
    case JointKind::Revolute:
    case JointKind::Prismatic: return hinge_or_slide(joint);
    case JointKind::Spherical:
      return fmt::format("<joint name=\"{}\" type=\"ball\" pos=\"{}\"/>\n", joint.name, words(joint.X_CM.p));
    case JointKind::Free: return fmt::format("<freejoint name=\"{}\"/>\n", joint.name);
    default: return "";
  }
}

/// The body and, inside it, everything that hangs on it.
void write_body(const Model& model, const MjcfTree& tree, const std::vector<std::vector<int>>& children, int body,
                std::string& out) {
  const int j = at(tree.joint_of_body, body);
  const Joint* joint = j < 0 ? nullptr : &at(model.joints(), j);
  const Pose X_PC = joint ? joint->X_PF * joint->X_CM.inverse() : Pose{};
  out += fmt::format("<body name=\"{}\" pos=\"{}\" quat=\"{}\">\n", at(model.bodies(), body).name, words(X_PC.p), words(X_PC.q));
  out += inertial(at(model.bodies(), body).inertia);
  out += joint ? joint_text(*joint) : "<freejoint/>\n";
  for (const int child : at(children, body)) write_body(model, tree, children, child, out);
  out += "</body>\n";
}

bool translatable(const Joint& joint) {
  for (const Passive& p : joint.passive) {
    if (p.friction != 0 || p.stop_stiffness != 0) return false;
  }
  switch (joint.kind) {
    case JointKind::Fixed:
    case JointKind::Free:
    case JointKind::Revolute:
    case JointKind::Prismatic: return true;
    case JointKind::Spherical: return !joint.has_passive;
    default: return false;
  }
}

}  // namespace

Result<MjcfTree> mjcf_tree(const Model& model) {
  if (!model.couplings().empty()) return fail(ErrorKind::Model, "couplings are not translated to MJCF");
  MjcfTree tree{std::vector<int>(model.bodies().size(), -1), {}};
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) {
    const Joint& joint = at(model.joints(), j);
    if (!translatable(joint)) return fail(ErrorKind::Model, fmt::format("joint '{}' is not translated to MJCF", joint.name));
    int& carrier = tree.joint_of_body[static_cast<std::size_t>(joint.child)];
    if (carrier < 0) {
      carrier = j;
    } else if (joint.kind == JointKind::Spherical) {
      tree.closures.push_back(j);
    } else {
      return fail(ErrorKind::Model, fmt::format("closure '{}' is not a ball joint: not translated to MJCF", joint.name));
    }
  }
  return tree;
}

std::string to_mjcf(const Model& model, const MjcfTree& tree) {
  std::vector<std::vector<int>> children(model.bodies().size());
  std::vector<int> roots;
  for (int b = 0; b < static_cast<int>(model.bodies().size()); ++b) {
    const int j = at(tree.joint_of_body, b);
    const int parent = j < 0 ? kWorld : at(model.joints(), j).parent;
    (parent == kWorld ? roots : children[static_cast<std::size_t>(parent)]).push_back(b);
  }
  std::string out = fmt::format(
      "<mujoco model=\"{}\">\n<compiler angle=\"radian\"/>\n<option gravity=\"{}\" timestep=\"0.001\"><flag "
      "contact=\"disable\"/></option>\n"
      "<worldbody>\n",
      model.name(), words(model.gravity()));
  for (const int root : roots) write_body(model, tree, children, root, out);
  out += "</worldbody>\n<equality>\n";
  for (const int c : tree.closures) {
    const Joint& joint = at(model.joints(), c);
    out += fmt::format("<connect body1=\"{}\" {} anchor=\"{}\" solref=\"0.002 1\" solimp=\"0.9999 0.9999 0.001 0.5 2\"/>\n",
                       at(model.bodies(), joint.child).name,
                       joint.parent == kWorld ? "" : fmt::format("body2=\"{}\"", at(model.bodies(), joint.parent).name),
                       words(joint.X_CM.p));
  }
  return out + "</equality>\n</mujoco>\n";
}

}  // namespace invar::bench
