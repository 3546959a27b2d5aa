// SPDX-License-Identifier: Apache-2.0
#include "invar/model/joint/motion.hpp"

#include <numbers>

namespace invar {
namespace {

using Motion = Element::Motion;
using Walk = PathMotion<double>;

double component(const Quat& q, int axis) { return q.coeffs()[axis]; }

/// The angle about an axis in (-π, π] of the rotation about it that is nearest to q.
double angle_about(const Quat& q, int axis) { return angle_about_z(Quat(q.w(), 0, 0, component(q, axis))); }

Quat about(int axis, double angle) {
  const Vec3 a = std::sin(0.5 * angle) * Vec3::Unit(axis);
  return {std::cos(0.5 * angle), a.x(), a.y(), a.z()};
}

// Turns of any order: Newton's method on the rotation that is left, from zero; their angular columns need not be square.
void turns_by_newton(const Facts& facts, const Quat& R, double* q) {
  for (int step = 0; step < 50; ++step) {
    const Walk at(facts, q, nullptr);
    const Vec3 left = log_so3(R * Quat(at.R).conjugate());
    Mat3 A = 1e-12 * Mat3::Identity();
    for (int k = 0; k < facts.nv(); ++k)
      if (facts.turns(k)) A += at.angular[static_cast<std::size_t>(k)] * at.angular[static_cast<std::size_t>(k)].transpose();
    const Vec3 x = A.inverse() * left;
    for (int k = 0; k < facts.nv(); ++k)
      if (facts.turns(k)) q[k] += at.angular[static_cast<std::size_t>(k)].dot(x);
    if (left.norm() < 1e-15) return;
  }
}

const Element& nth_turn(const Facts& facts, int n) {
  for (const Element& e : facts.path())
    if (e.motion != Motion::Slide && n-- == 0) return e;
  return facts.path().front();
}

// What turns needs the attitude alone.
void measure_turns(const Facts& facts, const Quat& R, double* q) {
  switch (facts.turning()) {
    case Turning::None: return;
    case Turning::Ball: {
      double* c = q + facts.ball();
      c[0] = R.w(), c[1] = R.x(), c[2] = R.y(), c[3] = R.z();
      return;
    }
    case Turning::OneAxis: {
      double factor = 0;
      for (const Element& e : facts.path())
        if (e.motion == Motion::Turn) factor += e.factor;
      const Element& e = nth_turn(facts, 0);
      q[e.freedom] = angle_about(R, e.axis) / factor;
      return;
    }
    case Turning::TwoAxes: {
      // The second axis lies in the plane across the first: its direction there is the first angle.
      const Element &a = nth_turn(facts, 0), &b = nth_turn(facts, 1);
      const Vec3 m = R * Vec3::Unit(b.axis);
      q[a.freedom] = std::atan2(Vec3::Unit(a.axis).cross(Vec3::Unit(b.axis)).dot(m), m[b.axis]);
      q[b.freedom] = angle_about(about(a.axis, -q[a.freedom]) * R, b.axis);
      return;
    }
    case Turning::Mirrored: {
      // R = (cos ½q1 cos ½q0; cos ½q1 sin ½q0 about a, sin ½q1 about b, nothing about the third axis).
      const Element &a = nth_turn(facts, 0), &b = nth_turn(facts, 1);
      const double sign = R.w() < 0 ? -1 : 1, w = sign * R.w(), x = sign * component(R, a.axis), y = sign * component(R, b.axis);
      q[a.freedom] = 2 * std::atan2(x, w);
      q[b.freedom] = 2 * std::atan2(y, std::hypot(w, x));
      return;
    }
    case Turning::Other: return turns_by_newton(facts, R, q);
  }
}

// Slides along axes of F. One that shares its freedom with a turn tells how many turns that is.
void measure_slides(const Facts& facts, const Vec3& p, double* q) {
  for (const Element& e : facts.path()) {
    if (e.motion != Motion::Slide) return;
    if (!facts.turns(e.freedom)) {
      q[e.freedom] = p[e.axis] / e.factor;
    } else if (e.factor != 0) {
      const double turn = 2 * std::numbers::pi;
      q[e.freedom] += turn * std::round((p[e.axis] / e.factor - q[e.freedom]) / turn);
    }
  }
}

}  // namespace

Pose Facts::pose(const double* q) const {
  if (!slides_first() || turning() == Turning::Other) {
    const Walk at(*this, q, nullptr);
    return {normalized(Quat(at.R)), at.p};
  }
  Pose out;
  bool turned = false;
  for (const Element& e : path()) {
    const double x = e.motion == Motion::Ball ? 0 : e.factor * q[e.freedom];
    const double* c = q + e.freedom;
    switch (e.motion) {
      case Motion::Slide: out.p[e.axis] += x; break;
      case Motion::Turn: out.q = turned ? out.q * about(e.axis, x) : about(e.axis, x); break;
      case Motion::Ball: out.q = normalized(Quat(c[0], c[1], c[2], c[3])); break;
    }
    turned = turned || e.motion == Motion::Turn;
  }
  return out;
}

void Facts::measure(const Pose& X_FM, double* q) const {
  for (int k = 0; k < nq(); ++k) q[k] = 0;
  if (ball() >= 0) q[ball()] = 1;
  measure_turns(*this, X_FM.q, q);
  if (slides_first() && turning() != Turning::Other) {
    measure_slides(*this, X_FM.p, q);
    return;
  }
  // Slides enter p linearly, once the turns are known. One that shares its freedom with a turn tells its number of turns.
  const Walk turned(*this, q, nullptr);
  Vec3 left = X_FM.p - turned.p;
  const PathRows<double> at(*this, turned);
  for (int k = 0; k < nv(); ++k)
    if (!turns(k)) q[k] = at.dual_linear[static_cast<std::size_t>(k)].dot(left);
  for (const Element& e : path()) {
    if (e.motion != Motion::Slide || !turns(e.freedom)) continue;
    left = X_FM.p - Walk(*this, q, nullptr).p;
    double factor = 0;
    for (const Element& t : path())
      if (t.motion == Motion::Turn && t.freedom == e.freedom) factor += t.factor;
    const double turn = 2 * std::numbers::pi / factor;
    q[e.freedom] += turn * std::round(left.dot(turned.R.col(e.axis)) / (e.factor * turn));
  }
}

void Facts::motion(const double* q, Columns& S) const {
  if (steady_)
    S = motion_;
  else
    Walk(*this, q, nullptr).columns(*this, S);
}

Vec6 Facts::bias(const double* q, const double* v) const {
  Vec6 out = Vec6::Zero();
  if (steady_) return out;
  const Walk at(*this, q, v);
  out << at.alpha, at.a;
  return out;
}

void Facts::rows(const double* q, Rows& C) const {
  if (steady_)
    C = rows_;
  else
    PathRows<double>(*this, Walk(*this, q, nullptr)).matrix(C);
}

void Facts::dual(const double* q, Columns& D) const {
  if (steady_)
    D = dual_;
  else
    PathRows<double>(*this, Walk(*this, q, nullptr)).duals(*this, D);
}

}  // namespace invar
