// SPDX-License-Identifier: Apache-2.0
#include "invar/geom/inertia.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <numbers>

namespace invar {

std::string flaw(const Inertia& inertia) {
  if (!std::isfinite(inertia.mass) || !inertia.p_BC.allFinite() || !inertia.I_C.allFinite())
    return "mass properties are not finite numbers";
  if (inertia.mass < 0) return "mass is negative";
  const double size = inertia.I_C.cwiseAbs().maxCoeff();
  const double tolerance = 1e-9 * size;
  if ((inertia.I_C - inertia.I_C.transpose()).cwiseAbs().maxCoeff() > tolerance) return "inertia is not symmetric";
  if (inertia.mass == 0 && size > 0) return "a body without mass cannot have inertia";
  const Vec3 e = Eigen::SelfAdjointEigenSolver<Mat3>(inertia.I_C, Eigen::EigenvaluesOnly).eigenvalues();  // ascending
  if (e[0] < -tolerance) return "inertia is not positive semidefinite";
  if (e[0] + e[1] < e[2] - tolerance) return "inertia breaks the triangle inequality of its principal moments";
  return {};
}

// Both tensors moved to the common centre of mass by the parallel axes.
Inertia together(const Inertia& a, const Inertia& b) {
  Inertia out;
  out.mass = a.mass + b.mass;
  out.p_BC = out.mass > 0 ? Vec3((a.mass * a.p_BC + b.mass * b.p_BC) / out.mass) : a.p_BC;
  const auto about = [&out](const Inertia& i) {
    const Vec3 d = i.p_BC - out.p_BC;
    return Mat3(i.I_C + i.mass * (d.squaredNorm() * Mat3::Identity() - d * d.transpose()));
  };
  out.I_C = about(a) + about(b);
  return out;
}

namespace {
Inertia diagonal(double mass, double about_axis, double across, int axis) {
  Inertia i;
  i.mass = mass;
  i.I_C.diagonal().setConstant(across);
  i.I_C(axis, axis) = about_axis;
  return i;
}
}  // namespace

Inertia solid_sphere(double mass, double radius) {
  const double i = 0.4 * mass * radius * radius;
  return diagonal(mass, i, i, 0);
}

Inertia solid_box(double mass, const Vec3& size) {
  Inertia i;
  i.mass = mass;
  const Vec3 s = size.cwiseAbs2();
  i.I_C.diagonal() = mass / 12 * Vec3(s.y() + s.z(), s.x() + s.z(), s.x() + s.y());
  return i;
}

Inertia solid_cylinder(double mass, double radius, double length, int axis) {
  return diagonal(mass, 0.5 * mass * radius * radius, mass * (3 * radius * radius + length * length) / 12, axis);
}

Inertia solid_capsule(double mass, double radius, double length, int axis) {
  // Shares of volume: cylinder r² l, two half spheres 4/3 r³ (times pi).
  const double vc = radius * radius * length;
  const double vs = 4.0 / 3.0 * radius * radius * radius;
  // Without volume it is an ideal rod.
  const double mc = vc + vs > 0 ? mass * vc / (vc + vs) : mass;
  const double ms = mass - mc;
  // Half sphere: centroid 3/8 r from its flat face, transverse moment 83/320 m r² about its own centroid.
  const double arm = 0.5 * length + 0.375 * radius;
  const double across = mc * (3 * radius * radius + length * length) / 12 + ms * (83.0 / 320.0 * radius * radius + arm * arm);
  return diagonal(mass, 0.5 * mc * radius * radius + 0.4 * ms * radius * radius, across, axis);
}

}  // namespace invar
