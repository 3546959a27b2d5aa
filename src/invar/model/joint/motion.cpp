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

}  // namespace

Pose pose(const Facts& facts, const double* q) {
  const Walk at(facts, q, nullptr);
  return {normalized(Quat(at.R)), at.p};
}

void measure(const Facts& facts, const Pose& X_FM, double* q) {
  for (int k = 0; k < facts.nq(); ++k) q[k] = 0;
  if (facts.ball() >= 0) q[facts.ball()] = 1;
  measure_turns(facts, X_FM.q, q);
  // Slides enter p linearly, once the turns are known. One that shares its freedom with a turn tells its number of turns.
  const Walk turned(facts, q, nullptr);
  Vec3 left = X_FM.p - turned.p;
  const PathRows<double> at(facts, turned);
  for (int k = 0; k < facts.nv(); ++k)
    if (!facts.turns(k)) q[k] = at.dual_linear[static_cast<std::size_t>(k)].dot(left);
  for (const Element& e : facts.path()) {
    if (e.motion != Motion::Slide || !facts.turns(e.freedom)) continue;
    left = X_FM.p - Walk(facts, q, nullptr).p;
    double factor = 0;
    for (const Element& t : facts.path())
      if (t.motion == Motion::Turn && t.freedom == e.freedom) factor += t.factor;
    const double turn = 2 * std::numbers::pi / factor;
    q[e.freedom] += turn * std::round(left.dot(turned.R.col(e.axis)) / (e.factor * turn));
  }
}

void motion(const Facts& facts, const double* q, Columns& S) {
  const Walk at(facts, q, nullptr);
  S.resize(6, facts.nv());
  for (int k = 0; k < facts.nv(); ++k)
    S.col(k) << at.angular[static_cast<std::size_t>(k)], at.linear[static_cast<std::size_t>(k)];
}

Vec6 bias(const Facts& facts, const double* q, const double* v) {
  const Walk at(facts, q, v);
  Vec6 out;
  out << at.alpha, at.a;
  return out;
}

void rows(const Facts& facts, const double* q, Rows& C) {
  if (!facts.has_path()) {
    C.resize(0, 6);
    return;
  }
  const PathRows<double> at(facts, Walk(facts, q, nullptr));
  C.resize(at.rows, 6);
  for (int i = 0; i < at.rows; ++i)
    C.row(i) << at.row_angular[static_cast<std::size_t>(i)].transpose(), at.row_linear[static_cast<std::size_t>(i)].transpose();
}

void dual(const Facts& facts, const double* q, Columns& D) {
  const PathRows<double> at(facts, Walk(facts, q, nullptr));
  D.resize(6, facts.nv());
  for (int k = 0; k < facts.nv(); ++k)
    D.col(k) << at.dual_angular[static_cast<std::size_t>(k)], at.dual_linear[static_cast<std::size_t>(k)];
}

}  // namespace invar
