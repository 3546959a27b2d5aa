// SPDX-License-Identifier: Apache-2.0
//
// Slopes of forces for Newton's method. Joint coordinates: V'' N Nᵀ and the damper's slope likewise; the part with dN/dx is of
// the size of the effort itself and left out. Friction is flat where it slides and steep where it sticks: Newton's tangents jump
// from one side to the other for ever, the chord of the last jump does not. Tendons: stiffness ∇s ∇sᵀ + Σ_k T/|d_k| (1 - e_k
// e_kᵀ) along the segments.
#include <cmath>

#include "invar/mech/natural_forces.hpp"
#include "invar/mech/passive.hpp"
#include "invar/mech/tendon_points.hpp"

namespace invar {
namespace {

using Jacobian = Eigen::Matrix<double, 3, Eigen::Dynamic, Eigen::ColMajor, 3, 12>;

// -d(effort)/dq of spring and stops, -d(effort)/dv of damper and friction.
double stiffness_of(const Passive& p, double q) { return p.stiffness + (q > p.upper || q < p.lower ? p.stop_stiffness : 0.0); }
double damping_of(const Passive& p, double q, double v, double before) {
  double sum = p.damping;
  if (p.friction > 0) {
    const double t = std::tanh(v / p.friction_velocity), change = std::abs(v - before);
    const double tangent = p.friction / p.friction_velocity * (1 - t * t);
    const double risen = p.friction * std::abs(t - std::tanh(before / p.friction_velocity));
    sum += risen > tangent * change ? risen / change : tangent;
  }
  const double depth = std::max({0.0, q - p.upper, p.lower - q});
  return sum + p.stop_stiffness * depth * p.stop_damping;
}

}  // namespace

void NaturalForces::add_outer(const NaturalGradient& g, double factor, int e, int u, NaturalElimination& to) const {
  const int n = c_.per_body();
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b) {
      if (g.body[a] == kWorld || g.body[b] == kWorld || !to.neighbours(g.body[a], g.body[b])) continue;
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) block_(i, j) = g.part[a][i] * g.part[b][j];
      to.add(e, g.body[a], u, g.body[b], factor, block_);
    }
}

void NaturalForces::add_slopes(const VecX& x, const VecX& v, const VecX& wound, double stiff, double damp, int e, int u,
                               NaturalElimination& to, const VecX* before) const {
  for (const Spring& s : springs_) {
    const bool ball = s.freedom.kind == NaturalFreedom::Kind::Ball;
    const NaturalGradient g = gradient(c_, s.freedom, x);
    const double q = ball ? 0.0 : coordinate(c_, s.freedom, x, wound[s.v]);
    const double rate = g.rate(v, c_.per_body()), last = before ? g.rate(*before, c_.per_body()) : rate;
    double factor = damp == 0 ? 0.0 : damp * damping_of(s.passive, q, rate, last);
    if (!ball) factor += stiff * stiffness_of(s.passive, q);
    if (factor != 0) add_outer(g, factor, e, u, to);
  }
  if (stiff != 0)
    for (const Ball& ball : balls_) {
      const Joint& joint = c_.model().joints()[static_cast<std::size_t>(ball.joint)];
      for (int k = 0; k < 3; ++k)
        add_outer(gradient(c_, freedoms_[static_cast<std::size_t>(joint.v0 + ball_start(joint) + k)], x),
                  stiff * ball.stiffness[k], e, u, to);
    }
  for (const Line& line : tendons_) add_line_slopes(line, x, stiff, damp, e, u, to);
}

// Segment by segment: the sum over pairs of segments of one body pair is what counts; pairs of segments are few.
void NaturalForces::add_line_slopes(const Line& line, const VecX& x, double stiff, double damp, int e, int u,
                                    NaturalElimination& to) const {
  const int n = c_.per_body();
  const std::span<const Vec3> at = place(line, x, from_);
  const Tension T = tension_at(*line.tendon, at);
  const double along = stiff * T.slope + damp * line.tendon->damping;
  if (T.slope == 0 || along == 0) return;
  // The derivative of a direction c · point, as rows of a 3 x n matrix.
  const auto jacobian = [&](const NaturalVector& a) {
    Jacobian J = Jacobian::Zero(3, n);
    double row[12];
    for (int k = 0; k < c_.dimension(); ++k) {
      std::fill(row, row + 12, 0.0);
      c_.spread(a, Vec3::Unit(k), 1, row);
      for (int i = 0; i < n; ++i) J(k, i) = row[i];
    }
    return J;
  };
  const std::size_t segments = line.points.size() - 1;
  for (std::size_t p = 0; p < segments; ++p)
    for (std::size_t q = 0; q < segments; ++q) {
      const Bend bp = bend_at(T.value, at[p + 1] - at[p]), bq = bend_at(T.value, at[q + 1] - at[q]);
      Mat3 K = along * bp.e * bq.e.transpose();
      if (p == q) K += stiff * bp.bend;
      for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2; ++b) {
          const NaturalVector& pa = line.points[p + static_cast<std::size_t>(a)];
          const NaturalVector& qb = line.points[q + static_cast<std::size_t>(b)];
          if (pa.body == kWorld || qb.body == kWorld || !to.neighbours(pa.body, qb.body)) continue;
          const Jacobian KJ = K * jacobian(qb);
          block_.noalias() = jacobian(pa).transpose().lazyProduct(KJ);
          to.add(e, pa.body, u, qb.body, a == b ? 1.0 : -1.0, block_);
        }
    }
}

}  // namespace invar
