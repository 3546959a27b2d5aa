// SPDX-License-Identifier: Apache-2.0
//
// A PlanarChain from a Model, and its springs: points of tendons are linear in xi, P = X_i + C xi_i with C a scaled rotation, so
// that
//   V_s = sum k/2 (sum |d| - rest)²,   dV_s/dxi = sum T (E_k+1 - E_k)^T d / |d|,   dV_s/dx = J^-T dV_s/dxi
// where E_k = dP_k/dxi. A tendon depends on all links up to its last point (docs/papers.md C5).
#include <fmt/format.h>

#include <cmath>

#include "invar/mech/planar_chain.hpp"
#include "invar/mech/spanning_tree.hpp"

namespace invar {
namespace {

using Vec2 = PlanarChain::Vec2;
using Mat2 = PlanarChain::Mat2;

// The scaled rotation that takes a to b.
Mat2 similarity(const Vec2& a, const Vec2& b) {
  const double re = a.dot(b) / a.squaredNorm(), im = (a.x() * b.y() - a.y() * b.x()) / a.squaredNorm();
  return (Mat2() << re, -im, im, re).finished();
}

// Components of a vector of a body along b1, b2.
Vec2 flat(const Plane::InBody& in, const Vec3& a) { return {a.dot(in.b1), a.dot(in.b2)}; }

// Why a model is no chain, or nothing.
std::string why_no_chain(const Model& model, const SpanningTree& tree) {
  if (std::string reason = why_not_planar(model); !reason.empty()) return reason;
  for (const Joint& joint : model.joints()) {
    if (!joint.facts->is_turn()) return fmt::format("joint '{}' is {}, not a hinge", joint.name, name(joint.kind));
    if (joint.has_armature())
      return fmt::format("joint '{}' has a rotor, which paper C's mass matrix has no place for", joint.name);
  }
  if (!tree.closures.empty()) return fmt::format("joint '{}' closes a loop", model.joints()[tree.closures[0]].name);
  for (std::size_t k = 0; k < tree.nodes.size(); ++k)
    if (tree.nodes[k].inner != static_cast<int>(k) - 1)
      return fmt::format("body '{}' begins a branch", model.body_name(tree.nodes[k].body));
  if (!model.couplings().empty()) return fmt::format("coupling '{}' ties joints together", model.couplings()[0].name);
  return {};
}

}  // namespace

/// Walks the chain outward and fills it.
class PlanarChainBuilder {
 public:
  PlanarChainBuilder(const Model& model, const SpanningTree& tree) : model_(model), tree_(tree) {
    chain_.plane_ = *plane_of(model);
    chain_.gravity_ = chain_.plane_.project(model.gravity());
  }

  Result<PlanarChain> build(const std::string& tcp) {
    for (std::size_t k = 0; k < tree_.nodes.size(); ++k)
      if (!add_link(k)) return refuse(fmt::format("the centre of gravity of body '{}' lies on its joint", name_of(k)));
    const auto tip = find_tcp(tcp);
    if (!tip) return tl::unexpected<Error>(tip.error());
    PlanarChain::Link& last = chain_.links_.back();
    last.A = similarity(last.c, *tip);
    for (const Tendon& tendon : model_.tendons()) add_tendon(tendon);
    return std::move(chain_);
  }

  Result<PlanarChain> refuse(const std::string& reason) const {
    return fail(ErrorKind::Model, fmt::format("model '{}' is no planar chain: {}", model_.name(), reason));
  }

 private:
  const std::string& name_of(std::size_t k) const { return model_.body_name(tree_.nodes[k].body); }
  const Plane::InBody& in(int body) const { return chain_.plane_.bodies[body]; }

  // The next link, and with it the end of the one before. False where its centre of gravity lies on the joint.
  bool add_link(std::size_t k) {
    const TreeNode& node = tree_.nodes[k];
    const Joint& joint = model_.joints()[node.joint];
    const Inertia& inertia = model_.bodies()[node.body].inertia;
    const Vec3& near = (node.reversed ? joint.X_CM : joint.X_PF).p;  // the joint on the inner body
    const Pose& outer = node.reversed ? joint.X_PF : joint.X_CM;
    const Vec3& n_B = in(node.body).n_B;
    const double axis = (outer.q * Vec3::UnitZ()).dot(n_B) > 0 ? 1.0 : -1.0;

    PlanarChain::Link link;
    link.body = node.body, link.joint = node.joint;
    link.sign = node.reversed ? -axis : axis;
    link.mass = inertia.mass, link.inertia = n_B.dot(inertia.I_C * n_B);
    link.c = flat(in(node.body), inertia.p_BC - outer.p);
    link.A.setIdentity();
    if (!(link.c.norm() > 1e-12 * model_.length())) return false;
    offsets_.push_back(inner_offset(k, near) - n_B.dot(outer.p));
    origins_.push_back(outer.p);
    if (k == 0) {
      chain_.base_ = chain_.plane_.project(near);
    } else {
      PlanarChain::Link& inner = chain_.links_.back();
      inner.A = similarity(inner.c, flat(in(inner.body), near - origins_[k - 1]));
    }
    chain_.links_.push_back(link);
    chain_.coordinates_.push_back(joint.q0);
    return true;
  }

