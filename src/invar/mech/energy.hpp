// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/bodies.hpp"

namespace invar {

/// Energies, J. Kinetic includes the rotors (armature); potential is that of gravity, zero at the World origin; elastic is
/// that of joint springs, stops and tendons.
struct Energy {
  double kinetic = 0;
  double potential = 0;
  double elastic = 0;
  double total() const { return kinetic + potential + elastic; }
};

/// q, v: joint coordinates and rates as stacked in the model (angles wound).
Energy energy(const Model& model, const Bodies& bodies, const VecX& q, const VecX& v);

/// Momentum of all bodies; angular part about the World origin. Rotors add to energy only.
Momentum momentum(const Model& model, const Bodies& bodies);

/// Angular momentum about the common centre of mass, which moves with the system.
Vec3 angular_momentum_about_com(const Model& model, const Bodies& bodies);

/// Common centre of mass; the origin where all mass is zero.
Vec3 centre_of_mass(const Model& model, const Bodies& bodies);

}  // namespace invar
