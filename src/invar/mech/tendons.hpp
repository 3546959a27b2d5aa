// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/bodies.hpp"

namespace invar {

/// A tendon at one state.
struct Pull {
  double length = 0;   ///< m
  double rate = 0;     ///< m/s
  double stretch = 0;  ///< m; length less rest
  double tension = 0;  ///< N
};

/// Length, rate and tension of a tendon. Neighbouring points that coincide pull in no direction.
Pull pull_of(const Model& model, const Tendon& tendon, const Bodies& bodies);

/// The first tendon under tension that has no direction, neighbouring points of it coinciding but for 1e-9 of the model's length;
/// -1: none. Its force there is anything between ± its tension.
int tendon_without_direction(const Model& model, const Bodies& bodies);

/// Adds what all tendons do to the bodies, about their centres of mass, and the power that their dampers take, W, to
/// `dissipation`. No heap. Laws: nothing is added to the momenta of the whole; power of the port = -d/dt tendon_energy -
/// dissipation; dissipation is never negative.
void add_tendons(const Model& model, const Bodies& bodies, Port& port, double& dissipation);

/// Energy stored in all tendons, J.
double tendon_energy(const Model& model, const Bodies& bodies);

}  // namespace invar
