// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Eigen/Geometry>
#include <cmath>

#include "invar/base/alignment.hpp"

namespace invar::cayley {

/// A pivot this small against what it was made of is round-off: the freedom moves nothing that has mass.
inline constexpr double kNoInertia = 1e-13;

/// The two worlds in which a mechanism moves, with the same words, so that one derivation serves both. Linear vectors have L
/// components, angular ones A; a wrench or a twist is stacked (linear, angular), N = L + A.
///   cross(w, r)   velocity w × r            moment(r, f)  r × f           turn(a, b)  a × b of angular vectors
///   arm(r) w = w × r,  armᵀ(r) f = r × f    lever(f) r = r × f            spin(a) b = a × b
struct InSpace {
  static constexpr int L = 3, A = 3, N = 6;
  using Lin = Eigen::Vector3d;
  using Ang = Eigen::Vector3d;
  using Rot = Eigen::Matrix3d;
  using LA = Eigen::Matrix3d;
  using AL = Eigen::Matrix3d;
  using AA = Eigen::Matrix3d;

  static Lin cross(const Ang& w, const Lin& r) { return w.cross(r); }
  static Ang moment(const Lin& r, const Lin& f) { return r.cross(f); }
  static Ang turn(const Ang& a, const Ang& b) { return a.cross(b); }
  static AA spin(const Ang& a) {
    AA m;
    m << 0, -a.z(), a.y(), a.z(), 0, -a.x(), -a.y(), a.x(), 0;
    return m;
  }
  static LA arm(const Lin& r) { return -spin(r); }
  static AL lever(const Lin& f) { return -spin(f); }

  /// (1 - h w/2)^-1 (1 + h w/2) with b = h w/2: the Cayley map.
  static Rot turned(const Ang& b) {
    const double g = 2 / (1 + b.squaredNorm());
    Rot m = g * (b * b.transpose());
    m.diagonal().array() += 1 - g * b.squaredNorm();
    m += g * spin(b);
    return m;
  }
  /// dw = T dψ, dψ = (angle turned at the end)/h, b = h w/2.
  static AA differential(const Ang& b) { return AA::Identity() - spin(b) + b * b.transpose(); }
  /// The axis of a hinge and of a slide, and the axes after a hinge has turned by an angle of cosine c and sine s.
  static Ang hinge_axis(const Rot& R) { return R.col(2); }
  static Lin slide_axis(const Rot& R) { return R.col(2); }
  static Rot hinged(const Rot& R, double c, double s) {
    Rot m;
    m.col(0) = c * R.col(0) + s * R.col(1);
    m.col(1) = c * R.col(1) - s * R.col(0);
    m.col(2) = R.col(2);
    return m;
  }
  /// R as near to a rotation as rounding allows, after products that left it within round-off of one.
  static void tidy(Rot& R) { R = 0.5 * R * (3 * Rot::Identity() - R.transpose() * R).eval(); }
};

struct InPlane {
  static constexpr int L = 2, A = 1, N = 3;
  using Lin = Eigen::Vector2d;
  using Ang = Eigen::Matrix<double, 1, 1>;
  using Rot = Eigen::Matrix2d;
  using LA = Eigen::Matrix<double, 2, 1>;
  using AL = Eigen::Matrix<double, 1, 2>;
  using AA = Eigen::Matrix<double, 1, 1>;

  static Lin cross(const Ang& w, const Lin& r) { return Lin(-w[0] * r.y(), w[0] * r.x()); }
  static Ang moment(const Lin& r, const Lin& f) { return Ang(r.x() * f.y() - r.y() * f.x()); }
  static Ang turn(const Ang&, const Ang&) { return Ang(0.0); }
  static AA spin(const Ang&) { return AA(0.0); }
  static LA arm(const Lin& r) { return LA(-r.y(), r.x()); }
  static AL lever(const Lin& f) { return AL(f.y(), -f.x()); }

  static Rot turned(const Ang& b) {
    const double g = 1 / (1 + b[0] * b[0]), c = (1 - b[0] * b[0]) * g, s = 2 * b[0] * g;
    Rot m;
    m << c, -s, s, c;
    return m;
  }
  static AA differential(const Ang& b) { return AA(1 + b[0] * b[0]); }
  static Ang hinge_axis(const Rot&) { return Ang(1.0); }
  static Lin slide_axis(const Rot& R) { return R.col(0); }
  static Rot hinged(const Rot& R, double c, double s) {
    Rot m;
    m << R(0, 0) * c - R(1, 0) * s, -(R(1, 0) * c + R(0, 0) * s), R(1, 0) * c + R(0, 0) * s, R(0, 0) * c - R(1, 0) * s;
    return m;
  }
  static void tidy(Rot& R) {
    const double g = 0.5 * (3 - R(0, 0) * R(0, 0) - R(1, 0) * R(1, 0));
    const double c = g * R(0, 0), s = g * R(1, 0);
    R << c, -s, s, c;
  }
};

inline constexpr double kTurn = 2 * 3.14159265358979323846;

/// atan(t)/t.
inline double arc_ratio(double t) { return std::abs(t) < 1e-4 ? 1 - t * t / 3 : std::atan(t) / t; }

/// Angular vectors from own axes to World, and back.
template <class G>
typename G::Ang out_of(const typename G::Rot& R, const typename G::Ang& a) {
  if constexpr (G::A == 3)
    return R * a;
  else
    return a;
}
template <class G>
typename G::Ang into(const typename G::Rot& R, const typename G::Ang& a) {
  if constexpr (G::A == 3)
    return R.transpose() * a;
  else
    return a;
}

}  // namespace invar::cayley
