// SPDX-License-Identifier: Apache-2.0
//
// A point P at the distance δ along n from the nearest point of the obstacle: U = φ(δ), force gradient φ' n. As P moves with u,
//   δ̇ = n·u,   ṅ = (u - n n·u - e e·u)/δ   with the axis e of a capsule where the nearest point lies within it; ṅ = 0 for a
//   plane.
#include "invar/control/repulsion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace invar {
namespace {

struct Nearest {
  double distance;        // from centre, axis or plane
  Vec3 n;                 // towards the point
  Vec3 e = Vec3::Zero();  // along which the nearest point follows
  bool flat = false;      // n stays
};

Nearest nearest(const Obstacle& o, const Vec3& P) {
  if (o.kind == Obstacle::Kind::HalfSpace) return {o.normal.dot(P - o.a), o.normal, Vec3::Zero(), true};
  Vec3 Q = o.a, e = Vec3::Zero();
  if (o.kind == Obstacle::Kind::Capsule) {
    const Vec3 axis = o.b - o.a;
    const double part = (P - o.a).dot(axis) / axis.squaredNorm();
    Q = o.a + std::clamp(part, 0.0, 1.0) * axis;
    if (part > 0 && part < 1) e = axis.normalized();
  }
  const Vec3 d = P - Q;
  const double distance = d.norm();
  return {distance, distance > 0 ? Vec3(d / distance) : Vec3(Vec3::Zero()), e, false};
}

struct Shape {
  double value, slope, curvature;
};
Shape shape(const Obstacle& o, double distance, double guard) {
  if (o.shape == Obstacle::Shape::Gaussian) {
    const double x = distance / o.width, value = o.strength * std::exp(-0.5 * x * x);
    return {value, -value * x / o.width, value * (x * x - 1) / (o.width * o.width)};
  }
  const double value = o.strength * std::exp(-(distance - o.radius - guard) / o.width);
  return {value, -value / o.width, value / (o.width * o.width)};
}

}  // namespace

double Repulsion::energy(const Bodies& bodies) const {
  double sum = 0;
  for (const GuardedPoint& p : points_) {
    const Vec3 P = body_pose(model_, bodies, p.body) * p.p_BQ;
    for (const Obstacle& o : obstacles_) sum += shape(o, nearest(o, P).distance, p.radius).value;
  }
  return sum;
}

double Repulsion::clearance(const Bodies& bodies) const {
  double least = std::numeric_limits<double>::infinity();
  for (const GuardedPoint& p : points_) {
    const Vec3 P = body_pose(model_, bodies, p.body) * p.p_BQ;
    for (const Obstacle& o : obstacles_) least = std::min(least, nearest(o, P).distance - o.radius - p.radius);
  }
  return least;
}

void Repulsion::add_gradient(const Bodies& bodies, Port& gradient, Port* rate) const {
  for (const GuardedPoint& p : points_) {
    const BodyState& body = bodies[static_cast<std::size_t>(p.body)];
    const Vec3 arm = body.q_WB * (p.p_BQ - model_.bodies()[static_cast<std::size_t>(p.body)].inertia.p_BC);
    const Vec3 P = body.p_WC + arm, arm_rate = body.w_WB.cross(arm), u = body.v_WC + arm_rate;
    for (const Obstacle& o : obstacles_) {
      const Nearest at = nearest(o, P);
      const Shape s = shape(o, at.distance, p.radius);
      const Vec3 f = s.slope * at.n;
      gradient[static_cast<std::size_t>(p.body)] += {arm.cross(f), f};
      if (rate == nullptr) continue;
      Vec3 f_rate = s.curvature * at.n.dot(u) * at.n;
      // Gaussians are smooth at the centre, where slope/distance has a limit and no direction matters.
      if (!at.flat && at.distance > 0) f_rate += (s.slope / at.distance) * (u - at.n.dot(u) * at.n - at.e.dot(u) * at.e);
      (*rate)[static_cast<std::size_t>(p.body)] += {arm_rate.cross(f) + arm.cross(f_rate), f_rate};
    }
  }
}

}  // namespace invar
