// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/base/random.hpp"
#include "invar/mech/bodies.hpp"

namespace invar::testing {

/// What kind of mechanism to draw. Everything not mentioned is drawn: axes, frames, mass properties, order of bodies and joints,
/// which of the two bodies of a joint is called its parent.
struct MechanismOptions {
  int bodies = 5;
  int loops = 0;                 ///< joints beyond the tree; each is closed at the drawn configuration
  int redundant = 0;             ///< joints added beside others: the same joint twice, or a second hinge on the same axis
  bool floating = false;         ///< nothing is joined to World (a free joint may be)
  double mass_ratio = 1e3;       ///< largest over smallest mass
  bool massless = false;         ///< some interior links without mass, some ideal rods
  bool passive = true;           ///< springs, damping, friction, stops, armature on some freedoms
  int couplings = 0;             ///< at most so many
  bool locked = true;            ///< some joints are locked
  bool planar = false;           ///< hinges about parallel axes only: every loop has three redundant rows
  double reach = 0.5;            ///< distances of joint points from body origins, m
  std::vector<JointKind> kinds;  ///< to draw from; empty: all nine
};

/// A mechanism and the configuration it was drawn in, at which every joint and coupling holds.
struct Mechanism {
  ModelSpec spec;
  std::vector<Pose> X_WB;                        ///< per body of the spec
  std::vector<std::vector<double>> coordinates;  ///< per joint of the spec, as pose_of takes them
};

Mechanism random_mechanism(Random& random, const MechanismOptions& options);

/// X_FM in the frames of the spec, written from the definition of each kind (not with the joint faces of the library).
Pose pose_of(const JointSpec& joint, const std::vector<double>& q);

Vec3 random_vector(Random& random, double size);  ///< components normal, standard deviation `size`
Vec3 random_unit(Random& random);
Quat random_attitude(Random& random);  ///< uniform
Pose random_pose(Random& random, double size);

/// Positive definite inertia that some body of about this size (m) has; off its origin by about half of it.
Inertia random_inertia(Random& random, double mass, double size);

}  // namespace invar::testing
