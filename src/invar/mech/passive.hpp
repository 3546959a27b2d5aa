// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/bodies.hpp"

namespace invar {

/// What the passive parts of all joints do: adds their effort on every freedom to `efforts` and sets `dissipation`, the power
/// lost, W. q, v: joint coordinates (angles wound) and rates as stacked in the model. Nothing is allocated. Laws: springs and
/// stops without damping lose nothing; dampers, friction and stop damping never give power; d/dt elastic = -(efforts · v) -
/// dissipation (SpringLaw::EulerPrinted excepted: it has no energy, which is the point of keeping it).
void add_passive_efforts(const Model& model, const VecX& q, const VecX& v, VecX& efforts, double& dissipation);

/// Energy of springs and stops of all joints, J.
double elastic_energy(const Model& model, const VecX& q);

/// One scalar freedom at q with rate v: effort of spring and stops (with v = 0 the part that has an energy), which adds what
/// the stops lose to `dissipation`; its energy; effort of damper and friction.
double spring_and_stop(const Passive& p, double q, double v, double& dissipation);
double spring_and_stop_energy(const Passive& p, double q);
double damping_and_friction(const Passive& p, double v);

/// Which freedoms of a joint are the rotations of a ball: they start here and are the last ones (nv where there are none).
int ball_start(const Joint& joint);

/// The moment of a spherical joint's spring on the child, components of F, for q_FM; and its energy.
Vec3 spherical_spring_moment(SpringLaw law, const Vec3& stiffness, const Vec3& rest, const Quat& q_FM);
double spherical_spring_energy(SpringLaw law, const Vec3& stiffness, const Vec3& rest, const Quat& q_FM);

/// Secants of elastic energies, for methods that account for energy exactly. Of a spring with stops: (V(q1) - V(q0))/(q1 - q0);
/// and the mean depth of a stop by which its energy changes, (max(0, b)² - max(0, a)²)/(2 (b - a)) for ends a, b along it, of
/// which positive ones are inside. Neither divides by a change that may vanish.
double spring_and_stop_secant(const Passive& p, double q0, double q1);
double depth_secant(double a, double b);
/// Of a spherical joint's spring while q0_FM turns into q1_FM: the moment halfway, in the axes of F; and any moment close to it,
/// corrected along the rotation `turn` of the step, in its own axes, so that its work moment·turn is what the spring gives.
Vec3 spherical_spring_halfway(SpringLaw law, const Vec3& stiffness, const Vec3& rest, const Quat& q0_FM, const Quat& q1_FM);
Vec3 spherical_spring_exact(SpringLaw law, const Vec3& stiffness, const Vec3& rest, const Quat& q0_FM, const Quat& q1_FM,
                            const Vec3& moment, const Vec3& turn);

/// The passive parts of one scalar freedom over a step h from q0 to q1, for methods that account for energy exactly:
///   effort (q1 - q0) = -(change of elastic energy) - h lost,   lost >= 0.
struct PassiveStep {
  double effort = 0;  ///< mean over the step, N m or N
  double slope = 0;   ///< d(effort)/d(q1)
  double lost = 0;    ///< W
};
PassiveStep passive_over_step(const Passive& p, double q0, double q1, double h);

/// The same for the passive parts of a spherical joint: the mean moment on the child in the axes of F, for a mean rate of M in F
/// that turned q0_FM into q1_FM.
struct BallStep {
  Vec3 moment = Vec3::Zero();  ///< N m
  double lost = 0;             ///< W
};
BallStep passive_over_step(const Joint& joint, const Quat& q0_FM, const Quat& q1_FM, const Vec3& rate, double h);

}  // namespace invar
