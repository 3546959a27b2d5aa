// SPDX-License-Identifier: Apache-2.0
//
// One step h from node 0 to node 1. v, w are mean velocities; v_1 = 2 v - v_0, W_1 = 2 Θ - W_0 with Θ = R_0ᵀ w = R_1ᵀ w, because
// the axis of the Cayley rotation R_1 = Cay(h w) R_0 is the same in both. Then, with π = R J W,
//   w·(π_1 - π_0) = Θ·J (W_1 - W_0) = ΔT   and   v·m (v_1 - v_0) = ΔT:
// if (f, t) = (m (v_1 - v_0) - impulses, π_1 - π_0 - angular impulses) is tested with virtual motions that the joints allow at
// the mean of the nodes, the true mean motion among them, the energy balance is the sum of (rate · row) and thus exact.
//
// Joints, from the inner slot A to the outer slot B (ρ to the joint point, γ from there, r = ρ + γ):
//   hinge   w_B = w_A + rate n_m,  rate = s (1 + a|w_A|²)/(1 - a s w_A·n_0),  a = h²/4,  s = (2/h) tan(Δq/2)
//           v_B = v_A + w_A × ρ_m + w_B × γ_m
//   slide   w_B = w_A,  v_B = v_A + w_A × r_m + s (n_0 + (h/2) w_A × n_0)
//   screw   a slide by pitch q, then a hinge
//   ball    w_B unknown;  free  v_B, w_B unknown
// Positions at node 1 are built from the coordinates; v and w above are then exactly their difference quotients.
#include <algorithm>
#include <cmath>

#include "invar/mech/cayley/tree.hpp"
#include "invar/mech/passive.hpp"
#include "invar/mech/tendon_points.hpp"

namespace invar::cayley {
namespace {

template <class G>
void hinge(Slot<G>& b, const Slot<G>& a, double h, bool measured) {
  const double t = 0.5 * h * b.s, g = 1 / (1 + t * t), c = (1 - t * t) * g, s = 2 * t * g;
  b.c1 = b.c0 * c - b.s0 * s;
  b.s1 = b.s0 * c + b.c0 * s;
  const typename G::Rot F = a.R1 * b.Q;
  b.R1 = G::hinged(F, b.c1, b.s1);
  b.n1 = G::hinge_axis(b.R1);
  b.nm = 0.5 * (b.n0 + b.n1);
  const double quarter = 0.25 * h * h, up = 1 + quarter * a.w.squaredNorm(), down = 1 - quarter * b.s * a.w.dot(b.n0);
  b.rate = b.s * up / down;
  b.w = a.w + b.rate * b.nm;
  if (b.angle || measured) {
    b.q1 = b.q0 + 2 * std::atan(t);
    b.work = arc_ratio(t) * down / up;
  }
  b.rho1 = a.R1 * b.rho;
  b.gam1 = b.R1 * b.gam;
  b.gamm = 0.5 * (b.gam0 + b.gam1);
  if constexpr (G::A == 3) {
    if (b.hang == Hang::Screw) {
      b.rho1 += b.pitch * b.q1 * b.n1;
      b.am = b.n0 + 0.5 * h * a.w.cross(b.n0);
    }
  }
  b.rhom = 0.5 * (b.rho0 + b.rho1);
  b.rm = b.rhom + b.gamm;
  b.v = a.v + G::cross(a.w, b.rhom) + G::cross(b.w, b.gamm);
  if (b.hang == Hang::Screw) b.v += b.pitch * b.work * b.rate * b.am;
}

template <class G>
void slide(Slot<G>& b, const Slot<G>& a, double h) {
  b.R1 = a.R1 * b.Q;
  b.a1 = G::slide_axis(b.R1);
  b.q1 = b.q0 + h * b.s;
  b.w = a.w;
  b.am = b.a0 + 0.5 * h * G::cross(a.w, b.a0);
  b.rho1 = a.R1 * b.rho;
  b.gam1 = b.R1 * b.gam + b.q1 * b.a1;
  b.rm = 0.5 * (b.rho0 + b.rho1 + b.gam0 + b.gam1);
  b.v = a.v + G::cross(a.w, b.rm) + b.s * b.am;
}

template <class G>
void ball(Slot<G>& b, const Slot<G>& a, double h) {
  b.R1 = G::turned(0.5 * h * b.w) * b.R0;
  b.rho1 = a.R1 * b.rho;
  b.gam1 = b.R1 * b.gam;
  b.rhom = 0.5 * (b.rho0 + b.rho1);
  b.gamm = 0.5 * (b.gam0 + b.gam1);
  b.rm = b.rhom + b.gamm;
  b.v = a.v + G::cross(a.w, b.rhom) + G::cross(b.w, b.gamm);
}

}  // namespace

template <class G>
void Tree<G>::move(Slot<G>& b, const Slot<G>& a, double h) const {
  switch (b.hang) {
    case Hang::Hinge:
    case Hang::Screw: hinge(b, a, h, measured_); break;
    case Hang::Slide: slide(b, a, h); break;
    case Hang::Ball: ball(b, a, h); break;
    case Hang::Free:
      b.R1 = G::turned(0.5 * h * b.w) * b.R0;
      b.phi1 = b.phi0 + h * b.v;
      return;
    case Hang::Ground: break;
  }
  b.r1 = b.rho1 + b.gam1;
  b.phi1 = a.phi1 + b.r1;
}

// Mean motion and node 1 from the unknowns, own wrench of every slot and its derivative, from the root to the leaves.
template <class G>
void Tree<G>::forward(double h, const Load* load) {
  const Lin weight = h * gravity_;
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    Slot<G>& b = slots_[i];
    move(b, slots_[b.inner], h);
    b.K.setZero();
    if (!b.massive) {
      b.k.setZero();
    } else {
      b.k.template head<G::L>() = b.mass * (2 * (b.v - b.v0) - weight);
      b.K.template topLeftCorner<G::L, G::L>().diagonal().setConstant(2 * b.mass);
      const Ang half = 0.5 * h * b.w;
      if constexpr (G::A == 3) {
        b.W1 = 2 * (b.R0.transpose() * b.w) - b.W0;
        const typename G::AA RJ = b.R1 * b.J;
        b.pi1 = RJ * b.W1;
        b.K.template bottomRightCorner<3, 3>().noalias() = 2 * (RJ * b.R0.transpose()).eval() * G::differential(half);
        b.K.template bottomRightCorner<3, 3>() -= h * G::spin(b.pi1);
      } else {
        b.W1 = 2 * b.w - b.W0;
        b.pi1 = b.J * b.W1;
        b.K(G::N - 1, G::N - 1) = 2 * b.J(0, 0) * G::differential(half)(0, 0);
      }
      b.k.template tail<G::A>() = b.pi1 - b.pi0;
    }
    b.extra = b.slope = 0;
    if ((b.angle || load != nullptr) && b.freedom >= 0 && b.hang != Hang::Ball) efforts(b, h, load);
  }
  if constexpr (G::A == 3)
    for (const int i : sprung_balls_) ball_efforts(i, h);
  if (load == nullptr) return;
  for (std::size_t body = 0; body < load->port.size(); ++body) {
    Slot<G>& b = slots_[skeleton_.places[body].part];
    const Lin force = h * lin(load->port[body].force), arm = 0.5 * ((b.R0 + b.R1) * centres_[body]);
    b.k.template head<G::L>() -= force;
    b.k.template tail<G::A>() -= h * ang(load->port[body].moment) + G::moment(arm, force);
  }
}

