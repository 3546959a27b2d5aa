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

/// The moment of a spherical joint's spring on the child, components of F, for q_FM; and its energy.
Vec3 spherical_spring_moment(SpringLaw law, const Vec3& stiffness, const Vec3& rest, const Quat& q_FM);
double spherical_spring_energy(SpringLaw law, const Vec3& stiffness, const Vec3& rest, const Quat& q_FM);

}  // namespace invar
