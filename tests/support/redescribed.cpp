// SPDX-License-Identifier: Apache-2.0
#include "support/redescribed.hpp"

#include <cmath>
#include <numeric>

#include "invar/base/largest.hpp"

namespace invar::testing {

Redescribed in_another_world(const Sample& s, Random& random) {
  const Pose X = random_pose(random, 2.0), back = X.inverse();  // the old World seen from the new one
  Redescribed out{s.mechanism.spec, s.bodies, s.load, 1, {}, {}};
  out.spec.gravity = X.q * out.spec.gravity;
  for (JointSpec& j : out.spec.joints)
    if (j.parent == "world") j.at_parent = X * j.at_parent;
  const auto seen = [](const Pose& from, const Bodies& in) {
    Bodies b = in;
    for (BodyState& x : b) x = {from * x.p_WC, from.q * x.v_WC, from.q * x.w_WB, normalized(from.q * x.q_WB)};
    return b;
  };
  out.bodies = seen(X, s.bodies);
  for (Wrench& w : out.load.port) w = {X.q * w.moment, X.q * w.force};
  out.bodies_back = [back, seen](const Bodies& b) { return seen(back, b); };
  out.answer_back = [back](Answer a) {
    for (BodyAcceleration& x : a.accelerations) x = {back.q * x.a_WC, back.q * x.alpha_WB};
    for (Wrench& w : a.reactions) w = {back.q * w.moment, back.q * w.force};
    return a;
  };
  return out;
}

namespace {

using Order = std::vector<std::size_t>;

Order permutation(Random& random, std::size_t n) {
  Order p(n);
  std::iota(p.begin(), p.end(), std::size_t{0});
  for (std::size_t i = n; i > 1; --i) std::swap(p[i - 1], p[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
  return p;
}

template <class List>
List taken(const List& in, const Order& order) {
  List out = in;
  for (std::size_t i = 0; i < order.size(); ++i) out[i] = in[order[i]];
  return out;
}

template <class List>
List put_back(const List& in, const Order& order) {
  List out = in;
  for (std::size_t i = 0; i < order.size(); ++i) out[order[i]] = in[i];
  return out;
}

}  // namespace

Redescribed in_another_order(const Sample& s, Random& random) {
  const Order bodies = permutation(random, s.bodies.size()), joints = permutation(random, s.model.joints().size());
  Redescribed out{s.mechanism.spec, taken(s.bodies, bodies), s.load, 1, {}, {}};
  out.spec.bodies = taken(s.mechanism.spec.bodies, bodies);
  out.spec.joints = taken(s.mechanism.spec.joints, joints);
  out.load.port = taken(s.load.port, bodies);
  int v0 = 0;
  for (const std::size_t j : joints) {
    const Joint& joint = s.model.joints()[j];
    out.load.efforts.segment(v0, joint.nv) = s.load.efforts.segment(joint.v0, joint.nv);
    v0 += joint.nv;
  }
  out.bodies_back = [bodies](const Bodies& b) { return put_back(b, bodies); };
  out.answer_back = [bodies, joints](const Answer& a) {
    return Answer{put_back(a.accelerations, bodies), put_back(a.reactions, joints), a.couplings};
  };
  return out;
}

namespace {

/// Of coordinate k: a length or an angle (a quaternion has no unit either).
double coordinate_unit(JointKind kind, std::size_t k, const Units& u) {
  switch (kind) {
    case JointKind::Prismatic: return u.length;
    case JointKind::Cylindrical: return k == 1 ? u.length : 1.0;
    case JointKind::Planar: return k < 2 ? u.length : 1.0;
    case JointKind::Free: return k < 3 ? u.length : 1.0;
    default: return 1.0;
  }
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
  convert(j.locked_at, j.kind, u, 0, 1, 0);
  return j;
}

ModelSpec converted(const Sample& s, const Units& u) {
  ModelSpec spec = s.mechanism.spec;
  spec.gravity *= u.acceleration();
  for (BodySpec& b : spec.bodies)
    b.inertia.mass *= u.mass, b.inertia.p_BC *= u.length, b.inertia.I_C *= u.mass * u.length * u.length;
  for (JointSpec& j : spec.joints) j = converted(j, u);
  for (CouplingSpec& g : spec.couplings) {
    const auto unit = [&](const std::string& joint, int freedom) {
      const Joint& j = s.model.joints()[static_cast<std::size_t>(*s.model.find_joint(joint))];
      return coordinate_unit(j.kind, static_cast<std::size_t>(freedom), u);
    };
    double factor = unit(g.joint, g.freedom);
    for (double& x : g.coefficients) x *= factor, factor /= unit(g.of, g.of_freedom);
  }
  return spec;
}

Bodies converted(Bodies bodies, const Units& u) {
  for (BodyState& b : bodies) b.p_WC *= u.length, b.v_WC *= u.velocity(), b.w_WB /= u.time;
  return bodies;
}

/// Of the effort that a coupling transmits to its driven freedom.
std::vector<double> coupling_units(const Model& model, const Units& u) {
  std::vector<double> out;
  for (const Coupling& c : model.couplings()) {
    const Joint& driven = model.joints()[static_cast<std::size_t>(c.joint)];
    out.push_back(u.moment() / coordinate_unit(driven.kind, static_cast<std::size_t>(c.freedom), u));
  }
  return out;
}

}  // namespace

Redescribed in_other_units(const Sample& s, const Units& u) {
  Redescribed out{converted(s, u), converted(s.bodies, u), s.load, u.time, {}, {}};
  for (Wrench& w : out.load.port) w = {u.moment() * w.moment, u.force() * w.force};
  for (const Joint& j : s.model.joints())
    for (int k = 0; k < j.nv; ++k)
      out.load.efforts[j.v0 + k] *= u.moment() / coordinate_unit(j.kind, static_cast<std::size_t>(k), u);
  out.bodies_back = [u](const Bodies& b) { return converted(b, Units{1 / u.length, 1 / u.mass, 1 / u.time}); };
  out.answer_back = [u, efforts = coupling_units(s.model, u)](Answer a) {
    for (BodyAcceleration& x : a.accelerations) x.a_WC /= u.acceleration(), x.alpha_WB *= u.time * u.time;
    for (Wrench& w : a.reactions) w = {w.moment / u.moment(), w.force / u.force()};
    for (std::size_t c = 0; c < efforts.size(); ++c) a.couplings[static_cast<Eigen::Index>(c)] /= efforts[c];
    return a;
  };
  return out;
}

double apart(const Bodies& a, const Bodies& b) {
  double d = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    keep_largest(d, (a[k].p_WC - b[k].p_WC).norm());
    keep_largest(d, (a[k].v_WC - b[k].v_WC).norm());
    keep_largest(d, (a[k].w_WB - b[k].w_WB).norm());
    keep_largest(d, log_so3(a[k].q_WB.conjugate() * b[k].q_WB).norm());
  }
  return d;
}

Bodies nudged(Random& random, const Bodies& bodies) {
  Bodies out = bodies;
  for (BodyState& b : out) {
    for (Vec3* v : {&b.p_WC, &b.v_WC, &b.w_WB}) *v += 1e-15 * v->norm() * random_unit(random);
    b.q_WB = turned(b.q_WB, 1e-15 * random_unit(random));
  }
  return out;
}

}  // namespace invar::testing