// What springs, dampers, stops, rotors and motors add to the row of a freedom: their work over the step is (rate · row).
template <class G>
void Tree<G>::efforts(Slot<G>& b, double h, const Load* load) {
  const double ratio = b.hang == Hang::Slide ? 1.0 : b.work;
  if (b.passive != nullptr) {
    const PassiveStep p = passive_over_step(*b.passive, b.sign * b.q0, b.sign * b.q1, h);
    b.extra -= h * ratio * b.sign * p.effort;
    b.slope -= h * h * ratio * p.slope;
    b.lost = p.lost;
  }
  if (b.armature > 0) {
    b.extra += ratio * 2 * b.armature * ((b.q1 - b.q0) / h - b.rate0);
    b.slope += ratio * 2 * b.armature;
  }
  if (load != nullptr) b.extra -= h * ratio * b.sign * load->efforts[b.freedom];
}

// A ball with springs or dampers: their mean moment on both sides. F belongs to the joint's parent, M to its child; their axes
// halfway are those of the mean quaternions.
template <class G>
void Tree<G>::ball_efforts(int i, double h) {
  if constexpr (G::A == 3) {
    const Part& part = skeleton_.parts[i];
    const Joint& joint = model_.joints()[part.joint];
    Slot<G>&b = slots_[i], &a = slots_[b.inner];
    const Quat in0(a.R0 * b.Q), in1(a.R1 * b.Q), out0(b.R0), out1(b.R1);
    const bool forward = part.sign > 0;
    const Quat F0 = forward ? in0 : out0, F1 = forward ? in1 : out1, M0 = forward ? out0 : in0, M1 = forward ? out1 : in1;
    const Mat3 F = normalized(Quat((F0.coeffs() + (F0.dot(F1) < 0 ? -1.0 : 1.0) * F1.coeffs()).eval())).toRotationMatrix();
    const Vec3 rate = F.transpose() * (forward ? Vec3(b.w - a.w) : Vec3(a.w - b.w));
    const BallStep p = passive_over_step(joint, F0.conjugate() * M0, F1.conjugate() * M1, rate, h);
    const Vec3 impulse = (forward ? h : -h) * (F * p.moment);
    b.k.template tail<3>() -= impulse;
    a.k.template tail<3>() += impulse;
    b.lost = p.lost;
    Vec3 stiffness;
    for (int k = 0; k < 3; ++k) {
      const Passive& q = joint.passive[static_cast<std::size_t>(k)];
      const double slip = std::tanh(rate[k] / q.friction_velocity);
      const double friction = q.friction > 0 ? q.friction * (1 - slip * slip) / q.friction_velocity : 0.0;
      stiffness[k] = h * (q.damping + friction + 0.5 * h * q.stiffness);
    }
    b.resist = F * stiffness.asDiagonal() * F.transpose();
  }
}

