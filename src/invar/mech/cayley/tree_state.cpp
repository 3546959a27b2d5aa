// SPDX-License-Identifier: Apache-2.0
// The nodes of a step and what they say: where the mechanism starts, its bodies, its potential energy.
#include <algorithm>
#include <cmath>

#include "invar/base/sum.hpp"
#include "invar/mech/cayley/tree.hpp"
#include "invar/mech/passive.hpp"
#include "invar/mech/tendon_points.hpp"

namespace invar::cayley {

template <class G>
typename Tree<G>::Potential Tree<G>::potential() const {
  Potential out;
  CompensatedSum sum;
  const auto add = [&](double energy) {
    sum.add(energy);
    out.size += std::abs(energy);
  };
  for (const Slot<G>& b : slots_) {
    if (b.mass > 0) add(-b.mass * gravity_.dot(b.phi1));
    if (b.passive != nullptr && b.hang != Hang::Ball) add(spring_and_stop_energy(*b.passive, b.sign * b.q1));
  }
  for (const Line<G>& line : lines_) add(elastic_energy(*line.tendon, line.length1 - line.tendon->rest));
  for (const Tie<G>& tie : ties_)
    if (tie.passive != nullptr) add(spring_and_stop_energy(*tie.passive, tie.q1));
  // A ball's spring is computed from attitudes anew; its energy is left to the balance of each step.
  for (const int i : sprung_balls_) out.known = out.known && !model_.joints()[skeleton_.parts[i].joint].has_spring;
  out.value = sum.value();
  return out;
}

template <class G>
bool Tree<G>::tied_to_ground() const {
  return std::any_of(ties_.begin(), ties_.end(),
                     [](const Tie<G>& tie) {
                       const bool between = tie.line < 0 && tie.sort != Tie<G>::Sort::Loan;
                       return between && (tie.slot[0] == 0 || tie.slot[1] == 0);
                     }) ||
         std::any_of(points_.begin(), points_.end(), [](const auto& p) { return p.slot == 0; });
}

template <class G>
void Tree<G>::keep_lines() {
  if (pins_.edges().size() < lines_.size())
    for (auto& p : points_) p.p0 = p.p1, p.span0 = p.span1;
  for (Pins::Edge& edge : pins_.edges()) edge.d0 = edge.d1;
  for (Line<G>& line : lines_) line.length0 = line.length1;
}

template <class G>
void Tree<G>::accept() {
  remember();
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    Slot<G>& b = slots_[i];
    if (b.hang == Hang::Ball || b.hang == Hang::Free) G::tidy(b.R1);
    if (b.hang == Hang::Hinge || b.hang == Hang::Screw) {
      const double norm = 0.5 * (3 - b.c1 * b.c1 - b.s1 * b.s1);
      b.c0 = norm * b.c1, b.s0 = norm * b.s1;
      // The coordinate is that of the axes, on its turn.
      if (b.angle || measured_) {
        const double angle = std::atan2(b.s0, b.c0);
        b.q1 = angle + kTurn * std::round((b.q1 - angle) / kTurn);
      }
    }
    b.R0 = b.R1;
    b.phi0 = b.phi1, b.rho0 = b.rho1, b.gam0 = b.gam1;
    b.n0 = b.n1, b.a0 = b.a1;
    b.v0 = b.v1, b.W0 = b.W1, b.rate0 = b.rate1;
    b.q0 = b.q1;
  }
  keep_lines();
  for (Tie<G>& tie : ties_) tie.q0 = tie.q1;
}

template <class G>
void Tree<G>::place_slot(int i, const VecX& q, const VecX& v, const Bodies& bodies) {
  const Part& part = skeleton_.parts[i];
  Slot<G>& b = slots_[i];
  const Slot<G>& a = slots_[b.inner];
  const Joint* joint = part.joint < 0 ? nullptr : &model_.joints()[part.joint];
  b.rho0 = a.R0 * b.rho;
  switch (b.hang) {
    case Hang::Hinge:
    case Hang::Screw:
      b.q0 = b.sign * q[joint->q0 + part.freedom];
      b.c0 = std::cos(b.q0), b.s0 = std::sin(b.q0);
      b.R0 = G::hinged(a.R0 * b.Q, b.c0, b.s0);
      break;
    case Hang::Slide:
      b.q0 = b.sign * q[joint->q0 + part.freedom];
      b.R0 = a.R0 * b.Q;
      break;
    case Hang::Ground: break;
    case Hang::Ball:
      if constexpr (G::A == 3) {
        const double* c = q.data() + joint->q0;
        const Mat3 R = Quat(c[0], c[1], c[2], c[3]).toRotationMatrix();
        b.R0 = a.R0 * b.Q * (part.sign > 0 ? R : Mat3(R.transpose()));
      } else {
        const double angle = b.sign * q[joint->q0 + part.freedom];
        b.R0 = G::hinged(a.R0 * b.Q, std::cos(angle), std::sin(angle));
      }
      break;
    case Hang::Free:
      if constexpr (G::A == 3) b.R0 = bodies[part.body].q_WB.toRotationMatrix() * skeleton_.places[part.body].R_SB.transpose();
      break;
  }
  b.n0 = G::hinge_axis(b.R0);
  b.a0 = G::slide_axis(b.R0);
  b.gam0 = b.R0 * b.gam;
  if (b.hang == Hang::Slide) b.gam0 += b.q0 * b.a0;
  if constexpr (G::A == 3)
    if (b.hang == Hang::Screw) b.rho0 += b.pitch * b.q0 * b.n0;
  b.phi0 = b.hang == Hang::Free ? Lin(lin(bodies[part.body].p_WC) - b.R0 * centres_[part.body]) : Lin(a.phi0 + b.rho0 + b.gam0);
  b.rate0 = b.armature > 0 ? b.sign * v[b.freedom] : 0.0;
  if (part.body == kWorld) return;
  b.v0 = lin(bodies[part.body].v_WC) - G::cross(ang(bodies[part.body].w_WB), b.R0 * centres_[part.body]);
  if constexpr (G::A == 3)
    b.W0 = b.R0.transpose() * bodies[part.body].w_WB;
  else
    b.W0 = ang(bodies[part.body].w_WB);
}

