// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "invar/model/model.hpp"

namespace invar {

/// Tendons as methods with coordinates of their own see them: points in, forces at points out, whatever carries the points. All
/// points of one call are relative to the same origin, which may lie anywhere near them; p[k] belongs to tendon.points[k].
/// Nothing here allocates.

/// Energy, J, and tension, N, of a tendon at a stretch (length less rest), without its damper: none where it hangs slack.
double elastic_energy(const Tendon& tendon, double stretch);
double elastic_tension(const Tendon& tendon, double stretch);

/// Sum of the distances between neighbours, m.
double length_of(std::span<const Vec3> p);

/// The one tension of a tendon: at an instant, or over a step from one configuration to another.
struct Tension {
  double value = 0;    ///< N; what pulls, damper included
  double elastic = 0;  ///< N; the part that changes the energy: over a step elastic (s_1 - s_0) = V_1 - V_0
  double slope = 0;    ///< N/m; derivative of `value` by the length (over a step: by the later one)
  double lost = 0;     ///< J; what the damper takes over the step, never negative
};

/// At an instant, without damper: value = elastic = dV/ds.
Tension tension_at(const Tendon& tendon, std::span<const Vec3> p);
/// Over a step of h (any sign, not zero) from p0 to p1. The damper sees the mean rate (s_1 - s_0)/h; while a tendon that can only
/// pull goes slack or taut it acts for the taut share of the way, so that `value` is continuous. h = infinity: no damper.
Tension tension_over(const Tendon& tendon, std::span<const Vec3> p0, std::span<const Vec3> p1, double h);
/// The same from lengths s0 and s1.
Tension tension_over(const Tendon& tendon, double s0, double s1, double h);

/// Adds the forces of a tendon at an instant: minus the gradient of its energy where tension = tension_at.
void add_forces(double tension, std::span<const Vec3> p, std::span<Vec3> forces);
/// Adds the forces over a step: a discrete gradient. Laws: sum f_k . (p1_k - p0_k) = -tension (s_1 - s_0) exactly;
/// sum f_k = 0; sum (p0_k + p1_k)/2 x f_k = 0; for p1 = p0 the forces at that instant.
void add_forces(double tension, std::span<const Vec3> p0, std::span<const Vec3> p1, std::span<Vec3> forces);

/// How the force of one segment, on its first point, changes with the segments: it is tension u(d), d the segment's vector;
///   d(tension u_k)/d d_j = u_k slope e_j^T + [j = k] bend
/// (over a step: by the later segments). With forces -T u at the far end this is the whole stiffness: one block per segment and a
/// matrix of rank one over all of them.
struct Bend {
  Vec3 u = Vec3::Zero();     ///< direction of the pull
  Vec3 e = Vec3::Zero();     ///< ds/dd
  Mat3 bend = Mat3::Zero();  ///< N/m
};
Bend bend_at(double tension, const Vec3& d);
Bend bend_over(double tension, const Vec3& d0, const Vec3& d1);

/// The stiffness of the elastic energy, d²V/(dp_k dp_l), N/m, at an instant: symmetric, rows and columns 3k .. 3k+2 for point k.
/// `out` has 3 points times 3 points; what it held is overwritten.
void stiffness_of(const Tendon& tendon, std::span<const Vec3> p, Eigen::Ref<MatX> out);

}  // namespace invar
