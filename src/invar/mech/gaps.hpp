// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/bodies.hpp"
#include "invar/mech/scales.hpp"

namespace invar {

/// How far a joint is open, in numbers that neither units nor size change: angles in rad, displacements in parts of the length of
/// the connected part. The largest over its rows; NaN where one is.
double gap_of_joint(const Model& model, const Scales& scales, int joint, const Bodies& bodies);
/// The same for the residual of a coupling (driven coordinate minus polynomial, or its rate).
double gap_of_coupling(const Model& model, const Scales& scales, int coupling, double residual);

/// How far rows that depend on others where joints are closed may stand out of them at these bodies, as a sine, and how far they
/// may disagree, in parts of the accelerations: a thousand times the largest gap of a joint or coupling of the piece. Stages of a
/// step lie off the constraints; at settled states it is round-off. `coupling_q`: see KktInput.
double noise_of_gaps(const Model& model, const Scales& scales, const Piece& piece, const Bodies& bodies,
                     const VecX* coupling_q = nullptr);

/// Part of the accelerations (those that rotation causes over the length of the part among them) that rows depending on others
/// may disagree by before a state counts as contradictory. Stages of a step lie off the constraints by their own small error, and
/// so do their accelerations; a velocity that belongs to no branch leaves a rest of the size of the accelerations themselves.
inline constexpr double kContradiction = 3e-3;

/// Whether rows that were left out disagree with those that were solved: the one bound, for every elimination. Gaps are looked at
/// only where they may matter.
class Contradiction {
 public:
  /// `accelerations`, m/s²: the largest that the equations ask for, without those that rotation causes.
  Contradiction(const Model& model, const Scales& scales, const Piece& piece, const Bodies& bodies, const VecX* coupling_q,
                double accelerations);
  /// `off`, m/s²: what the motion leaves of a row left out, as a unit row.
  bool proven_by(double off);

 private:
  const Model& model_;
  const Scales& scales_;
  const Piece& piece_;
  const Bodies& bodies_;
  const VecX* coupling_q_;
  double scale_;
  double noise_ = -1;
};

}  // namespace invar
