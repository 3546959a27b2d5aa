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

#include "invar/base/sum.hpp"
#include "invar/mech/cayley/tree.hpp"
#include "invar/mech/joint_rows.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/passive.hpp"
#include "invar/mech/tendon_points.hpp"

namespace invar::cayley {
namespace {

constexpr int kIterations = 20;
constexpr double kTurn = 2 * 3.14159265358979323846;
// Newton squares its error: an increment of 1e-8 of the velocities is followed by one of 1e-16.
constexpr double kSmall = 2e-8;
constexpr double kRounding = 2e-16, kNoise = 1e-10;
constexpr double kClear = 100;  // times rounding: increments above it tell how Newton converges
constexpr double kCaution = 4;  // times the contraction seen
constexpr int kTrust = 50;      // steps for which an estimate of it is taken

// atan(t)/t.
double arc_ratio(double t) { return std::abs(t) < 1e-4 ? 1 - t * t / 3 : std::atan(t) / t; }

template <class G>
typename G::Ang turned_axis(const typename G::Rot& R, const typename G::Ang& n) {
  if constexpr (G::A == 3)
    return R * n;
  else
    return n;
}

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

// Where the ends of a tie are: arms and directions in World, and the gap between the two points.
template <class G>
struct Ends {
  using Lin = typename G::Lin;
  using Rot = typename G::Rot;
  Lin s[2], u[2], gap;

