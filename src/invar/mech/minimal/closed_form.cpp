// SPDX-License-Identifier: Apache-2.0
//
// All vectors are seen in the plane normal to n, the axis of the hinges; turn(u, v) is the angle from u to v about n.
// Two hinges on one side: P1, P2 and M form an arm of lengths b = |P1 P2| and c = |P2 M| that has to reach T at the distance a
// from P1. The angle at P1 from P1T to P1P2 has the cosine (a² + b² - c²)/2ab, the angle at P2 follows; the elbow stays on its
// side. One hinge on each side: M on a circle about P1 and F on one about P2 meet in the third corner of a triangle over P1 P2.
// Hinge P and slider e with the point X to be brought to Y: the slider is moved until the distances of X and Y from P are equal,
// a quadratic equation, and then the hinge turned.
#include "invar/mech/minimal/closed_form.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace invar::closed_form {
namespace {

constexpr double kSame = 1e-12;  // directions that differ by less are the same

struct Plane {
  Vec3 n;
  Vec3 flat(const Vec3& u) const { return u - n.dot(u) * n; }
  double turn(const Vec3& u, const Vec3& v) const { return std::atan2(n.dot(u.cross(v)), u.dot(v)); }
  Vec3 turned(const Vec3& u, double angle) const { return std::cos(angle) * u + std::sin(angle) * n.cross(u); }
};

// Angle at the corner between sides a and b of a triangle with the third side c; by its half, which keeps all digits.
bool corner(double a, double b, double c, double& angle) {
  const double sine2 = (c - (a - b)) * (c + (a - b)), cosine2 = (a + b - c) * (a + b + c);
  if (!(sine2 >= 0 && cosine2 >= 0 && a > 0 && b > 0)) return false;
  angle = 2 * std::atan2(std::sqrt(sine2), std::sqrt(cosine2));
  return true;
}

// The same turn, the short way.
double shortest(double angle) { return std::remainder(angle, 2 * std::numbers::pi); }

double sign_of(double x) { return x < 0 ? -1.0 : 1.0; }

bool two_hinges(const Plane& plane, const Freedom& inner, const Freedom& outer, Vec3 M, Vec3 F, double by[2]) {
  if (inner.side != outer.side) {
    // Circles about both: the inner one carries X, the outer one Y.
    const Vec3 &X = inner.side > 0 ? M : F, &Y = inner.side > 0 ? F : M;
    const Vec3 x = plane.flat(X - inner.point), y = plane.flat(Y - outer.point), base = plane.flat(outer.point - inner.point);
    double at_inner, at_outer;
    if (!corner(base.norm(), x.norm(), y.norm(), at_inner) || !corner(base.norm(), y.norm(), x.norm(), at_outer)) return false;
    const double up = sign_of(plane.turn(base, x));
    by[0] = shortest(up * at_inner - plane.turn(base, x));
    by[1] = shortest(-up * at_outer - plane.turn(-base, y));
    return true;
  }
  if (inner.side < 0) std::swap(M, F);
  const Vec3 arm = plane.flat(outer.point - inner.point), hand = plane.flat(M - outer.point), aim = plane.flat(F - inner.point);
  double at_inner;
  if (!corner(aim.norm(), arm.norm(), hand.norm(), at_inner)) return false;
  const double elbow = sign_of(plane.turn(plane.flat(M - inner.point), arm));
  by[0] = shortest(elbow * at_inner - plane.turn(aim, arm));
  // Where the arm then ends, the hand points at the aim.
  const Vec3 reached = plane.turned(arm, by[0]);
  by[1] = plane.turn(plane.turned(hand, by[0]), aim - reached);
  return true;
}

bool hinge_and_slider(const Plane& plane, const Freedom& inner, const Freedom& outer, Vec3 M, Vec3 F, double by[2]) {
  const bool hinge_inside = inner.turns;
  const Freedom &hinge = hinge_inside ? inner : outer, &slider = hinge_inside ? outer : inner;
  double &turn = by[hinge_inside ? 0 : 1], &slide = by[hinge_inside ? 1 : 0];
  if (hinge.side < 0) std::swap(M, F);  // the hinge carries M
  const bool same = hinge.side == slider.side;
  Vec3 m = plane.flat(M - hinge.point), f = plane.flat(F - hinge.point);
  // |u + s e| = r with u what the slider moves seen from the hinge. Inside the hinge it carries hinge and M: F goes the other
  // way.
  const bool carries_m = same && hinge_inside;
  const Vec3& e = slider.axis;
  const double way = carries_m || !same ? 1 : -1;
  const Vec3& u = carries_m ? m : f;
  const double r2 = (carries_m ? f : m).squaredNorm(), along = u.dot(e), rest = along * along - u.squaredNorm() + r2;
  if (!(rest >= 0)) return false;
  const double s = -along + sign_of(along) * std::sqrt(rest);
  slide = way * s;
  (carries_m ? m : f) += s * e;
  turn = plane.turn(m, f);
  return true;
}

}  // namespace

bool dyad(const Freedom& inner, const Freedom& outer, const Vec3& M, const Vec3& F, double by[2]) {
  if (!inner.turns && !outer.turns) return false;  // linear: one step of Newton's method
  const Plane plane{inner.turns ? inner.axis : outer.axis};
  if (inner.turns && outer.turns) {
    const double c = plane.n.dot(outer.axis);
    if (!(plane.n.cross(outer.axis).squaredNorm() < kSame * kSame)) return false;
    if (!two_hinges(plane, inner, outer, M, F, by)) return false;
    by[1] *= sign_of(c);
    return true;
  }
  const Freedom& slider = inner.turns ? outer : inner;
  if (!(std::abs(plane.n.dot(slider.axis)) < kSame)) return false;
  return hinge_and_slider(plane, inner, outer, M, F, by);
}

bool leg(const Freedom& first, const Freedom& second, const Freedom& slider, const Vec3& M, const Vec3& F, double by[3]) {
  const Vec3 &O = second.point, &a = first.axis, &b = second.axis, &e = slider.axis;
  const Vec3 m = M - O, f = F - O;
  const double reach = m.norm(), length = f.norm(), near = kSame * reach;
  if (!first.turns || !second.turns || slider.turns || first.side != second.side || second.side != slider.side) return false;
  if (!(std::abs(a.dot(b)) < kSame && std::abs(b.dot(e)) < kSame && a.cross(first.point - O).norm() < near)) return false;
  if (!(m.cross(e).norm() < near) || !(length > 0)) return false;
  // Along the slider until the length is right; about b until the height above a is right; about a the rest.
  const double forward = sign_of(m.dot(e));
  const Vec3 d = forward * e, t = f / length;
  by[2] = forward * (length - reach);
  const Vec3 across = b.cross(a);  // with a it spans the plane in which b turns
  const double now = std::atan2(d.dot(a), d.dot(across)), height = t.dot(a), flat2 = 1 - height * height;
  if (!(flat2 > 1e-6)) return false;
  const double flat = sign_of(d.dot(across)) * std::sqrt(flat2);
  by[1] = shortest(now - std::atan2(height, flat));  // b × across = -a
  const Vec3 then = std::cos(by[1]) * d + std::sin(by[1]) * b.cross(d);
  const Vec3 from = then - a.dot(then) * a, to = t - height * a;
  by[0] = std::atan2(a.dot(from.cross(to)), from.dot(to));
  return true;
}

}  // namespace invar::closed_form
