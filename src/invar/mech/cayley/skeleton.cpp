// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/cayley/skeleton.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace invar::cayley {
namespace {

struct Link {
  Hang hang;
  Vec3 axis;  // in the frame before it
  int freedom;
};

// The path from F to M, in order; a slide and a turn of one freedom about the same axis are a screw.
std::vector<Link> links(const Facts& facts) {
  std::vector<Link> out;
  if (facts.ball() > 0) return out;  // of bodies that float: never in the tree
  for (const Element& e : facts.path()) {
    const Vec3 axis = e.motion == Element::Motion::Ball ? Vec3(Vec3::UnitZ()) : Vec3(Vec3::Unit(e.axis));
    switch (e.motion) {
      case Element::Motion::Ball: out.push_back({Hang::Ball, axis, e.freedom}); break;
      case Element::Motion::Slide: out.push_back({Hang::Slide, axis, e.freedom}); break;
      case Element::Motion::Turn:
        if (!out.empty() && out.back().freedom == e.freedom)
          out.back().hang = Hang::Screw;
        else
          out.push_back({Hang::Hinge, axis, e.freedom});
        break;
    }
  }
  return out;
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
  return joint.has_passive || joint.has_armature() || !joint.facts->quadratic() ||
         std::any_of(model.couplings().begin(), model.couplings().end(), coupled);
}

SpanningTree tree_of(const Model& model) {
  std::vector<bool> prefer = joints_of_massless_bodies(model);
  for (int j = 0; j < static_cast<int>(prefer.size()); ++j) prefer[j] = prefer[j] || wants_the_tree(model, j);
  return spanning_tree(model, prefer);
}

// Bodies that are welded together, as one: the body nearest to the ground leads, and may be the ground itself.
struct Group {
  int leader = kWorld;
  Pose X_LB;         // body frame in that of the leader
  Inertia together;  // of all, in the frame of the leader; at the leader's place only
};

// Inertia of a body in another frame.
Inertia moved(const Inertia& inertia, const Pose& X_LB) {
  const Mat3 R = X_LB.R();
  return {inertia.mass, X_LB * inertia.p_BC, R * inertia.I_C * R.transpose()};
}

Inertia sum(const Inertia& a, const Inertia& b) {
  Inertia out;
  out.mass = a.mass + b.mass;
  out.p_BC = out.mass > 0 ? Vec3((a.mass * a.p_BC + b.mass * b.p_BC) / out.mass) : a.p_BC;
  out.I_C.setZero();
  for (const Inertia* i : {&a, &b}) {
    const Vec3 d = i->p_BC - out.p_BC;
    out.I_C += i->I_C + i->mass * (d.squaredNorm() * Mat3::Identity() - d * d.transpose());
  }
  return out;
}

class Builder {
 public:
  explicit Builder(const Model& model) : model_(model), tree_(tree_of(model)), groups_(model.bodies().size()) {
    out_.parts.emplace_back();
    out_.places.resize(model.bodies().size());
    out_.closures = tree_.closures;
    for (const TreeNode& node : tree_.nodes) group(node);
    for (const TreeNode& node : tree_.nodes)
      if (groups_[node.body].leader == node.body) add(node);
    for (const TreeNode& node : tree_.nodes) place(node.body);
  }
  Skeleton result() { return std::move(out_); }

 private:
  static bool welds(const Joint& joint) { return joint.nv == 0; }
  // Body frame of the outer body seen from the joint frame, and the joint frame on the inner body.
  struct Ends {
    int inner;
    Pose X_inner, X_outer;
  };
  Ends ends(const TreeNode& node) const {
    const Joint& joint = model_.joints()[node.joint];
    return {node.reversed ? joint.child : joint.parent, node.reversed ? joint.X_CM : joint.X_PF,
            (node.reversed ? joint.X_PF : joint.X_CM).inverse()};
  }
  Pose in_leader(int body, const Pose& X) const { return body == kWorld ? X : groups_[body].X_LB * X; }
  int leader(int body) const { return body == kWorld ? kWorld : groups_[body].leader; }

  void group(const TreeNode& node) {
    Group& own = groups_[node.body];
    const Inertia& inertia = model_.bodies()[node.body].inertia;
    if (node.joint < 0 || !welds(model_.joints()[node.joint])) {
      own = {node.body, Pose{}, inertia};
      return;
    }
    const Ends e = ends(node);
    own = {leader(e.inner), in_leader(e.inner, e.X_inner) * e.X_outer, {}};
    if (own.leader != kWorld) {
      Inertia& together = groups_[own.leader].together;
      together = sum(together, moved(inertia, own.X_LB));
    }
  }

