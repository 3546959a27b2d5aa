// SPDX-License-Identifier: Apache-2.0
// Rows between parts that the tree does not join. All are bilinear, so that over a step each changes by its gradient at the mean
// of the nodes times the motion, exactly; impulses act with that gradient. Soft rows measure instead of holding.
#include <algorithm>
#include <cmath>

#include "invar/mech/cayley/tree.hpp"
#include "invar/mech/kinematics.hpp"
#include "invar/mech/passive.hpp"
#include "invar/mech/tendon_points.hpp"

namespace invar::cayley {
namespace {

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
    c.RR.setZero(), c.kappas.setZero();
  }
  std::fill(D_.begin(), D_.end(), 0.0);
  std::fill(value_.begin(), value_.end(), 0.0);
  for (Tie<G>& tie : ties_) {
    if (tie.sort == Tie<G>::Sort::Ratio)
      start_ratio(tie, h, step);
    else if (tie.holds())
      start_tie(tie, h, step);
    else if (step && tie.soft())
      tie.sort == Tie<G>::Sort::Line ? start_line(tie, h) : start_soft(tie, h);
  }
}

// The coordinate of a cut joint at node 1, on the turn where it was at node 0.
template <class G>
double Tree<G>::coordinate(const Tie<G>& tie) const {
  const Slot<G>&a = slots_[tie.slot[0]], &b = slots_[tie.slot[1]];
  const Ends<G> end(tie, a.R1, b.R1, a.phi1, b.phi1);
  if (tie.sort == Tie<G>::Sort::Slide) return end.u[0].dot(end.gap);
  const Ang n = out_of<G>(a.R1, tie.n);
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
    const Ang n0 = out_of<G>(a.R0, tie.n), n1 = out_of<G>(a.R1, tie.n), nm = 0.5 * (n0 + n1);
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
    const double l0 = points[k].span0, l1 = points[k].span1;
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
    if (!tie.holds()) continue;
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
double Tree<G>::tie_rate(const std::vector<Vec>& velocities) {
  double largest = 0;
  measure_speeds();
  for (const Tie<G>& tie : ties_) {
    if (!tie.holds()) continue;
    const Slot<G>&a = slots_[tie.slot[0]], &b = slots_[tie.slot[1]];
    double rate[G::L] = {};
    for_rows<G>(tie, Ends<G>(tie, a.R1, b.R1, a.phi1, b.phi1), [&](int row, int side, const Vec& c) {
      if (tie.slot[side] > 0) rate[row - tie.row] += c.dot(velocities[tie.slot[side]]);
    });
    const double speed = paces_[slots_[tie.slot[1] > 0 ? tie.slot[1] : tie.slot[0]].pace].scale;
    for (int r = 0; r < tie.rows; ++r) largest = std::max(largest, speed > 0 ? std::abs(rate[r]) / speed : 0.0);
  }
  return largest;
}

// Soft rows: λ + dλ = given + stiffness c·dY.
template <class G>
void Tree<G>::soften() {
  active_ = kept_;
  add_loans();
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

#define INVAR_MEMBERS(G)                                      \
  template void Tree<G>::start_ties(double, bool);            \
  template double Tree<G>::coordinate(const Tie<G>&) const;   \
  template void Tree<G>::soften();                            \
  template double Tree<G>::tie_rate(const std::vector<Vec>&); \
  template void Tree<G>::add_tie_wrenches(int, const std::vector<double>&, std::vector<Vec>&) const;
INVAR_MEMBERS(InSpace)
INVAR_MEMBERS(InPlane)
#undef INVAR_MEMBERS

}  // namespace invar::cayley