// Where the points of tendons are at node 1, and how long that makes them.
template <class G>
void Tree<G>::measure_lines() {
  for (Line<G>& line : lines_) {
    if (line.edge) continue;
    auto* points = points_.data() + line.first;
    line.length1 = 0;
    for (int k = 0; k < line.count; ++k) {
      auto& p = points[k];
      const Slot<G>& b = slots_[p.slot];
      const Lin arm = b.R1 * p.arm;
      p.p1 = b.phi1 + arm;
      p.sm = 0.5 * (arm + b.R0 * p.arm);
      if (k == 0) continue;
      const double off = p.off - points[k - 1].off;
      p.span1 = std::sqrt((p.p1 - points[k - 1].p1).squaredNorm() + off * off);
      line.length1 += p.span1;
    }
  }
}

// Tendons: discrete gradient of the elastic energy, dampers with the mean rate.
template <class G>
void Tree<G>::pull(double h) {
  measure_lines();
  const auto push = [&](const typename Line<G>::Point& p, const Lin& f) {
    Slot<G>& b = slots_[p.slot];
    b.k.template head<G::L>() -= f;
    b.k.template tail<G::A>() -= G::moment(p.sm, f);
  };
  for (Line<G>& line : lines_) {
    const auto* points = points_.data() + line.first;
    const Tension t = tension_over(*line.tendon, line.length0, line.length1, h);
    line.lost = t.lost;
    line.now = t;
    if (line.stiff || t.value == 0) continue;
    for (int k = 1; k < line.count; ++k) {
      const double both = points[k].span0 + points[k].span1;
      if (both == 0) continue;
      const Lin chord = (points[k].p0 - points[k - 1].p0) + (points[k].p1 - points[k - 1].p1);
      const Lin impulse = (h * t.value / both) * chord;
      push(points[k - 1], impulse);
      push(points[k], -impulse);
    }
  }
}

template <class G>
void Tree<G>::measure_speeds() {
  for (Pace& pace : paces_) pace.scale = 0;
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    const Slot<G>& b = slots_[i];
    double& scale = paces_[b.pace].scale;
    if (b.massive) scale = std::max({scale, b.v0.squaredNorm(), b.size * b.size * b.W0.squaredNorm()});
  }
  for (Pace& pace : paces_) pace.scale = std::sqrt(pace.scale);
}

template <class G>
void Tree<G>::measure_extents() {
  for (Pace& pace : paces_) pace.extent = 0;
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    double& extent = paces_[slots_[i].pace].extent;
    extent = std::max(extent, slots_[i].phi0.norm() + slots_[i].reach);
  }
}

// What weights and loads would change velocities by if nothing held against them: as rows are sums of such impulses, their
// rounding is that of these, however slow the motion is.
template <class G>
void Tree<G>::push(double h, const Load* load) {
  const auto consider = [&](const Slot<G>& b, double speed) {
    double& scale = paces_[b.pace].scale;
    if (std::isfinite(speed)) scale = std::max(scale, std::abs(h) * speed);
  };
  const auto act = [&](const Slot<G>& b, double force, double moment) {
    if (!b.massive || !(b.mass > 0)) return;
    consider(b, force / b.mass);
    if (b.size > 0) consider(b, moment / (b.mass * b.size));
  };
  for (std::size_t i = 1; i < slots_.size(); ++i) consider(slots_[i], gravity_.norm());
  for (std::size_t body = 0; load != nullptr && body < load->port.size(); ++body)
    act(slots_[skeleton_.places[body].part], load->port[body].force.norm(), load->port[body].moment.norm());
  for (const Slot<G>& b : slots_)
    if (load != nullptr && b.freedom >= 0 && b.hang != Hang::Ball) {
      const double effort = std::abs(load->efforts[b.freedom]);
      act(b, b.hang == Hang::Slide ? effort : 0, b.hang == Hang::Slide ? 0 : effort);
    }
}

