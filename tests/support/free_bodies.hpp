// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/geom/rotation.hpp"
#include "invar/mech/formulation.hpp"

namespace invar::testing {

/// The simplest Formulation: every body free, joints ignored. Per body q = (p_WC, quaternion scalar first), 7 numbers, and
/// v = (v_WC, w_WB), 6 numbers, World components; m v' = f + m g, I w' = m - w × I w. It serves to test integrators and
/// environments apart from any solver, and it can be told to do things wrong, to show that a test would notice.
class FreeBodies final : public Formulation {
 public:
  explicit FreeBodies(const Model& model) : Formulation(model) {}

  bool drop_correction = false;  ///< fault: pull(u, v) = v instead of dexp^-1_u v
  double nudge = 0;              ///< settle multiplies v by 1 + nudge: stands for a projection
  Status settles = Status::Ok;   ///< what settle returns
  long evaluations = 0;          ///< calls of rate

  using Formulation::set;
  void set(const Bodies& bodies, State& x, const VecX& /*turns*/) override {
    const Eigen::Index n = static_cast<Eigen::Index>(bodies.size());
    x.q.resize(7 * n);
    x.v.resize(6 * n);
    x.wound = VecX::Zero(model().nv());
    x.wound_rate = x.wound;
    x.aux = VecX::Zero(kAuxiliaries);
    for (Eigen::Index b = 0; b < n; ++b) {
      const BodyState& s = bodies[static_cast<std::size_t>(b)];
      x.q.segment<3>(7 * b) = s.p_WC;
      put(s.q_WB, b, x.q);
      x.v.segment<3>(6 * b) = s.v_WC;
      x.v.segment<3>(6 * b + 3) = s.w_WB;
    }
  }

  void bodies(const State& x, Bodies& out) const override {
    out.resize(static_cast<std::size_t>(x.q.size() / 7));
    for (Eigen::Index b = 0; b < x.q.size() / 7; ++b)
      out[static_cast<std::size_t>(b)] = {x.q.segment<3>(7 * b), x.v.segment<3>(6 * b), x.v.segment<3>(6 * b + 3),
                                          attitude(x.q, b)};
  }

  Verdict rate(const State& x, const Load& load, Rate& rate) override {
    ++evaluations;
    rate.v = x.v;
    rate.aux.setZero();
    for (Eigen::Index b = 0; b < x.q.size() / 7; ++b) {
      const Inertia& inertia = model().bodies()[static_cast<std::size_t>(b)].inertia;
      const Wrench& F = load.port[static_cast<std::size_t>(b)];
      const Quat q = attitude(x.q, b);
      // Euler's equations in body axes, then back to the World.
      const Vec3 w_B = q.conjugate() * x.v.segment<3>(6 * b + 3);
      const Vec3 torque_B = q.conjugate() * F.moment - w_B.cross(inertia.I_C * w_B);
      rate.a.segment<3>(6 * b) = F.force / inertia.mass + model().gravity();
      rate.a.segment<3>(6 * b + 3) = q * (inertia.I_C.inverse() * torque_B);
    }
    return {};
  }

  Verdict evaluate(const State& x, const Load& load, Evaluation& out) override {
    bodies(x, out.bodies);
    Rate r{x.v, x.v, x.aux};
    const Verdict verdict = rate(x, load, r);
    out.accelerations.resize(out.bodies.size());
    for (std::size_t b = 0; b < out.bodies.size(); ++b) {
      const Eigen::Index i = 6 * static_cast<Eigen::Index>(b);
      out.accelerations[b] = {r.a.segment<3>(i), r.a.segment<3>(i + 3)};
    }
    out.reactions.assign(model().joints().size(), Wrench{});
    return verdict;
  }

  void retract(const State& from, const VecX& u, State& to) const override {
    for (Eigen::Index b = 0; b < from.q.size() / 7; ++b) {
      to.q.segment<3>(7 * b) = from.q.segment<3>(7 * b) + u.segment<3>(6 * b);
      put(turned(attitude(from.q, b), u.segment<3>(6 * b + 3)), b, to.q);
    }
  }

  void pull(const VecX& u, const VecX& v, VecX& u_dot) const override {
    u_dot = v;
    if (drop_correction) return;
    for (Eigen::Index b = 0; b < v.size() / 6; ++b)
      u_dot.segment<3>(6 * b + 3) = dexp_inv_so3(u.segment<3>(6 * b + 3)) * v.segment<3>(6 * b + 3);
  }

  Verdict settle(State& x) override {
    x.v *= 1 + nudge;
    return {settles};
  }

 private:
  static Quat attitude(const VecX& q, Eigen::Index b) { return {q[7 * b + 3], q[7 * b + 4], q[7 * b + 5], q[7 * b + 6]}; }
  static void put(const Quat& attitude, Eigen::Index b, VecX& q) {
    q.segment<4>(7 * b + 3) << attitude.w(), attitude.x(), attitude.y(), attitude.z();
  }
};

}  // namespace invar::testing
