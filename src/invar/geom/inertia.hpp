// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "invar/geom/spatial.hpp"

namespace invar {

/// Mass distribution of a rigid body. Mass may be zero and the tensor singular (point mass, ideal rod, massless link).
struct Inertia {
  double mass = 0;           ///< kg
  Vec3 p_BC = Vec3::Zero();  ///< centre of mass in the body frame, m
  Mat3 I_C = Mat3::Zero();   ///< about the centre of mass, body axes, kg m²

  /// About the body frame's origin (parallel axes).
  Mat3 about_origin() const { return I_C + mass * (p_BC.squaredNorm() * Mat3::Identity() - p_BC * p_BC.transpose()); }
};

/// Why these numbers belong to no rigid body (negative mass, not symmetric, not positive semidefinite, breaks the triangle
/// inequality of principal moments, massless with inertia), or an empty string. Tolerance: 1e-9 of the largest moment.
std::string flaw(const Inertia& inertia);

/// Two bodies made one: both given in the same frame and axes.
Inertia together(const Inertia& a, const Inertia& b);

/// Solids of uniform density, about their centre. `axis` is 0, 1, 2 for x, y, z.
Inertia solid_sphere(double mass, double radius);
Inertia solid_box(double mass, const Vec3& size);
Inertia solid_cylinder(double mass, double radius, double length, int axis);
Inertia solid_capsule(double mass, double radius, double length, int axis);  ///< length of the cylindrical part

}  // namespace invar