  Ends() = default;
  Ends(const Tie<G>& tie, const Rot& Ra, const Rot& Rb, const Lin& phi_a, const Lin& phi_b) {
    s[0] = Ra * tie.arm[0], s[1] = Rb * tie.arm[1];
    u[0] = Ra * tie.u[0], u[1] = Rb * tie.u[1];
    gap = (phi_b - phi_a) + (s[1] - s[0]);
  }
  static Ends mean(const Ends& x, const Ends& y) {
    Ends m;
    for (int e = 0; e < 2; ++e) m.s[e] = 0.5 * (x.s[e] + y.s[e]), m.u[e] = 0.5 * (x.u[e] + y.u[e]);
    m.gap = 0.5 * (x.gap + y.gap);
    return m;
  }
  double residual(const Tie<G>& tie, int r) const {
    switch (tie.sort) {
      case Tie<G>::Sort::Point: return gap[r];
      case Tie<G>::Sort::Dot: return u[1].dot(u[0]);
      default: return u[0].dot(gap);
    }
  }
};

// The rows of a tie on the velocities (v, w) of its two ends: f(row, end, coefficients).
template <class G, class F>
void for_rows(const Tie<G>& tie, const Ends<G>& x, F&& f) {
  using Lin = typename G::Lin;
  using Ang = typename G::Ang;
  using Vec = Eigen::Matrix<double, G::N, 1>;
  const auto stack = [](const Lin& force, const Ang& moment) {
    Vec c;
    c << force, moment;
    return c;
  };
  if (tie.sort == Tie<G>::Sort::Point) {
    for (int r = 0; r < G::L; ++r) {
      const Lin e = Lin::Unit(r);
      f(tie.row + r, 1, stack(e, G::moment(x.s[1], e)));
      f(tie.row + r, 0, stack(-e, -G::moment(x.s[0], e)));
    }
  } else if (tie.sort == Tie<G>::Sort::Dot) {
    const Ang turn = G::moment(x.u[1], x.u[0]);
    f(tie.row, 1, stack(Lin::Zero(), turn));
    f(tie.row, 0, stack(Lin::Zero(), -turn));
  } else {
    f(tie.row, 1, stack(x.u[0], G::moment(x.s[1], x.u[0])));
    f(tie.row, 0, stack(-x.u[0], G::moment(x.u[0], x.gap) - G::moment(x.s[0], x.u[0])));
  }
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
    auto* points = points_.data() + line.first;
    line.length1 = 0;
    for (int k = 0; k < line.count; ++k) {
      const Slot<G>& b = slots_[points[k].slot];
      const Lin arm = b.R1 * points[k].arm;
      points[k].p1 = b.phi1 + arm;
      points[k].sm = 0.5 * (arm + b.R0 * points[k].arm);
      if (k == 0) continue;
      const double off = points[k].off - points[k - 1].off;
      line.length1 += std::sqrt((points[k].p1 - points[k - 1].p1).squaredNorm() + off * off);
    }
  }
}

// Tendons: discrete gradient of the elastic energy, dampers with the mean rate.
template <class G>
void Tree<G>::pull(double h) {
  measure_lines();
  for (Line<G>& line : lines_) {
    const auto* points = points_.data() + line.first;
    const Tension t = tension_over(*line.tendon, line.length0, line.length1, h);
    line.lost = t.lost;
    line.now = t;
    if (line.stiff || t.value == 0) continue;
    for (int k = 1; k < line.count; ++k) {
      const Lin d0 = points[k].p0 - points[k - 1].p0, d1 = points[k].p1 - points[k - 1].p1;
      const double off = points[k].off - points[k - 1].off;
      const double both = std::sqrt(d0.squaredNorm() + off * off) + std::sqrt(d1.squaredNorm() + off * off);
      if (both == 0) continue;
      const Lin impulse = (h * t.value / both) * (d0 + d1);
      const auto push = [&](const typename Line<G>::Point& p, const Lin& f) {
        Slot<G>& b = slots_[p.slot];
        b.k.template head<G::L>() -= f;
        b.k.template tail<G::A>() -= G::moment(p.sm, f);
      };
      push(points[k - 1], impulse);
      push(points[k], -impulse);
    }
  }
}

template <class G>
Column<G>* Tree<G>::column(int slot, int row) {
  const Slot<G>& b = slots_[slot];
  for (int i = b.column; slot > 0 && i < b.column + b.columns; ++i)
    if (columns_[i].row == row) return &columns_[i];
  return nullptr;
}

// Columns as they start at the ends of the ties. `step`: impulses act at the means, rows are measured at node 1; otherwise both
// at node 1, for velocities.
template <class G>
void Tree<G>::start_ties(double h, bool step) {
  for (Column<G>& c : columns_) {
    c.P.setZero();
    c.c.setZero();
    c.R = c.kappa = 0;
  }
  std::fill(D_.begin(), D_.end(), 0.0);
  std::fill(value_.begin(), value_.end(), 0.0);
  for (Tie<G>& tie : ties_) {
    if (tie.sort == Tie<G>::Sort::Ratio)
      start_ratio(tie, h, step);
    else if (!tie.soft())
      start_tie(tie, h, step);
    else if (step)
      tie.sort == Tie<G>::Sort::Line ? start_line(tie, h) : start_soft(tie, h);
  }
}

// The coordinate of a cut joint at node 1, on the turn where it was at node 0.
template <class G>
double Tree<G>::coordinate(const Tie<G>& tie) const {
  const Slot<G>&a = slots_[tie.slot[0]], &b = slots_[tie.slot[1]];
  const Ends<G> end(tie, a.R1, b.R1, a.phi1, b.phi1);
  if (tie.sort == Tie<G>::Sort::Slide) return end.u[0].dot(end.gap);
  const Ang n = turned_axis<G>(a.R1, tie.n);
  const double angle = std::atan2(end.u[1].dot(G::cross(n, end.u[0])), end.u[1].dot(end.u[0]));
  return angle + kTurn * std::round((tie.q0 - angle) / kTurn);
}

// A step applies what springs and dampers give over it; the row measures the coordinate.
template <class G>
void Tree<G>::start_soft(Tie<G>& tie, double h) {
  const Slot<G>&a = slots_[tie.slot[0]], &b = slots_[tie.slot[1]];
  const Ends<G> end(tie, a.R1, b.R1, a.phi1, b.phi1);
  tie.q1 = coordinate(tie);
  if (tie.sort == Tie<G>::Sort::Slide) {
    const Ends<G> mean = Ends<G>::mean(Ends<G>(tie, a.R0, b.R0, a.phi0, b.phi0), end);
    for_rows<G>(tie, end, [&](int row, int side, const Vec& c) { add_to_column(tie.slot[side], row, Vec::Zero(), c); });
    for_rows<G>(tie, mean, [&](int row, int side, const Vec& c) { add_to_column(tie.slot[side], row, -c, Vec::Zero()); });
  } else {
    const Ang n0 = turned_axis<G>(a.R0, tie.n), n1 = turned_axis<G>(a.R1, tie.n), nm = 0.5 * (n0 + n1);
    // As for hinges of the tree, with the rate taken from the bodies.
    const double quarter = 0.25 * h * h, rate = (b.w - a.w).dot(nm) / nm.squaredNorm(), along = a.w.dot(n0);
    const double up = 1 + quarter * a.w.squaredNorm(), s = rate / (up + quarter * rate * along), t = 0.5 * h * s;
    const double work = arc_ratio(t) * (1 - quarter * s * along) / up;
    Vec P = Vec::Zero(), c = Vec::Zero();
    P.template tail<G::A>() = (work / nm.squaredNorm()) * nm;
    c.template tail<G::A>() = n1;
    add_to_column(tie.slot[1], tie.row, -P, c);
    add_to_column(tie.slot[0], tie.row, P, -c);
  }
  const PassiveStep p = passive_over_step(*tie.passive, tie.q0, tie.q1, h);
  tie.lost = p.lost;
  given_[tie.row] = h * p.effort;
  stiffness_[tie.row] = h * h * p.slope;
}

template <class G>
void Tree<G>::start_line(const Tie<G>& tie, double h) {
  const Line<G>& line = lines_[tie.line];
  const auto* points = points_.data() + line.first;
  for (int k = 1; k < line.count; ++k) {
    const Lin d0 = points[k].p0 - points[k - 1].p0, d1 = points[k].p1 - points[k - 1].p1;
    const double off = points[k].off - points[k - 1].off;
    const double l0 = std::sqrt(d0.squaredNorm() + off * off), l1 = std::sqrt(d1.squaredNorm() + off * off);
    if (l0 + l1 == 0) continue;
    const Lin pull = (d0 + d1) / (l0 + l1), stretch = l1 > 0 ? Lin(d1 / l1) : Lin(Lin::Zero());
    for (int side = 0; side < 2; ++side) {
      const auto& p = points[k - 1 + side];
      const double sign = side == 0 ? 1.0 : -1.0;
      Vec P, c;
      P << pull, G::moment(p.sm, pull);
      c << stretch, G::moment(p.p1 - slots_[p.slot].phi1, stretch);
      add_to_column(p.slot, tie.row, -sign * P, -sign * c);
    }
  }
  given_[tie.row] = h * line.now.value;
  stiffness_[tie.row] = h * h * line.now.slope;
}

template <class G>
void Tree<G>::add_to_column(int slot, int row, const Vec& P, const Vec& c) {
  Column<G>* col = column(slot, row);
  if (col == nullptr) return;
  col->P += P;
  col->c += c;
  slots_[slot].k += lambda_[row] * P;
}

template <class G>
void Tree<G>::start_tie(const Tie<G>& tie, double h, bool step) {
  Slot<G>&a = slots_[tie.slot[0]], &b = slots_[tie.slot[1]];
  const Ends<G> end(tie, a.R1, b.R1, a.phi1, b.phi1);
  for_rows<G>(tie, end, [&](int row, int side, const Vec& c) { add_to_column(tie.slot[side], row, Vec::Zero(), c); });
  const Ends<G> start = step ? Ends<G>(tie, a.R0, b.R0, a.phi0, b.phi0) : end;
  const Ends<G> mean = step ? Ends<G>::mean(start, end) : end;
  // Rows are bilinear: g_1 = g_0 + h G_m v to the letter, and what rounding left at node 0 is taken back over a step of usual
  // length. As a difference of positions the row would bring their rounding over h into the velocities of short steps.
  const double back = step ? std::min(1.0, std::abs(h) / length_) / h : 0.0;
  for (int r = 0; r < tie.rows; ++r) value_[tie.row + r] = back * start.residual(tie, r);
  for_rows<G>(tie, mean, [&](int row, int side, const Vec& c) {
    const Slot<G>& slot = slots_[tie.slot[side]];
    if (step && tie.slot[side] > 0) value_[row] += c.template head<G::L>().dot(slot.v) + c.template tail<G::A>().dot(slot.w);
    add_to_column(tie.slot[side], row, -c, Vec::Zero());
  });
  if (!step || tie.sort != Tie<G>::Sort::Point) return;
  const Lin impulse = Eigen::Map<const Lin>(lambda_.data() + tie.row);
  b.K.template bottomRightCorner<G::A, G::A>() -= 0.5 * h * G::lever(impulse) * G::arm(end.s[1]);
  a.K.template bottomRightCorner<G::A, G::A>() += 0.5 * h * G::lever(impulse) * G::arm(end.s[0]);
}

template <class G>
void Tree<G>::add_tie_wrenches(int node, const std::vector<double>& multipliers, std::vector<Vec>& out) const {
  for (const Tie<G>& tie : ties_) {
    const Slot<G>&a = slots_[tie.slot[0]], &b = slots_[tie.slot[1]];
    if (tie.sort == Tie<G>::Sort::Ratio || tie.soft()) continue;
    const Ends<G> at = node == 0 ? Ends<G>(tie, a.R0, b.R0, a.phi0, b.phi0) : Ends<G>(tie, a.R1, b.R1, a.phi1, b.phi1);
    for_rows<G>(tie, at, [&](int row, int side, const Vec& c) { out[tie.slot[side]] += multipliers[row] * c; });
  }
}

// A coupling q_b = f(q_a): its impulse works on both freedoms with the secant of f.
template <class G>
void Tree<G>::start_ratio(const Tie<G>& tie, double h, bool step) {
  const Coupling& coupling = model_.couplings()[tie.coupling];
  Slot<G>&a = slots_[tie.slot[0]], &b = slots_[tie.slot[1]];
  const double from = a.sign * a.q0, to = a.sign * a.q1;
  const Driven at = driven_by(coupling, to);
  double secant = at.slope;
  if (step)
    secant = std::abs(to - from) > 1e-6 ? (at.value - driven_by(coupling, from).value) / (to - from)
                                        : driven_by(coupling, 0.5 * (from + to)).slope;
  const auto add = [&](int side, double R, double kappa) {
    if (Column<G>* col = column(tie.slot[side], tie.row)) col->R += R, col->kappa += kappa;
    slots_[tie.slot[side]].extra += lambda_[tie.row] * R;
  };
  const double work_a = step && a.hang != Hang::Slide ? a.work : 1, work_b = step && b.hang != Hang::Slide ? b.work : 1;
  add(1, -b.sign * work_b, b.sign);
  add(0, a.sign * work_a * secant, -a.sign * at.slope);
  value_[tie.row] = step ? (b.sign * b.q1 - at.value) / h : 0.0;
}

template <class G>
void Tree<G>::predict() {
  // Polynomial extrapolation of the unknowns over equal steps.
  static constexpr double kWeights[5][4] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {2, -1, 0, 0}, {3, -3, 1, 0}, {4, -6, 4, -1}};
  const Past& past = past_[stage_];
  const double* w = kWeights[past.known];
  const auto guess = [&](const std::array<std::vector<double>, 4>& of, std::size_t i) {
    double sum = 0;
    for (int k = 0; k < past.known; ++k) sum += w[k] * of[(past.latest + k) & 3][i];
    return sum;
  };
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    Slot<G>& b = slots_[i];
    if constexpr (G::A == 3)
      b.pi0 = b.R0 * (b.J * b.W0);
    else
      b.pi0 = b.J * b.W0;
    const auto at = [&](int k) { return guess(past.unknowns, static_cast<std::size_t>(b.unknown + k)); };
    switch (b.hang) {
      case Hang::Ground: break;
      case Hang::Ball:
        for (int k = 0; k < G::A; ++k) b.w[k] = at(k);
        break;
      case Hang::Free:
        for (int k = 0; k < G::L; ++k) b.v[k] = at(k);
        for (int k = 0; k < G::A; ++k) b.w[k] = at(G::L + k);
        break;
      default: b.s = at(0);
    }
  }
  // Rows that depend on others carry nothing.
  std::fill(lambda_.begin(), lambda_.end(), 0.0);
  for (const int r : kept_) lambda_[r] = guess(past.impulses, static_cast<std::size_t>(r));
  for (const Tie<G>& tie : ties_)
    if (tie.soft()) lambda_[tie.row] = guess(past.impulses, static_cast<std::size_t>(tie.row));
}

