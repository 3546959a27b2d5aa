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

/// A ball or a capsule on a body that is kept away: the ends of its axis are p_BQ and p_BQ + axis.
struct Guarded {
  int body = 0;
  Vec3 p_BQ = Vec3::Zero();
  double radius = 0;
  Vec3 axis = Vec3::Zero();  ///< zero: a ball
};

/// The potential U over guarded shapes and obstacles, its gradient as one wrench per body about the centre of mass (World), and
/// the derivative of that gradient along the motion. Of a ball an obstacle asks φ at its centre, of a capsule of length L
///   ½ φ(one end) + ½ φ(other end) + ∫ φ ds / width,
/// by trapezoids no wider than half the width: smooth wherever the capsule touches, and that of a ball for L = 0.
/// No heap after construction. Law: d/dt U = gradient · velocity.
class Repulsion {
 public:
  /// Capsules longer than this times the width are not divided further.
  static constexpr double kMostWidths = 128;

  Repulsion(const Model& model, std::vector<Obstacle> obstacles, std::vector<Guarded> guarded);

  bool empty() const { return obstacles_.empty() || guarded_.empty(); }
  const std::vector<Obstacle>& obstacles() const { return obstacles_; }
  double energy(const Bodies& bodies) const;
  /// Adds both; `rate` may be null.
  void add_gradient(const Bodies& bodies, Port& gradient, Port* rate) const;

  /// The least distance between the surfaces of any guarded shape and any obstacle, m, negative inside; and the body.
  struct Clearance {
    double distance;
    int body;
  };
  Clearance clearance(const Bodies& bodies) const;

 private:
  struct Point {
    int body;
    Vec3 p_BQ;
    double radius;
    double share;   // of φ
    double length;  // of the axis that it stands for, m
  };

  const Model& model_;
  std::vector<Obstacle> obstacles_;
  std::vector<Guarded> guarded_;
  std::vector<Point> points_;
};

}  // namespace invar
