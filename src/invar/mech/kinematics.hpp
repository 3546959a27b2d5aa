// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/bodies.hpp"

namespace invar {

/// Relations between Bodies and joint coordinates. All are free functions of Model and Bodies; none allocates.

/// Pose of M seen from F, as the bodies have it (with whatever gap they have).
Pose joint_pose(const Model& model, int joint, const Bodies& bodies);

/// Twist of M relative to F at the origin of M, components of F.
Twist joint_twist(const Model& model, int joint, const Bodies& bodies);

/// Both at once.
Pose joint_pose(const Model& model, int joint, const Bodies& bodies, Twist& twist);

/// Coordinates and rates of every joint, stacked as in the model. Angles lie in (-pi, pi].
void joint_coordinates(const Model& model, const Bodies& bodies, VecX& q, VecX& v);

/// The same for one joint; q and v must have their full size, the rest of them stays.
void coordinates_of_joint(const Model& model, int joint, const Bodies& bodies, VecX& q, VecX& v);

/// Adds whole turns to the winding coordinates in q so that they are nearest to `wound` (entries per freedom).
void unwind(const Model& model, const VecX& wound, VecX& q);

/// The angle on the turn that is nearest to `wound`.
double nearest_turn(double angle, double wound);

/// Begins the count of turns: the coordinates of all winding freedoms at these bodies, other entries zero, on the turn nearest
/// to `told` (per freedom; NaN: nobody told; empty: none was). Where nobody told, a driven freedom lies on the turn that its
/// coupling asks for, any other within half a turn of zero. Allocates.
VecX wound_at(const Model& model, const Bodies& bodies, const VecX& told);
/// The same where freedoms `in_turn` tell one after the other, after all others: each tells only what couplings with those before
/// it leave open.
VecX wound_at(const Model& model, const Bodies& bodies, const VecX& told, const std::vector<int>& in_turn);

/// Derivatives of the joint rates from body accelerations, stacked as in the model.
void joint_accelerations(const Model& model, const Bodies& bodies, const Accelerations& accelerations, VecX& vdot);
/// The same for one joint: its nv entries.
void acceleration_of_joint(const Model& model, int joint, const Bodies& bodies, const Accelerations& accelerations, double* vdot);

/// How far joint `j` is from being closed: the components of (log of rotation, gap) along its rows, 6 - nv of them.
/// Position level, rad and m; and the same rows on the twist, rad/s and m/s. Screw rows are those of Screw::rows.
using Residual = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 6, 1>;
Residual joint_residual(const Model& model, int joint, const Bodies& bodies);
Residual joint_residual_rate(const Model& model, int joint, const Bodies& bodies);

/// The largest residuals over all joints and couplings; lengths and angles in SI units (m and rad side by side).
struct ConstraintError {
  double position = 0;
  double velocity = 0;
  int joint = -1;  ///< where the position residual is largest; -1 for a coupling or none
};
ConstraintError constraint_error(const Model& model, const Bodies& bodies, const VecX& wound);

/// A coupling's polynomial and its first two derivatives at the driving coordinate q.
struct Driven {
  double value = 0, slope = 0, curvature = 0;
};
Driven driven_by(const Coupling& coupling, double q);
/// The driving coordinate, found from `guess` on, at which the driven one has this value; NaN where none was found.
double driving_of(const Coupling& coupling, double value, double guess);

/// The driving coordinate of every coupling out of all joint coordinates; `out` has one entry per coupling.
void driving_coordinates(const Model& model, const VecX& q, VecX& out);

/// Residual of coupling c (driven coordinate minus polynomial) and of its rate.
double coupling_residual(const Model& model, int coupling, const VecX& q);
double coupling_residual_rate(const Model& model, int coupling, const VecX& q, const VecX& v);

/// Point and axes of a named frame, World.
Pose frame_pose(const Model& model, int frame, const Bodies& bodies);

}  // namespace invar
