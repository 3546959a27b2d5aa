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

/// The same between a point of a body and one of a body that it is joined to.
void add_tendons_over_joints(Random& random, ModelSpec& spec, int count, double stiffness);

/// Takes away what steppers over the tree refuse whatever the graph is: springs on free joints and rotors on balls (see
/// why_not_conserving), and the printed spring of paper A, which has no energy.
void leave_out_what_is_refused(ModelSpec& spec);

/// A mechanism that natural coordinates take: no rotors, screws or couplings. `with_energy`: springs of balls have one
/// (SpringLaw::RotationVector).
Sample natural_sample(std::uint64_t seed, MechanismOptions options, int tendons, bool with_energy = false);

/// A tree, or some, of bodies in the plane z = 0 that hang together by hinges alone, with branches, centres of mass off the
/// line of the hinges, `near` tendons over one joint and `far` ones between any bodies.
Sample pin_tree(std::uint64_t seed, int bodies, int near, int far, double stiffness = 20);

/// A hanging chain of n links in the plane z = 0, drawn: lengths, eccentric centres of mass, tendons over one or more joints,
/// torques, velocities. Hinges are about ±z.
Sample planar_chain(std::uint64_t seed, int n, bool eccentric, int tendons);

}  // namespace invar::testing