template <class G>
void Tree<G>::recall(int stage) {
  stage_ = stage % kStages;
}

template <class G>
void Tree<G>::forget() {
  for (Past& past : past_) past.known = 0;
}

template <class G>
void Tree<G>::remember() {
  Past& past = past_[stage_];
  past.latest = (past.latest + 3) & 3;
  std::copy(lambda_.begin(), lambda_.end(), past.impulses[past.latest].begin());
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    const Slot<G>& b = slots_[i];
    double* u = past.unknowns[past.latest].data() + b.unknown;
    switch (b.hang) {
      case Hang::Ground: break;
      case Hang::Ball: std::copy(b.w.data(), b.w.data() + G::A, u); break;
      case Hang::Free:
        std::copy(b.v.data(), b.v.data() + G::L, u);
        std::copy(b.w.data(), b.w.data() + G::A, u + G::L);
        break;
      default: *u = b.s;
    }
  }
  past.known = std::min(past.known + 1, 4);
}

template <class G>
double Tree<G>::speed() const {
  double largest = 0;
  for (const Slot<G>& b : slots_)
    if (b.massive) largest = std::max({largest, b.v0.squaredNorm(), b.size * b.size * b.W0.squaredNorm()});
  return std::sqrt(largest);
}

template <class G>
double Tree<G>::tie_rate(const std::vector<Vec>& velocities) const {
  double largest = 0;
  for (const Tie<G>& tie : ties_) {
    if (tie.sort == Tie<G>::Sort::Ratio || tie.soft()) continue;
    const Slot<G>&a = slots_[tie.slot[0]], &b = slots_[tie.slot[1]];
    double rate[G::L] = {};
    for_rows<G>(tie, Ends<G>(tie, a.R1, b.R1, a.phi1, b.phi1), [&](int row, int side, const Vec& c) {
      if (tie.slot[side] > 0) rate[row - tie.row] += c.dot(velocities[tie.slot[side]]);
    });
    for (int r = 0; r < tie.rows; ++r) largest = std::max(largest, std::abs(rate[r]));
  }
  return largest;
}

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
double Tree<G>::extent() const {
  double largest = 0;
  for (const Slot<G>& b : slots_) largest = std::max(largest, b.phi0.squaredNorm());
  return std::sqrt(largest) + model_.length();
}

