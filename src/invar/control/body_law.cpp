// SPDX-License-Identifier: Apache-2.0
//
// Outward over a ball with arms a (inner centre of mass -> joint) and b (outer centre of mass -> joint), which turn with their
// bodies:  v_out = v_in + ω_in × a - ω_out × b,   v̇_out = v̇_in + ω̇_in × a + ω_in × ȧ - ω̇_out × b - ω_out × ḃ.
// Projection: M ν_r + Jᵀλ = M w, J ν_r = 0 is a product A f with f = M w, ḟ = Ṁ w + M ẇ.
#include "invar/control/body_law.hpp"

#include <algorithm>

#include "invar/mech/spanning_tree.hpp"

namespace invar {

bool BodyLaw::has_outward_way(const Model& model) {
  const SpanningTree tree = spanning_tree(model);
  return tree.closures.empty() && std::all_of(model.joints().begin(), model.joints().end(), [](const Joint& j) {
           return j.facts->is_point() || (j.facts->is_free() && j.parent == kWorld);
         });
}

BodyLaw::BodyLaw(const Model& model, BodyLawSpec spec)
    : PortLaw(model, spec.gains),
      spec_(std::move(spec)),
      wishes_(model.bodies().size()),
      w_(model.bodies().size()),
      w_dot_(w_),
      flow_(model),
      momenta_(model.bodies().size()),
      momenta_dot_(momenta_) {
  using enum BodyLawSpec::Consistency;
  const SpanningTree tree = spanning_tree(model);
  for (const TreeNode& n : tree.nodes)
    if (n.joint >= 0)
      hops_.push_back({n.joint, n.inner < 0 ? kWorld : tree.nodes[static_cast<std::size_t>(n.inner)].body, n.body, n.reversed});
  for (std::size_t b = 0; b < wishes_.size(); ++b) {
    const std::string& name = model.bodies()[b].name;
    tracking_.push_back({name + ".position", "m"});
    tracking_.push_back({name + ".attitude", "rad"});
    wishes_[b].p = read({"reference_" + name + "_p", "m", "where the centre of mass is wanted, World", 3});
    wishes_[b].q = read({"reference_" + name + "_q", "1", "attitude that is wanted, quaternion, scalar first", 4});
  }
  const char* way =
      spec_.consistency == Outward ? ", outward" : (spec_.consistency == Projection ? ", projected" : " as printed");
  certificate_.law = std::string(spec_.poses ? "A-II" : "A-I") + way;
  certificate_.guarantee = "V falls at the rate sᵀ K_d s but for disturbances";
  proven_ = spec_.consistency != AsPrinted;
  if (!proven_)
    certificate_.guarantee = "none: joints need not allow the reference velocity, so V̇ has the power of their reactions along it";
  if (spec_.poses)
    switches_ =
        certificate_.add({"attitude_keeps_its_side", "attitude errors that pass half a turn", "1", 0, names_of(model.bodies())});
}

std::vector<Mark> BodyLaw::marks() const {
  std::vector<Mark> out;
  for (int b = 0; b < static_cast<int>(wishes_.size()); ++b) {
    const Body& body = model().bodies()[static_cast<std::size_t>(b)];
    out.push_back({"reference_" + body.name, b, {Quat::Identity(), body.inertia.p_BC}});
  }
  return out;
}

// The path is that of the body frame; what moves freely is the centre of mass.
PoseJet BodyLaw::of_mass(std::size_t b, Instant at) const {
  PoseJet j = spec_.paths[b](at);
  const Vec3 arm = j.q * model().bodies()[b].inertia.p_BC, turned = j.w.cross(arm);
  j.p += arm, j.v += turned, j.a += j.alpha.cross(arm) + j.w.cross(turned);
  return j;
}

void BodyLaw::wish(Instant at) {
  const bool printed = spec_.consistency == BodyLawSpec::Consistency::AsPrinted;
  for (std::size_t b = 0; b < wishes_.size(); ++b) {
    Wish& wish = wishes_[b];
    const BodyState& body = inverse_.bodies()[b];
    const PoseJet& d = wish.wanted = of_mass(b, at);
    const Vec3 e = body.p_WC - d.p;
    const AttitudeError turn(body.q_WB, body.w_WB, d.q, d.w);
    wish.distance = e.norm(), wish.angle = turn.angle();
    w_[b] = {d.v, d.w}, w_dot_[b] = {d.a, d.alpha};
    if (!spec_.poses) continue;
    Vec3 error = wish.side.of(turn.eta) * turn.epsilon, error_dot = wish.side.of(turn.eta) * turn.epsilon_dot;
    if (printed) {
      error = d.q.conjugate() * turn.epsilon;
      error_dot = d.q.conjugate() * Vec3(turn.epsilon_dot - d.w.cross(turn.epsilon));
    }
    w_[b].a_WC -= spec_.position_rate * e, w_dot_[b].a_WC -= spec_.position_rate * (body.v_WC - d.v);
    w_[b].alpha_WB -= spec_.attitude_rate * error, w_dot_[b].alpha_WB -= spec_.attitude_rate * error_dot;
  }
}

void BodyLaw::outward(Accelerations& nu_r, Accelerations& nu_r_dot) const {
  nu_r = w_, nu_r_dot = w_dot_;
  for (const Hop& hop : hops_) {
    const JointAt& at = inverse_.joint(hop.joint);
    const auto out = static_cast<std::size_t>(hop.outer);
    const Vec3& b = hop.reversed ? at.arm_parent : at.arm_child;
    const Vec3 b_dot = inverse_.bodies()[out].w_WB.cross(b);
    Vec3 v = Vec3::Zero(), v_dot = v;
    if (hop.inner != kWorld) {
      const auto in = static_cast<std::size_t>(hop.inner);
      const Vec3& a = hop.reversed ? at.arm_child : at.arm_parent;
      const Vec3 a_dot = inverse_.bodies()[in].w_WB.cross(a);
      v = nu_r[in].a_WC + nu_r[in].alpha_WB.cross(a);
      v_dot = nu_r_dot[in].a_WC + nu_r_dot[in].alpha_WB.cross(a) + nu_r[in].alpha_WB.cross(a_dot);
    }
    nu_r[out].a_WC = v - nu_r[out].alpha_WB.cross(b);
    nu_r_dot[out].a_WC = v_dot - nu_r_dot[out].alpha_WB.cross(b) - nu_r[out].alpha_WB.cross(b_dot);
  }
}

Verdict BodyLaw::project(Accelerations& nu_r, Accelerations& nu_r_dot) {
  for (std::size_t b = 0; b < w_.size(); ++b) {
    const Body& part = model().bodies()[b];
    const BodyState& body = inverse_.bodies()[b];
    const Vec3 spin = spun(part, body, w_[b].alpha_WB);
    momenta_[b] = {spin, part.inertia.mass * w_[b].a_WC};
    momenta_dot_[b] = {spun(part, body, w_dot_[b].alpha_WB - body.w_WB.cross(w_[b].alpha_WB)) + body.w_WB.cross(spin),
                       part.inertia.mass * w_dot_[b].a_WC};
  }
  if (const Verdict v = inverse_.apply(&momenta_, nullptr, flow_); !v.ok()) return v;
  nu_r = flow_.x;
  if (const Verdict v = inverse_.derivative(flow_, momenta_dot_, nu_r_dot); !v.ok()) return v;
  return {};
}

Verdict BodyLaw::refer(Instant at, Accelerations& nu_r, Accelerations& nu_r_dot) {
  wish(at);
  switch (spec_.consistency) {
    case BodyLawSpec::Consistency::Outward: outward(nu_r, nu_r_dot); break;
    case BodyLawSpec::Consistency::Projection: return project(nu_r, nu_r_dot);
    case BodyLawSpec::Consistency::AsPrinted: nu_r = w_, nu_r_dot = w_dot_; break;
  }
  return {};
}

void BodyLaw::choose_sides(Instant at, const Bodies& bodies) {
  for (std::size_t b = 0; b < wishes_.size(); ++b) {
    const PoseJet d = spec_.paths[b](at);
    if (spec_.poses && wishes_[b].side.look(AttitudeError(bodies[b].q_WB, bodies[b].w_WB, d.q, d.w).eta))
      certificate_.look(switches_, at.t, 1, static_cast<int>(b));
  }
}

void BodyLaw::track(double t) {
  if (spec_.poses) certificate_.look(switches_, t, 0);
  for (std::size_t b = 0; b < wishes_.size(); ++b) {
    tracking_[2 * b].look(t, wishes_[b].distance);
    tracking_[2 * b + 1].look(t, wishes_[b].angle);
    show(wishes_[b].p, wishes_[b].wanted.p), show(wishes_[b].q, wishes_[b].wanted.q);
  }
}

void BodyLaw::remember(Recall& memory) {
  PortLaw::remember(memory);
  for (auto& one : wishes_) memory(one.side.side);
}

}  // namespace invar
