// SPDX-License-Identifier: Apache-2.0
//
// Turns. u = (c, s) = (m·f1, m·f2) is a unit vector where the joint holds; angle = atan2(s, c), gradient (c ∇s - s ∇c)/|u|².
// Over a step u goes from u0 to u1. With ū their mean, Δu is across ū, and tan(Δ/2) = (ū × Δu)/(2 |ū|²). c and s are forms, so
// Δu = ∇u(x_mid) Δx exactly, and
//   Δ = ratio N·Δx,   N = (c̄ ∇s - s̄ ∇c)(x_mid)/|ū|²,   ratio = atan(y)/y,  y = tan(Δ/2).
//
// Moments. With directors d_i and S = Σ d_i d_iᵀ, w = (tr S 1 - S)^-1 Σ d_i × v_i is w for v_i = w × d_i. The transpose turns a
// moment into forces z × d_i with z = (tr S 1 - S)^-1 moment.
#include "invar/mech/natural_freedoms.hpp"

#include <Eigen/LU>
#include <cmath>
#include <numbers>

namespace invar {
namespace {

// The gradient of a form over the two bodies of a freedom, added with a factor.
void add(const NaturalCoordinates& c, const NaturalForm& form, const VecX& x, double factor, NaturalGradient& g) {
  for (int s = 0; s < 2; ++s)
    if (g.body[s] != kWorld) c.add_gradient(form, x, g.body[s], factor, g.part[s]);
}

Mat3 spread_inverse(const Mat3& D) {
  const Mat3 S = D * D.transpose();
  return (S.trace() * Mat3::Identity() - S).inverse();
}

Eigen::Vector2d director(int body, const VecX& x) { return x.segment<2>(4 * body + 2); }

// The rate of a ball: axis · (w_child - w_parent), the axis taken at x.
void ball_gradient(const NaturalCoordinates& c, const NaturalFreedom& freedom, const VecX& x, NaturalGradient& g) {
  const Vec3 axis = c.value(freedom.axis, x);
  for (int s = 0; s < 2; ++s) {
    if (g.body[s] == kWorld) continue;
    if (c.plane()) {
      const Eigen::Vector2d d = director(g.body[s], x);
      const double size = (s == 0 ? -1.0 : 1.0) * freedom.along / d.squaredNorm();
      g.part[s][2] = -size * d.y(), g.part[s][3] = size * d.x();
      continue;
    }
    const Mat3 D = c.directors(g.body[s], x);
    const Vec3 z = spread_inverse(D) * ((s == 0 ? -1.0 : 1.0) * axis);
    for (int i = 0; i < 3; ++i) Eigen::Map<Vec3>(g.part[s] + 3 + 3 * i) = z.cross(Vec3(D.col(i)));
  }
}

double atan_over(double y) {
  const double y2 = y * y;
  return y2 < 1e-6 ? 1 - y2 * (1.0 / 3 - y2 * (1.0 / 5 - y2 / 7)) : std::atan(y) / y;
}

}  // namespace

NaturalFreedom natural_freedom(const NaturalCoordinates& c, int j, int k) {
  const Joint& joint = c.model().joints()[static_cast<std::size_t>(j)];
  const NaturalCoordinates::Frames at = c.frames(j);
  NaturalFreedom out;
  out.joint = j, out.freedom = k, out.parent = joint.parent, out.child = joint.child;
  const auto slide = [&](int axis) { out.cosine = {at.f[axis], at.M, at.F, 0}; };
  const auto turn = [&](NaturalForm cosine, NaturalForm sine) {
    out.kind = NaturalFreedom::Kind::Turn, out.cosine = cosine, out.sine = sine;
  };
  const auto ball = [&](int axis) {
    out.kind = NaturalFreedom::Kind::Ball, out.axis = at.f[axis];
    if (!c.plane()) return;
    const Vec3 normal =
        joint.parent == kWorld ? c.plane()->normal : c.plane()->bodies[static_cast<std::size_t>(joint.parent)].n_B;
    out.along = normal.dot(joint.X_PF.q * Vec3::Unit(axis));
  };
  if (!joint.is_scalar(k)) return ball(k - joint.facts->ball()), out;
  const Element* first = nullptr;  // turn, and the one after it
  const Element* second = nullptr;
  for (const Element& e : joint.facts->path()) {
    if (e.motion == Element::Motion::Slide && e.freedom == k) return slide(e.axis), out;
    if (e.motion != Element::Motion::Turn) continue;
    (first == nullptr ? first : second) = &e;
  }
  if (first == nullptr) return out;
  // R_FM = R_a(q0) R_b(q1). The second turn leaves m_b, which shows q0 in F: cosine f_b·m_b, sine (a × b of F)·m_b; any axis
  // across a does where there is one turn. The first leaves f_a, which shows q1 in M: cosine f_a·m_a, sine f_a·(a × b of M).
  const int a = first->axis, b = second != nullptr ? second->axis : (a + 1) % 3;
  const int third = 3 - a - b;
  const double hand = (a + 1) % 3 == b ? 1 : -1;  // a × b = hand times the third
  const auto handed = [&](NaturalVector v) {
    v.axes *= hand, v.position *= hand;
    return v;
  };
  if (first->freedom == k)
    turn({at.f[b], at.m[b], {}, 0}, {handed(at.f[third]), at.m[b], {}, 0});
  else
    turn({at.f[a], at.m[a], {}, 0}, {handed(at.f[a]), at.m[third], {}, 0});
  return out;
}

double coordinate(const NaturalCoordinates& c, const NaturalFreedom& freedom, const VecX& x, double near) {
  if (freedom.kind != NaturalFreedom::Kind::Turn) return c.value(freedom.cosine, x);
  constexpr double turn = 2 * std::numbers::pi;
  const double angle = std::atan2(c.value(freedom.sine, x), c.value(freedom.cosine, x));
  return angle + turn * std::round((near - angle) / turn);
}

NaturalGradient gradient(const NaturalCoordinates& c, const NaturalFreedom& freedom, const VecX& x) {
  NaturalGradient g;
  g.body[0] = freedom.parent, g.body[1] = freedom.child;
  switch (freedom.kind) {
    case NaturalFreedom::Kind::Slide: add(c, freedom.cosine, x, 1, g); break;
    case NaturalFreedom::Kind::Turn: {
      const double cosine = c.value(freedom.cosine, x), sine = c.value(freedom.sine, x);
      const double size = cosine * cosine + sine * sine;
      add(c, freedom.sine, x, cosine / size, g);
      add(c, freedom.cosine, x, -sine / size, g);
      break;
    }
    case NaturalFreedom::Kind::Ball: ball_gradient(c, freedom, x, g); break;
  }
  return g;
}

NaturalChange change(const NaturalCoordinates& c, const NaturalFreedom& freedom, const VecX& x0, const VecX& x1,
                     const VecX& mid) {
  NaturalChange out;
  if (freedom.kind != NaturalFreedom::Kind::Turn) {
    out.gradient = gradient(c, freedom, mid);
    out.change = c.value(freedom.cosine, x1) - c.value(freedom.cosine, x0);
    return out;
  }
  out.gradient.body[0] = freedom.parent, out.gradient.body[1] = freedom.child;
  const double c0 = c.value(freedom.cosine, x0), s0 = c.value(freedom.sine, x0);
  const double c1 = c.value(freedom.cosine, x1), s1 = c.value(freedom.sine, x1);
  const double cosine = 0.5 * (c0 + c1), sine = 0.5 * (s0 + s1), size = cosine * cosine + sine * sine;
  const double y = 0.5 * (cosine * (s1 - s0) - sine * (c1 - c0)) / size;
  const double ratio = atan_over(y);
  out.change = 2 * y * ratio;
  add(c, freedom.sine, mid, ratio * cosine / size, out.gradient);
  add(c, freedom.cosine, mid, -ratio * sine / size, out.gradient);
  return out;
}

Vec3 angular_rate(const NaturalCoordinates& c, int body, const VecX& x, const VecX& v) {
  if (body == kWorld) return Vec3::Zero();
  if (c.plane()) {
    const Eigen::Vector2d d = director(body, x), V = director(body, v);
    return (d.x() * V.y() - d.y() * V.x()) / d.squaredNorm() * c.plane()->normal;
  }
  const Mat3 D = c.directors(body, x), V = c.directors(body, v);
  Vec3 sum = Vec3::Zero();
  for (int i = 0; i < 3; ++i) sum += Vec3(D.col(i)).cross(Vec3(V.col(i)));
  return spread_inverse(D) * sum;
}

void add_moment(const NaturalCoordinates& c, int body, const VecX& x, const Vec3& moment, double factor, VecX& f) {
  if (body == kWorld) return;
  if (c.plane()) {
    const Eigen::Vector2d d = director(body, x);
    const double size = factor * moment.dot(c.plane()->normal) / d.squaredNorm();
    f[4 * body + 2] -= size * d.y();
    f[4 * body + 3] += size * d.x();
    return;
  }
  const Mat3 D = c.directors(body, x);
  const Vec3 z = factor * (spread_inverse(D) * moment);
  for (int i = 0; i < 3; ++i) f.segment<3>(12 * body + 3 + 3 * i) += z.cross(Vec3(D.col(i)));
}

}  // namespace invar
