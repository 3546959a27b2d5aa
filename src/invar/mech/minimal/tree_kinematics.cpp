// SPDX-License-Identifier: Apache-2.0
//
// F sits on the joint's parent, M on its child, X_FM = pose(q), V_FM = S v in F. The inner body carries F (M where the joint is
// reversed); the outer one follows. With r from the inner centre of mass to the joint point and s from there to the own one,
//   q_out = q_in q_rel,   p_out = p_in + r + s,   w_out = w_in + Σ w_k v_k,   v_out = v_in + w_in × r + Σ v_k v_k + w_out × s.
// One axis a: the relative attitude is left · exp(a q) · right with constant ends, so cos(q/2) A + sin(q/2) B with constant
// quaternions A, B; the joint point slides by lead q a. A reversed joint turns and slides the other way.
// Rates of rates: a hinge's v' is a · (α_out - α_in), because a turns with both bodies; a slider's is a · (what the outer joint
// point has beyond the inner body), where 2 w × a v' is normal to a.
#include "invar/mech/minimal/tree_kinematics.hpp"

#include <array>

#include "invar/geom/sine.hpp"
#include "invar/mech/joint_rows.hpp"
#include "invar/mech/kernel/recursion.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/tree_store.hpp"

namespace invar {
namespace {

Vec3 com(const Model& model, int body) {
  return body == kWorld ? Vec3(Vec3::Zero()) : model.bodies()[static_cast<std::size_t>(body)].inertia.p_BC;
}

std::size_t padded(std::size_t n) { return (n + 7) / 8 * 8; }

/// Scalar last, as Eigen stores it.
struct Turn {
  double x = 0, y = 0, z = 0, w = 1;
};
Turn turn(const Quat& q) { return {q.x(), q.y(), q.z(), q.w()}; }

Turn operator*(const Turn& a, const Turn& b) {
  return {a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
          a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

// Products of unit quaternions leave the unit sphere by roundings only: one step of Newton's method on 1/|q| is exact there.
Turn nearly_unit(const Turn& q) {
  const double f = 1.5 - 0.5 * ((q.x * q.x + q.y * q.y) + (q.z * q.z + q.w * q.w));
  return {f * q.x, f * q.y, f * q.z, f * q.w};
}

kernel::Mat<V> rotation(const Turn& q) { return kernel::rotation(q.w, V::of(q.x, q.y, q.z)); }

/// What a node always needs; the second half only where its joint is about (turns) or along (lead, m per unit of q) one axis: the
/// attitude of the outer body in the inner one is then cos(q/2) at_zero + sin(q/2) quarter.
struct Constants {
  int body = 0, inner = 0;      // of the model; slot, 0 is the ground
  kernel::Triple<double> d, c;  // inner centre of mass -> joint, inner axes; joint -> own centre of mass, own axes
  bool axial = false, turns = false;
  double lead = 0;
  Turn at_zero, quarter;
  kernel::Triple<double> axis;  // inner axes, along growing q of the outer body
};

/// Where a body is, World axes. Slot 0 is the ground.
struct Placed {
  kernel::Mat<V> R{V::axis(0, 1), V::axis(1, 1), V::axis(2, 1)};
  V p{}, arm_in{}, arm_out{};  // inner centre of mass -> joint point -> own centre of mass
  V w{}, v{};
  Turn q;
};

}  // namespace

struct TreeKinematics::Store {
  std::vector<Constants> constants;        // per node
  std::vector<Placed> placed;              // per slot
  std::vector<V> w, v;                     // per freedom: its screw at the joint point
  std::vector<double> half, sine, cosine;  // per node, padded
};

TreeKinematics::TreeKinematics(const Model& model, const std::vector<JointNode>& nodes)
    : model_(model), nodes_(nodes), store_(std::make_unique<Store>()) {
  Store& s = *store_;
  std::size_t freedoms = 0;
  for (const JointNode& n : nodes) freedoms += static_cast<std::size_t>(n.nv);
  s.constants.resize(nodes.size());
  s.placed.resize(nodes.size() + 1);
  s.w.resize(freedoms);
  s.v.resize(freedoms);
  s.half.assign(padded(nodes.size()), 0.0);
  s.sine = s.cosine = s.half;
  refresh();
}

TreeKinematics::~TreeKinematics() = default;

void TreeKinematics::refresh() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const JointNode& n = nodes_[i];
    Constants& k = store_->constants[i] = Constants{};
    k.body = n.body, k.inner = n.inner + 1;
    if (n.joint < 0) continue;
    const Joint& joint = model_.joints()[static_cast<std::size_t>(n.joint)];
    const Pose &X_in = n.reversed ? joint.X_CM : joint.X_PF, &X_out = n.reversed ? joint.X_PF : joint.X_CM;
    const double sign = n.reversed ? -1 : 1;
    k.d = triple(X_in.p - com(model_, n.inner < 0 ? kWorld : nodes_[static_cast<std::size_t>(n.inner)].body));
    k.c = triple(com(model_, n.body) - X_out.p);
    k.axial = n.nv == 0 || n.facts->on_z();
    k.turns = n.nv == 1 && n.facts->turns(0);
    k.lead = k.axial && n.nv == 1 ? n.facts->steady_motion()(5, 0) : 0;
    k.at_zero = turn(normalized(X_in.q * X_out.q.conjugate()));
    k.quarter = turn(normalized(X_in.q * Quat(0, 0, 0, sign) * X_out.q.conjugate()));
    k.axis = triple(sign * (X_in.q * Vec3::UnitZ()));
  }
}

void TreeKinematics::place_axial(std::size_t i, double q) {
  Store& s = *store_;
  const Constants& k = s.constants[i];
  const Placed& in = s.placed[static_cast<std::size_t>(k.inner)];
  Placed& at = s.placed[i + 1];
  const double c = s.cosine[i], t = s.sine[i];
  const Turn &A = k.at_zero, &B = k.quarter;
  const Turn turned = nearly_unit(in.q * Turn{c * A.x + t * B.x, c * A.y + t * B.y, c * A.z + t * B.z, c * A.w + t * B.w});
  at.q = turned;
  at.R = rotation(turned);
  const V axis = in.R * k.axis;
  at.arm_in = in.R * k.d;
  if (k.lead != 0) at.arm_in += (k.lead * q) * axis;
  at.arm_out = at.R * k.c;
  at.p = in.p + at.arm_in + at.arm_out;
  if (nodes_[i].nv == 0) return;
  const auto f = static_cast<std::size_t>(nodes_[i].v0);
  s.w[f] = k.turns ? axis : V{};
  s.v[f] = k.lead * axis;
}

void TreeKinematics::place_other(std::size_t i, const double* q) {
  Store& s = *store_;
  const JointNode& n = nodes_[i];
  const Constants& k = s.constants[i];
  const Placed& in = s.placed[static_cast<std::size_t>(k.inner)];
  Placed& at = s.placed[i + 1];
  const auto f = static_cast<std::size_t>(n.v0);
  if (n.joint < 0) {
    at.p = at.arm_in = pack(Vec3(q[0], q[1], q[2]));
    at.q = turn(normalized(Quat(q[3], q[4], q[5], q[6])));
    at.R = rotation(at.q);
    for (std::size_t a = 0; a < 3; ++a) s.w[f + 3 + a] = s.v[f + a] = V::axis(static_cast<int>(a), 1);
    return;
  }
  const Joint& joint = model_.joints()[static_cast<std::size_t>(n.joint)];
  Pose X;
  Columns S;
  X = n.facts->pose(q), n.facts->motion(q, S);
  const Pose &X_in = n.reversed ? joint.X_CM : joint.X_PF, &X_out = n.reversed ? joint.X_PF : joint.X_CM;
  const Quat carried = Quat(in.q.w, in.q.x, in.q.y, in.q.z) * X_in.q;  // F, or M where the joint is reversed
  const Quat q_WF = n.reversed ? carried * X.q.conjugate() : carried;
  at.q = turn(normalized((n.reversed ? q_WF : carried * X.q) * X_out.q.conjugate()));
  at.R = rotation(at.q);
  const Mat3 R_WF = q_WF.toRotationMatrix();
  const V across = pack(R_WF * X.p);
  at.arm_in = in.R * k.d, at.arm_out = at.R * k.c;
  n.reversed ? at.arm_out -= across : at.arm_in += across;
  at.p = in.p + at.arm_in + at.arm_out;
  const double sign = n.reversed ? -1 : 1;
  for (int c = 0; c < n.nv; ++c) {
    s.w[f + static_cast<std::size_t>(c)] = pack(sign * (R_WF * S.col(c).head<3>()));
    s.v[f + static_cast<std::size_t>(c)] = pack(sign * (R_WF * S.col(c).tail<3>()));
  }
}

// Pose of a node; its axial sine and cosine are known.
void TreeKinematics::place(std::size_t i, const VecX& q, Bodies& out) {
  const JointNode& n = nodes_[i];
  store_->constants[i].axial ? place_axial(i, n.nq > 0 ? q[n.q0] : 0.0) : place_other(i, q.data() + n.q0);
  const Placed& at = store_->placed[i + 1];
  BodyState& body = out[static_cast<std::size_t>(n.body)];
  at.p.store(body.p_WC.data());
  body.q_WB.coeffs() << at.q.x, at.q.y, at.q.z, at.q.w;
}

// Velocity of a node at rates.
void TreeKinematics::move(std::size_t i, const VecX& v, Bodies& out) {
  Store& s = *store_;
  const JointNode& n = nodes_[i];
  const Placed& in = s.placed[static_cast<std::size_t>(s.constants[i].inner)];
  Placed& at = s.placed[i + 1];
  V w = in.w, u = in.v + cross(in.w, at.arm_in);
  if (n.facts->is_turn()) {
    w += v[n.v0] * s.w[static_cast<std::size_t>(n.v0)];
  } else {
    for (int k = n.v0; k < n.v0 + n.nv; ++k) {
      w += v[k] * s.w[static_cast<std::size_t>(k)];
      u += v[k] * s.v[static_cast<std::size_t>(k)];
    }
  }
  at.w = w;
  at.v = u + cross(w, at.arm_out);
  BodyState& body = out[static_cast<std::size_t>(n.body)];
  at.v.store(body.v_WC.data());
  at.w.store(body.w_WB.data());
}

void TreeKinematics::sines_of_half(const VecX& q) {
  Store& s = *store_;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (s.constants[i].turns) s.half[i] = 0.5 * q[nodes_[i].q0];
  sines(s.half.data(), s.half.size(), s.sine.data(), s.cosine.data());
}

// Of those of some nodes that have turned, eight at once.
void TreeKinematics::sines_of_half(const VecX& q, const std::vector<std::size_t>& nodes) {
  Store& s = *store_;
  std::array<std::size_t, 8> which{};
  std::array<double, 8> half{}, sine{}, cosine{};
  std::size_t count = 0;
  const auto flush = [&] {
    sines(half.data(), half.size(), sine.data(), cosine.data());
    for (std::size_t k = 0; k < count; ++k) s.sine[which[k]] = sine[k], s.cosine[which[k]] = cosine[k];
    count = 0;
  };
  for (const std::size_t i : nodes) {
    const double now = s.constants[i].turns ? 0.5 * q[nodes_[i].q0] : 0.0;
    if (now == s.half[i]) continue;
    which[count] = i, half[count] = s.half[i] = now;
    if (++count == half.size()) flush();
  }
  if (count > 0) flush();
}

void TreeKinematics::place(const VecX& q, const VecX& v, Bodies& out) {
  sines_of_half(q);
  for (std::size_t i = 0; i < nodes_.size(); ++i) place(i, q, out), move(i, v, out);
}

void TreeKinematics::poses(const VecX& q, Bodies& out) {
  sines_of_half(q);
  for (std::size_t i = 0; i < nodes_.size(); ++i) place(i, q, out);
}

void TreeKinematics::poses(const VecX& q, const std::vector<std::size_t>& nodes, Bodies& out) {
  sines_of_half(q, nodes);
  for (const std::size_t i : nodes) place(i, q, out);
}

void TreeKinematics::velocities(const VecX& v, Bodies& bodies) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) move(i, v, bodies);
}

