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

/// How far two neighbouring points of a tendon are apart, the k-th from the one before it, and how fast they move apart.
Vec3 segment_of(const Model& model, const Tendon& tendon, std::size_t k, const Bodies& bodies);
Vec3 segment_rate_of(const Model& model, const Tendon& tendon, std::size_t k, const Bodies& bodies);

/// Adds what all tendons do to the bodies, about their centres of mass, and the power that their dampers take, W, to
/// `dissipation`. No heap. Laws: nothing is added to the momenta of the whole; power of the port = -d/dt tendon_energy -
/// dissipation; dissipation is never negative.
void add_tendons(const Model& model, const Bodies& bodies, Port& port, double& dissipation);

/// Energy stored in all tendons, J.
double tendon_energy(const Model& model, const Bodies& bodies);

}  // namespace invar