// Node 1 with its velocities, and the accounts of the step. A turn of more than a quarter within a step is refused: the Cayley
// map ends at half of one, and Newton leads astray before that.
template <class G>
bool Tree<G>::finish(double h) {
  dissipated_ = 0;
  if (!pins_.empty()) {
    if (!finish_pins(h)) return false;
  } else {
    for (std::size_t i = 1; i < slots_.size(); ++i) {
      Slot<G>& b = slots_[i];
      move(b, slots_[b.inner], h);
      if (!(h * h * b.w.squaredNorm() < 4 && (std::abs(h * b.s) < 2 || b.hang == Hang::Slide))) return false;
      if constexpr (G::A == 3)
        b.W1 = 2 * (b.R0.transpose() * b.w) - b.W0;
      else
        b.W1 = 2 * b.w - b.W0;
      b.v1 = 2 * b.v - b.v0;
      if (b.armature > 0) b.rate1 = 2 * (b.q1 - b.q0) / h - b.rate0;
      if (b.passive != nullptr && b.hang != Hang::Ball)
        b.lost = passive_over_step(*b.passive, b.sign * b.q0, b.sign * b.q1, h).lost;
      dissipated_ += h * b.lost;
    }
  }
  measure_lines();
  // Dampers with what came out: the last increment is small of second order, but not nothing.
  for (Line<G>& line : lines_) {
    if (line.tendon->damping > 0) line.lost = tension_over(*line.tendon, line.length0, line.length1, h).lost;
    dissipated_ += line.lost;
  }
  for (Tie<G>& tie : ties_)
    if (tie.passive != nullptr) {
      tie.q1 = coordinate(tie);
      dissipated_ += h * tie.lost;
    }
  return true;
}

template <class G>
Verdict Tree<G>::project(std::vector<Vec>& velocities, std::vector<double>& rotors) {
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    Slot<G>& b = slots_[i];
    b.resist.setZero();
    b.nm = b.n1, b.gamm = b.gam1, b.rhom = b.rho1, b.rm = b.r1, b.am = b.a1, b.work = 1;
    if (b.hang == Hang::Screw)
      if constexpr (G::A == 3) b.am = b.n1;
    b.K.setZero();
    b.k.setZero();
    if (b.massive) {
      b.K.template topLeftCorner<G::L, G::L>().diagonal().setConstant(b.mass);
      if constexpr (G::A == 3)
        b.K.template bottomRightCorner<3, 3>().noalias() = (b.R1 * b.J).eval() * b.R1.transpose();
      else
        b.K(G::N - 1, G::N - 1) = b.J(0, 0);
      b.k.noalias() = -b.K * velocities[i];
    }
    b.extra = -b.armature * rotors[i];
    b.slope = b.armature;
  }
  std::swap(lambda_, mu_);
  std::fill(lambda_.begin(), lambda_.end(), 0.0);
  start_ties(0, false);
  Verdict verdict = eliminate(0);
  if (verdict.ok() && rows_ > 0) {
    decide_rows();
    scale_rows();
    active_ = kept_;
    add_loans();
    if (const int row = solve_rows(active_); row >= 0) verdict = {Status::Singular, -1, joint_of_row(row), 0};
  }
  if (verdict.ok()) {
    substitute(false, 0);
    for (std::size_t i = 1; i < slots_.size(); ++i) velocities[i] = slots_[i].dY;
    for (std::size_t i = 1; i < slots_.size(); ++i) rotors[i] = slots_[i].dq;
    for (std::size_t r = 0; r < lambda_.size(); ++r) lambda_[r] = -dlambda_[r];
  }
  std::swap(lambda_, mu_);
  return verdict;
}

#define INVAR_MEMBERS(G)                                               \
  template void Tree<G>::move(Slot<G>&, const Slot<G>&, double) const; \
  template void Tree<G>::forward(double, const Load*);                 \
  template void Tree<G>::pull(double);                                 \
  template void Tree<G>::push(double, const Load*);                    \
  template bool Tree<G>::finish(double);                               \
  template void Tree<G>::measure_extents();                            \
  template void Tree<G>::measure_speeds();                             \
  template void Tree<G>::measure_lines();                              \
  template Verdict Tree<G>::project(std::vector<Vec>&, std::vector<double>&);
INVAR_MEMBERS(InSpace)
INVAR_MEMBERS(InPlane)
#undef INVAR_MEMBERS

}  // namespace invar::cayley