void TreeKinematics::velocities(const VecX& v, const std::vector<std::size_t>& nodes, Bodies& bodies) {
  for (const std::size_t i : nodes) move(i, v, bodies);
}

void TreeKinematics::adopt(const Bodies& bodies) {
  Store& s = *store_;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const JointNode& n = nodes_[i];
    const Constants& k = s.constants[i];
    const Placed& in = s.placed[static_cast<std::size_t>(k.inner)];
    Placed& at = s.placed[i + 1];
    const BodyState& body = bodies[static_cast<std::size_t>(n.body)];
    const auto f = static_cast<std::size_t>(n.v0);
    at.p = pack(body.p_WC), at.v = pack(body.v_WC), at.w = pack(body.w_WB);
    at.q = turn(body.q_WB);
    at.R = rotation(at.q);
    at.arm_out = V{};
    if (n.joint < 0) {
      for (std::size_t a = 0; a < 3; ++a) s.w[f + 3 + a] = s.v[f + a] = V::axis(static_cast<int>(a), 1);
    } else if (k.axial) {
      at.arm_out = at.R * k.c;
      const V axis = in.R * k.axis;
      if (n.nv > 0) s.w[f] = k.turns ? axis : V{}, s.v[f] = k.lead * axis;
    } else {
      JointAt joint;
      joint_at(model_, n.joint, bodies, false, joint);
      const int child = model_.joints()[static_cast<std::size_t>(n.joint)].child;
      at.arm_out = pack(body.p_WC - body_state(bodies, child).p_WC - joint.arm_child);
      const double sign = n.reversed ? -1 : 1;
      for (int c = 0; c < n.nv; ++c) {
        s.w[f + static_cast<std::size_t>(c)] = pack(sign * joint.S.col(c).head<3>());
        s.v[f + static_cast<std::size_t>(c)] = pack(sign * joint.S.col(c).tail<3>());
      }
    }
    at.arm_in = at.p - at.arm_out - in.p;
  }
}