template <class G>
Verdict Tree<G>::step(double h, const Load* load) {
  measured_ = load != nullptr;
  if (inexact_ > 0 && ++since_measured_ > kTrust) inexact_ = std::max(inexact_, inexact_at_first_);
  predict();
  double scale = speed(), before = 0;
  const double reach = rows_ == 0 ? 0.0 : extent();
  for (iterations_ = 1; iterations_ <= kIterations; ++iterations_) {
    forward(h, load);
    if (!lines_.empty()) pull(h);
    if (rows_ > 0) start_ties(h, true);
    // A wild iterate may lose a pivot; whether there is inertia was asked when the tree was placed.
    if (const Verdict v = eliminate(h); !v.ok()) return {Status::NotConverged, v.body, v.joint, v.value};
    if (rows_ > 0) {
      soften();
      if (!solve_rows(active_)) return {Status::Singular, -1, ties_.front().joint, 0};
    }
    const double now = substitute(true, h);
    if (!std::isfinite(now)) break;
    if (iterations_ == 1) scale = std::max(scale, now);
    // The next increment is small of second order, or smaller than this one by the ratio of the last two, unless what the
    // Jacobian leaves out takes over. Increments that are small and no longer shrink are rounding: rows of ties are positions
    // over h, and singular configurations enlarge it.
    const double rounding = kRounding * scale;
    const double shrank = iterations_ > 1 ? now / before : (inexact_ > 0 ? 1.0 : kSmall);
    if (iterations_ > 2 && now > kClear * rounding) measure_contraction(shrank);
    const bool last = now <= rounding || now * std::max(shrank, inexact_) <= rounding ||
                      (iterations_ > 2 && now > 0.7 * before && now <= kNoise * scale + kRounding * reach / std::abs(h));
    if (last) {
      if (!finish(h)) break;
      return {};
    }
    before = now;
  }
  // Where it failed: at the part whose increment was the largest.
  return {Status::NotConverged, skeleton_.parts[worst_].body, skeleton_.parts[worst_].joint, before};
}

