// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/geom/vector.hpp"

namespace invar {

/// Velocity of a frame: angular rate and velocity of the frame's origin. There is no norm of a twist: its parts have different
/// units.
struct Twist {
  Vec3 angular = Vec3::Zero();  ///< rad/s
  Vec3 linear = Vec3::Zero();   ///< m/s

  Twist& operator+=(const Twist& o) {
    angular += o.angular, linear += o.linear;
    return *this;
  }
  friend Twist operator+(Twist a, const Twist& b) { return a += b; }
  friend Twist operator-(const Twist& a, const Twist& b) { return {a.angular - b.angular, a.linear - b.linear}; }
  friend Twist operator*(double s, const Twist& a) { return {s * a.angular, s * a.linear}; }
};

/// Moment and force; the moment is about the point that the name says (F_B_W: about B's origin, components of W).
struct Wrench {
  Vec3 moment = Vec3::Zero();  ///< N m
  Vec3 force = Vec3::Zero();   ///< N

  Wrench& operator+=(const Wrench& o) {
    moment += o.moment, force += o.force;
    return *this;
  }
  Wrench& operator-=(const Wrench& o) {
    moment -= o.moment, force -= o.force;
    return *this;
  }
  friend Wrench operator+(Wrench a, const Wrench& b) { return a += b; }
  friend Wrench operator-(Wrench a, const Wrench& b) { return a -= b; }
  friend Wrench operator-(const Wrench& a) { return {-a.moment, -a.force}; }
  friend Wrench operator*(double s, const Wrench& a) { return {s * a.moment, s * a.force}; }

  /// The same wrench about another point; `arm` goes from the new point to the old one.
  Wrench about(const Vec3& arm) const { return {moment + arm.cross(force), force}; }
};

/// Angular and linear momentum; the angular part is about the point that the name says.
struct Momentum {
  Vec3 angular = Vec3::Zero();  ///< N m s
  Vec3 linear = Vec3::Zero();   ///< N s
};

/// The only pairing of a wrench with a twist: power, W. Both about the same point and in the same components.
inline double power(const Wrench& F, const Twist& V) { return F.moment.dot(V.angular) + F.force.dot(V.linear); }

}  // namespace invar