ScrewAxis TreeKinematics::screw(std::size_t node, int freedom) const {
  const Placed& at = store_->placed[node + 1];
  const auto k = static_cast<std::size_t>(freedom);
  return {unpack(store_->w[k]), unpack(store_->v[k]), unpack(at.p - at.arm_out)};
}

void TreeKinematics::rates(const Bodies& bodies, const Accelerations& accelerations, VecX& vdot) const {
  const Store& s = *store_;
  const auto linear = [&](int slot) {
    return slot == 0
               ? V{}
               : V::load(
                     accelerations[static_cast<std::size_t>(s.constants[static_cast<std::size_t>(slot - 1)].body)].a_WC.data());
  };
  const auto angular = [&](int slot) {
    return slot == 0 ? V{}
                     : V::load_end(accelerations[static_cast<std::size_t>(s.constants[static_cast<std::size_t>(slot - 1)].body)]
                                       .alpha_WB.data());
  };
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const JointNode& n = nodes_[i];
    const Constants& k = s.constants[i];
    const int slot = static_cast<int>(i) + 1;
    if (n.joint < 0) {
      linear(slot).store(vdot.data() + n.v0);
      angular(slot).store(vdot.data() + n.v0 + 3);
    } else if (k.turns) {
      vdot[n.v0] = dot(s.w[static_cast<std::size_t>(n.v0)], angular(slot) - angular(k.inner));
    } else if (!k.axial) {
      acceleration_of_joint(model_, n.joint, bodies, accelerations, vdot.data() + n.v0);
    } else if (n.nv > 0) {
      const Placed& at = s.placed[i + 1];
      const V arm = at.arm_in + at.arm_out;
      const V carried = linear(k.inner) + cross(angular(k.inner), arm) + cross(at.w, cross(at.w, arm));
      vdot[n.v0] = dot(s.v[static_cast<std::size_t>(n.v0)], linear(slot) - carried);
    }
  }
}

}  // namespace invar