  // Offset of the joint along the normal, by the body inside of it.
  double inner_offset(std::size_t k, const Vec3& near) const {
    return k == 0 ? near.dot(chain_.plane_.normal) : offsets_[k - 1] + near.dot(in(tree_.nodes[k - 1].body).n_B);
  }

  // The tool centre point from the last joint, along b1 and b2 of the last link.
  Result<Vec2> find_tcp(const std::string& tcp) const {
    const PlanarChain::Link& last = chain_.links_.back();
    const auto frame = model_.find_frame(tcp.empty() ? "tcp" : tcp);
    if (!frame && tcp.empty()) return last.c;
    if (!frame)
      return fail(ErrorKind::Option, fmt::format("there is no frame '{}'{}", tcp, did_you_mean(tcp, names_of(model_.frames()))));
    const Frame& f = model_.frames()[*frame];
    if (f.body != last.body && tcp.empty()) return last.c;
    if (f.body != last.body) return fail(ErrorKind::Option, fmt::format("frame '{}' is not on the last link", tcp));
    return flat(in(last.body), f.X_BE.p - origins_.back());
  }

  void add_tendon(const Tendon& tendon) {
    PlanarChain::Line line{{}, tendon.stiffness, tendon.rest, tendon.tension_only};
    for (const Tendon::Point& p : tendon.points) {
      if (p.body == kWorld) {
        line.points.push_back({-1, Mat2::Zero(), chain_.plane_.project(p.p_BP), p.p_BP.dot(chain_.plane_.normal)});
        continue;
      }
      const int i = tree_.node_of_body[p.body];
      const Mat2 C = similarity(chain_.links_[i].c, flat(in(p.body), p.p_BP - origins_[i]));
      line.points.push_back({i, C, Vec2::Zero(), offsets_[i] + p.p_BP.dot(in(p.body).n_B)});
    }
    chain_.lines_.push_back(std::move(line));
  }

  const Model& model_;
  const SpanningTree& tree_;
  PlanarChain chain_;
  std::vector<double> offsets_;  // per link: of its body frame along the normal
  std::vector<Vec3> origins_;    // per link: its joint in its body frame
};

Result<PlanarChain> PlanarChain::of(const Model& model, const std::string& tcp) {
  const SpanningTree tree = spanning_tree(model);
  if (const std::string reason = why_no_chain(model, tree); !reason.empty())
    return fail(ErrorKind::Model, fmt::format("model '{}' is no planar chain: {}", model.name(), reason));
  return PlanarChainBuilder(model, tree).build(tcp);
}

// dP/dxi of a point: A_j for the links before its own, C for its own.
MatX PlanarChain::E(const Point& point) const {
  MatX E = MatX::Zero(2, 2 * links());
  for (int j = 0; j < point.link; ++j) E.block<2, 2>(0, 2 * j) = A(j);
  if (point.link >= 0) E.block<2, 2>(0, 2 * point.link) = point.C;
  return E;
}

Vec3 PlanarChain::position(const Point& point, const VecX& X, const VecX& xi) const {
  Vec3 p(point.at.x(), point.at.y(), point.offset);
  if (point.link >= 0) p.head<2>() = X.segment<2>(2 * point.link) + point.C * xi.segment<2>(2 * point.link);
  return p;
}

double PlanarChain::stretch(const Line& line, const VecX& X, const VecX& xi) const {
  double s = -line.rest;
  for (std::size_t k = 1; k < line.points.size(); ++k)
    s += (position(line.points[k], X, xi) - position(line.points[k - 1], X, xi)).norm();
  return line.tension_only ? std::max(0.0, s) : s;
}

double PlanarChain::V_s(const VecX& xi) const {
  const VecX X = X_from_xi(xi);
  double V = 0;
  for (const Line& line : lines_) V += 0.5 * line.stiffness * std::pow(stretch(line, X, xi), 2);
  return V;
}

VecX PlanarChain::gradient_V_xi(const VecX& xi) const {
  const VecX X = X_from_xi(xi);
  VecX sum = J().transpose() * gradient_V_g();
  for (const Line& line : lines_) {
    const double tension = line.stiffness * stretch(line, X, xi);
    for (std::size_t k = 1; k < line.points.size(); ++k) {
      const Vec3 d = position(line.points[k], X, xi) - position(line.points[k - 1], X, xi);
      if (d.norm() == 0) continue;
      sum += tension / d.norm() * (E(line.points[k]) - E(line.points[k - 1])).transpose() * d.head<2>();
    }
  }
  return sum;
}

VecX PlanarChain::gradient_V(const VecX& xi) const { return J_inverse().transpose() * gradient_V_xi(xi); }

}  // namespace invar