// Soft rows: λ + dλ = given + stiffness c·dY.
template <class G>
void Tree<G>::soften() {
  active_ = kept_;
  for (const Tie<G>& tie : ties_) {
    if (!tie.soft()) continue;
    const int r = tie.row;
    double* D = D_.data() + static_cast<std::ptrdiff_t>(r) * rows_;
    for (int c = 0; c < rows_; ++c) D[c] *= -stiffness_[r];
    D[r] += 1;
    value_[r] = lambda_[r] - given_[r] - stiffness_[r] * value_[r];
    active_.push_back(r);
  }
}

// From the third increment on, what shrinks is what the Jacobian leaves out. The estimate falls slowly and rises at once; when
// steps have needed no third increment for long, it is made anew.
template <class G>
void Tree<G>::measure_contraction(double shrank) {
  if (inexact_ == 0) return;
  inexact_ = std::max(kCaution * shrank, 0.5 * inexact_);
  since_measured_ = 0;
}

// Node 1 with its velocities, and the accounts of the step. The Cayley map turns less than half a turn: more is refused.
template <class G>
bool Tree<G>::finish(double h) {
  dissipated_ = 0;
  bool within_reach = true;
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    Slot<G>& b = slots_[i];
    move(b, slots_[b.inner], h);
    within_reach = within_reach && h * h * b.w.squaredNorm() < 4 && (std::abs(h * b.s) < 2 || b.hang == Hang::Slide);
    if constexpr (G::A == 3)
      b.W1 = 2 * (b.R0.transpose() * b.w) - b.W0;
    else
      b.W1 = 2 * b.w - b.W0;
    b.v1 = 2 * b.v - b.v0;
    if (b.armature > 0) b.rate1 = 2 * (b.q1 - b.q0) / h - b.rate0;
    dissipated_ += h * b.lost;
  }
  measure_lines();
  for (const Line<G>& line : lines_) dissipated_ += line.lost;
  for (Tie<G>& tie : ties_)
    if (tie.passive != nullptr) {
      tie.q1 = coordinate(tie);
      dissipated_ += h * tie.lost;
    }
  return within_reach;
}