template <class G>
void Tree<G>::go_back() {
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    Slot<G>& b = slots_[i];
    b.R1 = b.R0, b.phi1 = b.phi0, b.rho1 = b.rho0, b.gam1 = b.gam0, b.n1 = b.n0, b.a1 = b.a0, b.q1 = b.q0;
    b.c1 = b.c0, b.s1 = b.s0, b.r1 = b.rho0 + b.gam0;
    // An iterate that went astray leaves nothing behind.
    b.v.setZero(), b.w.setZero();
    b.s = b.rate = 0;
  }
}

template <class G>
Verdict Tree<G>::place(const VecX& q, const VecX& v, const Bodies& bodies) {
  forget();
  inexact_ = inexact_at_first_;
  since_measured_ = 0;
  at_rest_.assign(slots_.size(), Vec::Zero());
  rotors_at_rest_.assign(slots_.size(), 0.0);
  for (int i = 1; i < static_cast<int>(slots_.size()); ++i) place_slot(i, q, v, bodies);
  go_back();
  for (Tie<G>& tie : ties_)
    if (tie.passive != nullptr) {
      const Joint& joint = model_.joints()[tie.joint];
      tie.q0 = tie.q1 = q[joint.q0 + tie.freedom - joint.v0];
    }
  kept_.clear();
  for (Slot<G>& b : slots_) b.lent = 0;
  for (const Tie<G>& tie : ties_)
    if (tie.sort == Tie<G>::Sort::Loan) std::fill_n(idle_.begin() + tie.row, tie.rows, 1);
  // Decides which closure rows are independent here, and who borrows.
  Verdict verdict = project(at_rest_, rotors_at_rest_);
  if (verdict.ok()) verdict = look_at_loans();
  place_pins();
  measure_lines();
  keep_lines();
  return verdict;
}

template <class G>
void Tree<G>::bodies(Bodies& out) const {
  for (int body = 0; body < static_cast<int>(out.size()); ++body) {
    const Slot<G>& b = slots_[skeleton_.places[body].part];
    const Lin arm = b.R0 * centres_[body];
    const Ang w = out_of<G>(b.R0, b.W0);
    store(body, b.phi0 + arm, b.v0 + G::cross(w, arm), w, b.R0, out);
  }
}

template <class G>
void Tree<G>::store(int body, const Lin& p, const Lin& v, const Ang& w, const Rot& R, Bodies& out) const {
  if constexpr (G::A == 3)
    out[body] = {p, v, w, attitude(body, R)};
  else
    out[body] = {plane_->lift(p) + heights_[body] * plane_->normal, plane_->lift(v), w[0] * plane_->normal, attitude(body, R)};
}

template <class G>
Quat Tree<G>::attitude(int body, const Rot& R) const {
  const Place& at = skeleton_.places[body];
  if constexpr (G::A == 3) {
    return normalized(Quat(Mat3(R * at.R_SB)));
  } else {
    // World directions of the basis of the part, then its axes, then those of the body.
    const Eigen::Vector2d u = R.col(0).normalized();
    Mat3 world, part;
    world << plane_->lift(u), plane_->lift(Eigen::Vector2d(-u.y(), u.x())), plane_->normal;
    part << basis_[at.part], normal_[at.part];
    return normalized(Quat(Mat3(world * part.transpose() * at.R_SB)));
  }
}

#define INVAR_MEMBERS(G)                                                                            \
  template void Tree<G>::go_back();                                                                 \
  template Verdict Tree<G>::place(const VecX&, const VecX&, const Bodies&);                         \
  template typename Tree<G>::Potential Tree<G>::potential() const;                                  \
  template bool Tree<G>::tied_to_ground() const;                                                    \
  template void Tree<G>::accept();                                                                  \
  template void Tree<G>::store(int, const Lin&, const Lin&, const Ang&, const Rot&, Bodies&) const; \
  template void Tree<G>::bodies(Bodies&) const;
INVAR_MEMBERS(InSpace)
INVAR_MEMBERS(InPlane)
#undef INVAR_MEMBERS

}  // namespace invar::cayley
