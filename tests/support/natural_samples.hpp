// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/natural.hpp"
#include "support/states.hpp"

namespace invar::testing {

/// All kinds of joints that natural coordinates take.
inline std::vector<JointKind> natural_kinds() {
  return {JointKind::Fixed,     JointKind::Revolute,  JointKind::Prismatic, JointKind::Cylindrical,
          JointKind::Universal, JointKind::Spherical, JointKind::Planar,    JointKind::Free};
}

/// Up to `count` tendons between points of random bodies (World among them), of two to four points.
void add_tendons(Random& random, ModelSpec& spec, int count, double stiffness);

/// A mechanism that natural coordinates take: no rotors, screws or couplings. `with_energy`: springs of balls have one
/// (SpringLaw::RotationVector).
Sample natural_sample(std::uint64_t seed, MechanismOptions options, int tendons, bool with_energy = false);

/// A hanging chain of n links in the plane z = 0, drawn: lengths, eccentric centres of mass, tendons over one or more joints,
/// torques, velocities. Hinges are about ±z.
Sample planar_chain(std::uint64_t seed, int n, bool eccentric, int tendons);

}  // namespace invar::testing
