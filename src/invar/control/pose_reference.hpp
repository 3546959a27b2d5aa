// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/reference.hpp"
#include "invar/geom/pose.hpp"

namespace invar {

/// Where a frame E shall be, and how it moves there: World components, exact first and second derivatives by time.
/// Law: dq/dt = 1/2 (0, w) q, dw/dt = alpha, dp/dt = v, dv/dt = a.
struct PoseJet {
  Vec3 p = Vec3::Zero();      ///< m
  Vec3 v = Vec3::Zero();      ///< m/s
  Vec3 a = Vec3::Zero();      ///< m/s²
  Quat q = Quat::Identity();  ///< q_WE
  Vec3 w = Vec3::Zero();      ///< rad/s
  Vec3 alpha = Vec3::Zero();  ///< rad/s²
};

/// One reference per component, m.
struct Components {
  Reference x = Constant{0}, y = Constant{0}, z = Constant{0};
};

/// A circle about an axis: centre + radius (cos f e1 + sin f e2), where e1 is the unit vector nearest to `start` square to the
/// normal, e2 = normal × e1, and f the angle, rad; 2 pi t / period is a polynomial. The normal need not be of unit length.
struct Circle {
  Vec3 centre = Vec3::Zero();   ///< m
  Vec3 normal = Vec3::UnitZ();  ///< seen against it the circle is run through counter-clockwise
  double radius = 1;            ///< m
  Reference angle = Constant{0};
  Vec3 start = Vec3::UnitX();
};

/// centre_k + amplitudes_k sin(2 pi frequencies_k t + phases_k) in each component k.
struct Lissajous {
  Vec3 centre = Vec3::Zero();       ///< m
  Vec3 amplitudes = Vec3::Zero();   ///< m
  Vec3 frequencies = Vec3::Zero();  ///< Hz
  Vec3 phases = Vec3::Zero();       ///< rad
};

using PositionReference = std::variant<Components, Circle, Lissajous>;

/// exp(f1(t) u1) exp(f2(t) u2) ... q0: turns about axes, each fixed in the frame that those before it have turned; u_k need not
/// be of unit length. Without turns the attitude q0.
struct Rotations {
  struct Turn {
    Vec3 axis = Vec3::UnitZ();
    Reference angle = Constant{0};  ///< rad
  };
  std::vector<Turn> turns;
  Quat q0 = Quat::Identity();
};

/// Attitudes at times, at rest in each; from one to the next about the axis that joins them by the shorter way, with minimum
/// jerk; the first and the last attitude outside. The sign of the quaternion is continuous, too. Events: all times.
class AttitudeWaypoints {
 public:
  /// One unit quaternion per time. Allocates.
  AttitudeWaypoints(std::vector<double> times, std::vector<Quat> attitudes);

  const std::vector<double>& times() const { return times_; }
  const std::vector<Quat>& attitudes() const { return attitudes_; }  ///< each on the side of the one before
  const std::vector<Vec3>& ways() const { return ways_; }            ///< between them, in axes of the first of two, rad

 private:
  std::vector<double> times_;
  std::vector<Quat> attitudes_;
  std::vector<Vec3> ways_;
};

using AttitudeReference = std::variant<Rotations, AttitudeWaypoints>;

/// A position and an attitude, described in a frame A that rests in World.
struct PoseReference {
  PositionReference position;
  AttitudeReference attitude;
  Pose X_WA;
};

/// No heap. The reference must have no flaw.
PoseJet jet(const PoseReference& reference, Instant at);

/// The first event of any of its parts strictly after t, or infinity.
double next_event(const PoseReference& reference, double t);

/// Why nothing can follow this (a flaw of a part, a circle without a plane, attitudes half a turn apart, between which there is
/// no shorter way), or an empty string.
std::string flaw(const PoseReference& reference);

/// Straight lines between points, at rest in each, with minimum jerk.
Components through_points(const std::vector<double>& times, const std::vector<Vec3>& points);

/// Once around a circle in every period (s).
Signal turning(double period);

}  // namespace invar