  // The parts between the inner part and a leader, and its own.
  void add(const TreeNode& node) {
    const Inertia& inertia = groups_[node.body].together;
    Part part;
    part.body = node.body;
    part.mass = inertia.mass;
    R_SL_.resize(out_.parts.size(), Mat3::Identity());
    Mat3 R_SL = Mat3::Identity();
    if (node.joint < 0) {
      part.hang = Hang::Free;
    } else {
      const Joint& joint = model_.joints()[node.joint];
      const Ends e = ends(node);
      auto chain = links(*joint.facts);
      if (node.reversed) std::reverse(chain.begin(), chain.end());
      const int inner_leader = leader(e.inner);
      part.inner = inner_leader == kWorld ? 0 : out_.places[inner_leader].part;
      part.joint = node.joint;
      part.sign = node.reversed ? -1 : 1;
      const Pose X = in_leader(e.inner, e.X_inner);
      const Vec3 origin = inner_leader == kWorld ? Vec3(Vec3::Zero()) : groups_[inner_leader].together.p_BC;
      Mat3 before = R_SL_[part.inner] * X.R();  // axes of the frame before the next element, in those of the last part
      part.rho = R_SL_[part.inner] * (X.p - origin);
      for (std::size_t i = 0; i < chain.size(); ++i) {
        const Mat3 along = chain[i].hang == Hang::Ball ? Mat3(Mat3::Identity()) : axes_along(chain[i].axis);
        part.hang = chain[i].hang;
        part.freedom = chain[i].freedom;
        part.Q = before * along;
        before = along.transpose();
        if (i + 1 == chain.size()) break;
        Part link = part;
        link.body = kWorld;
        link.mass = 0;
        out_.parts.push_back(link);
        part.inner = static_cast<int>(out_.parts.size()) - 1;
        part.rho = Vec3::Zero();
      }
      part.gam = before * (e.X_outer * inertia.p_BC);
      R_SL = before * e.X_outer.R();
    }
    part.J = R_SL * inertia.I_C * R_SL.transpose();
    out_.places[node.body].part = static_cast<int>(out_.parts.size());
    out_.parts.push_back(part);
    R_SL_.resize(out_.parts.size(), Mat3::Identity());
    R_SL_.back() = R_SL;
  }

  void place(int body) {
    const Group& own = groups_[body];
    Place& at = out_.places[body];
    const Vec3 com = own.X_LB * model_.bodies()[body].inertia.p_BC;
    if (own.leader == kWorld) {
      at = {0, own.X_LB.R(), com};
      return;
    }
    const int part = out_.places[own.leader].part;
    at = {part, R_SL_[part] * own.X_LB.R(), R_SL_[part] * (com - groups_[own.leader].together.p_BC)};
  }

  const Model& model_;
  SpanningTree tree_;
  std::vector<Group> groups_;  // per body
  std::vector<Mat3> R_SL_;     // per part: axes of its leader
  Skeleton out_;
};

}  // namespace

Vec3 Skeleton::arm(const Model& model, int body, const Vec3& p_BQ) const {
  if (body == kWorld) return p_BQ;
  return places[body].c + places[body].R_SB * (p_BQ - model.bodies()[body].inertia.p_BC);
}

Mat3 Skeleton::axes(int body, const Quat& q_BF) const {
  return body == kWorld ? q_BF.toRotationMatrix() : Mat3(places[body].R_SB * q_BF.toRotationMatrix());
}

Skeleton skeleton_of(const Model& model) { return Builder(model).result(); }

std::string why_not_conserving(const Model& model) {
  const SpanningTree tree = tree_of(model);
  std::vector<bool> cut(model.joints().size(), false);
  for (const int j : tree.closures) cut[j] = true;
  for (std::size_t j = 0; j < model.joints().size(); ++j) {
    const Joint& joint = model.joints()[j];
    if (joint.facts->is_point() && joint.has_armature())
      return fmt::format("joint '{}' is a ball with rotor inertia, whose energy has no exact discrete form here", joint.name);
    if (joint.facts->ball() > 0 && (joint.has_passive || joint.has_armature()))
      return fmt::format("joint '{}' is free and has springs, dampers or rotors: put tendons in their place", joint.name);
    if (!cut[j]) continue;
    if (!joint.facts->quadratic())
      return fmt::format("joint '{}' is a {} that closes a loop: its row is not quadratic; cut another joint", joint.name,
                         name(joint.kind));
    const bool vectorial = joint.facts->turning() == Turning::Ball || joint.facts->turning() == Turning::TwoAxes;
    if (joint.has_armature() || (joint.has_passive && vectorial))
      return fmt::format("joint '{}' closes a loop and has {}, as has every other joint that could be cut", joint.name,
                         joint.has_armature() ? "a rotor" : "springs, dampers or stops on more than one angle");
  }
  for (const Coupling& coupling : model.couplings())
    for (const int j : {coupling.joint, coupling.of})
      if (cut[j] || model.joints()[j].facts->ball() >= 0)
        return fmt::format("coupling '{}' acts on joint '{}', which closes a loop or has no coordinate of its own", coupling.name,
                           model.joints()[j].name);
  return {};
}

}  // namespace invar::cayley
