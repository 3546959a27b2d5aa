// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/minimal/partition.hpp"

namespace invar {

/// What follows from the matrices of minimal coordinates at one state. n independent freedoms, twists (angular; linear).

/// The efforts on the independent freedoms that, added to what acts, make them accelerate like this: Γ v̇ + h - Q.
VecX inverse_dynamics(const Partition& p, const VecX& vdot);

/// The mixed problem: these independent freedoms (indices into p.coordinates) accelerate as told, the others as they must.
struct DrivenMotion {
  VecX vdot;     ///< of all independent freedoms
  VecX efforts;  ///< on the driven ones, in the order given, added to what acts
};
DrivenMotion driven(const Partition& p, const std::vector<int>& which, const VecX& accelerations);

/// The twist of a named frame in its own axes is J v, its derivative as seen from the frame J v̇ + bias. Frames of the ground
/// rest.
MatX frame_jacobian(const Model& model, const Partition& p, int frame);
Vec6 frame_bias(const Model& model, const Partition& p, int frame);

/// Angular momentum about the common centre of mass and linear momentum are A v; World components, rotors not counted.
MatX centroidal_momentum(const Model& model, const Partition& p);

/// Ten numbers per body, in its body frame B: mass, first moments m p_BC, inertia about B's origin (xx, xy, xz, yy, yz, zz).
VecX inertial_parameters(const Model& model);
/// What these numbers do to Γ v̇ + h - Q(gravity): the regressor Y (n x 10 bodies), Y · inertial_parameters. Rotors not counted.
MatX regressor(const Model& model, const Partition& p, const VecX& vdot);

}  // namespace invar