template <class G>
void Tree<G>::spread(const Bodies& bodies, Load& load) const {
  JointAt at;
  for (const int j : loose_) {
    const Joint& joint = model_.joints()[j];
    auto efforts = load.efforts.segment(joint.v0, joint.nv);
    if (efforts.isZero(0)) continue;
    joint_at(model_, j, bodies, false, at);
    const Wrench w = effort_wrench(at, efforts);
    load.port[joint.child] += w.about(at.arm_child);
    if (joint.parent != kWorld) load.port[joint.parent] -= w.about(at.arm_parent);
    efforts.setZero();
  }
}

template <class G>
double Tree<G>::work(double h, const Load& load) const {
  double sum = 0;
  for (std::size_t body = 0; body < load.port.size(); ++body) {
    const Slot<G>& b = slots_[skeleton_.places[body].part];
    const Lin arm = 0.5 * ((b.R0 + b.R1) * centres_[body]);
    sum += h * (lin(load.port[body].force).dot(b.v + G::cross(b.w, arm)) + ang(load.port[body].moment).dot(b.w));
  }
  for (const Slot<G>& b : slots_)
    if (b.freedom >= 0 && b.hang != Hang::Ball) sum += b.sign * load.efforts[b.freedom] * (b.q1 - b.q0);
  return sum;
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
  for (auto& p : points_) p.p0 = p.p1;
  for (Line<G>& line : lines_) line.length0 = line.length1;
  for (Tie<G>& tie : ties_) tie.q0 = tie.q1;
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
    if (!solve_rows(kept_)) verdict.status = Status::Singular;
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
Verdict Tree<G>::place(const VecX& q, const VecX& v, const Bodies& bodies) {
  forget();
  std::vector<Vec> velocities(slots_.size(), Vec::Zero());
  std::vector<double> rotors(slots_.size(), 0.0);
  for (int i = 1; i < static_cast<int>(slots_.size()); ++i) {
    place_slot(i, q, v, bodies);
    // Node 1 starts where node 0 is.
    Slot<G>& b = slots_[i];
    b.R1 = b.R0, b.phi1 = b.phi0, b.rho1 = b.rho0, b.gam1 = b.gam0, b.n1 = b.n0, b.a1 = b.a0, b.q1 = b.q0;
    b.c1 = b.c0, b.s1 = b.s0, b.r1 = b.rho0 + b.gam0;
  }
  for (Tie<G>& tie : ties_)
    if (tie.passive != nullptr) {
      const Joint& joint = model_.joints()[tie.joint];
      tie.q0 = tie.q1 = q[joint.q0 + tie.freedom - joint.v0];
    }
  kept_.clear();
  const Verdict verdict = project(velocities, rotors);  // decides which closure rows are independent here
  measure_lines();
  for (auto& p : points_) p.p0 = p.p1;
  for (Line<G>& line : lines_) line.length0 = line.length1;
  return verdict;
}

template <class G>
void Tree<G>::mean_bodies(Bodies& out) const {
  for (int body = 0; body < static_cast<int>(out.size()); ++body) {
    const Slot<G>& b = slots_[skeleton_.places[body].part];
    const Lin arm = 0.5 * ((b.R0 + b.R1) * centres_[body]);
    Rot halfway = b.R0 + b.R1;
    if constexpr (G::A == 3) {
      const Quat q0(b.R0), q1(b.R1);
      halfway = normalized(Quat((q0.coeffs() + (q0.dot(q1) < 0 ? -1.0 : 1.0) * q1.coeffs()).eval())).toRotationMatrix();
    }
    store(body, 0.5 * (b.phi0 + b.phi1) + arm, b.v + G::cross(b.w, arm), b.w, halfway, out);
  }
}

template <class G>
void Tree<G>::bodies(Bodies& out) const {
  for (int body = 0; body < static_cast<int>(out.size()); ++body) {
    const Slot<G>& b = slots_[skeleton_.places[body].part];
    const Lin arm = b.R0 * centres_[body];
    const Ang w = turned_axis<G>(b.R0, b.W0);
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

#define INVAR_MEMBERS(G)                                                                             \
  template Verdict Tree<G>::place(const VecX&, const VecX&, const Bodies&);                          \
  template Verdict Tree<G>::step(double, const Load*);                                               \
  template double Tree<G>::tie_rate(const std::vector<Vec>&) const;                                  \
  template typename Tree<G>::Potential Tree<G>::potential() const;                                   \
  template double Tree<G>::speed() const;                                                            \
  template void Tree<G>::recall(int);                                                                \
  template void Tree<G>::forget();                                                                   \
  template void Tree<G>::accept();                                                                   \
  template Verdict Tree<G>::project(std::vector<Vec>&, std::vector<double>&);                        \
  template void Tree<G>::add_tie_wrenches(int, const std::vector<double>&, std::vector<Vec>&) const; \
  template void Tree<G>::spread(const Bodies&, Load&) const;                                         \
  template double Tree<G>::work(double, const Load&) const;                                          \
  template void Tree<G>::mean_bodies(Bodies&) const;                                                 \
  template void Tree<G>::bodies(Bodies&) const;
INVAR_MEMBERS(InSpace)
INVAR_MEMBERS(InPlane)
#undef INVAR_MEMBERS

}  // namespace invar::cayley
