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

// The least distance between the axis from p to q and centre, axis or plane of an obstacle: of two segments, where the lines
// come closest if that lies on both, otherwise at an end of one.
double distance(const Obstacle& o, const Vec3& p, const Vec3& q) {
  double least = std::min(nearest(o, p).distance, nearest(o, q).distance);
  if (o.kind == Obstacle::Kind::HalfSpace || p == q) return least;
  const auto from_end = [&](const Vec3& end) {
    const double part = (end - p).dot(q - p) / (q - p).squaredNorm();
    least = std::min(least, (p + std::clamp(part, 0.0, 1.0) * (q - p) - end).norm());
  };
  from_end(o.a);
  if (o.kind == Obstacle::Kind::Sphere) return least;
  from_end(o.b);
  const Vec3 u = q - p, v = o.b - o.a, w = p - o.a, n = u.cross(v);
  const double cross = n.squaredNorm();
  if (!(cross > 1e-24 * u.squaredNorm() * v.squaredNorm())) return least;  // along each other: an end is as close
  const double s = v.cross(w).dot(n) / cross, t = u.cross(w).dot(n) / cross;
  if (s > 0 && s < 1 && t > 0 && t < 1) least = std::min(least, std::abs(w.dot(n)) / std::sqrt(cross));
  return least;
}

}  // namespace

Repulsion::Repulsion(const Model& model, std::vector<Obstacle> obstacles, std::vector<Guarded> guarded)
    : model_(model), obstacles_(std::move(obstacles)), guarded_(std::move(guarded)) {
  double width = std::numeric_limits<double>::infinity();
  for (const Obstacle& o : obstacles_) width = std::min(width, o.width);
  for (const Guarded& g : guarded_) {
    const double length = g.axis.norm();
    const int pieces = static_cast<int>(std::ceil(2 * std::min(length / width, kMostWidths)));
    const double piece = pieces > 0 ? length / pieces : 0;
    for (int k = 0; k <= pieces; ++k) {
      const bool end = k == 0 || k == pieces;
      const double share = pieces == 0 ? 1.0 : (end ? 0.5 : 0.0);
      points_.push_back(
          {g.body, g.p_BQ + (pieces > 0 ? double(k) / pieces : 0) * g.axis, g.radius, share, end ? 0.5 * piece : piece});
    }
  }
}

double Repulsion::energy(const Bodies& bodies) const {
  double sum = 0;
  for (const Point& p : points_) {
    const Vec3 P = body_pose(model_, bodies, p.body) * p.p_BQ;
    for (const Obstacle& o : obstacles_) sum += (p.share + p.length / o.width) * shape(o, nearest(o, P).distance, p.radius).value;
  }
  return sum;
}

Repulsion::Clearance Repulsion::clearance(const Bodies& bodies) const {
  Clearance least{std::numeric_limits<double>::infinity(), -1};
  for (const Guarded& g : guarded_) {
    const Pose X = body_pose(model_, bodies, g.body);
    for (const Obstacle& o : obstacles_) {
      const double gap = distance(o, X * g.p_BQ, X * Vec3(g.p_BQ + g.axis)) - o.radius - g.radius;
      if (!std::isnan(least.distance) && !(gap >= least.distance)) least = {gap, g.body};
    }
  }
  return least;
}

void Repulsion::add_gradient(const Bodies& bodies, Port& gradient, Port* rate) const {
  for (const Point& p : points_) {
    const BodyState& body = bodies[static_cast<std::size_t>(p.body)];
    const Vec3 arm = body.q_WB * (p.p_BQ - model_.bodies()[static_cast<std::size_t>(p.body)].inertia.p_BC);
    const Vec3 P = body.p_WC + arm, arm_rate = body.w_WB.cross(arm), u = body.v_WC + arm_rate;
    for (const Obstacle& o : obstacles_) {
      const double share = p.share + p.length / o.width;
      const Nearest at = nearest(o, P);
      const Shape s = shape(o, at.distance, p.radius);
      const Vec3 f = share * s.slope * at.n;
      gradient[static_cast<std::size_t>(p.body)] += {arm.cross(f), f};
      if (rate == nullptr) continue;
      Vec3 f_rate = s.curvature * at.n.dot(u) * at.n;
      // Gaussians are smooth at the centre: slope/distance has a limit there. An exponential has none, and no direction either.
      const double across =
          o.shape == Obstacle::Shape::Gaussian ? -s.value / (o.width * o.width) : (at.distance > 0 ? s.slope / at.distance : 0.0);
      if (!at.flat) f_rate += across * (u - at.n.dot(u) * at.n - at.e.dot(u) * at.e);
      f_rate *= share;
      (*rate)[static_cast<std::size_t>(p.body)] += {arm_rate.cross(f) + arm.cross(f_rate), f_rate};
    }
  }
}

}  // namespace invar
