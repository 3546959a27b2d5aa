// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <vector>

#include "invar/mech/bodies.hpp"

namespace invar {

/// Something to keep away from, fixed in World: a ball, a capsule (the axis from a to b) or the half-space behind a plane.
struct Obstacle {
  enum class Kind { Sphere, Capsule, HalfSpace };
  Kind kind = Kind::Sphere;
  Vec3 a = Vec3::Zero(), b = Vec3::Zero();  ///< centre; ends of the axis; a point of the plane, m
  Vec3 normal = Vec3::UnitZ();              ///< of a half-space, towards the free side
  double radius = 0;                        ///< of ball and capsule, m
  double strength = 1;                      ///< J
  double width = 0.1;                       ///< m; how far it reaches
  /// Gaussian: strength exp(-x²/2 width²) of the distance x from centre, axis or plane. Exponential: strength exp(-x/width) of
  /// the distance from the surface, which pushes inside as well.
  enum class Shape { Gaussian, Exponential };
  Shape shape = Shape::Exponential;
};

/// A point of a body that is kept away, with a ball of some radius about it. A capsule is a few of them.
struct GuardedPoint {
  int body = 0;
  Vec3 p_BQ = Vec3::Zero();
  double radius = 0;
};

/// The potential U = Σ over points and obstacles, its gradient as one wrench per body about the centre of mass (World), and the
/// derivative of that gradient along the motion. No heap. Law: d/dt U = gradient · velocity.
class Repulsion {
 public:
  Repulsion(const Model& model, std::vector<Obstacle> obstacles, std::vector<GuardedPoint> points)
      : model_(model), obstacles_(std::move(obstacles)), points_(std::move(points)) {}

  bool empty() const { return obstacles_.empty() || points_.empty(); }
  double energy(const Bodies& bodies) const;
  /// Adds both; `rate` may be null.
  void add_gradient(const Bodies& bodies, Port& gradient, Port* rate) const;
  /// The least distance between the surfaces of any point and obstacle, m.
  double clearance(const Bodies& bodies) const;

 private:
  const Model& model_;
  std::vector<Obstacle> obstacles_;
  std::vector<GuardedPoint> points_;
};

}  // namespace invar
