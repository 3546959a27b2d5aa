// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/minimal/derivatives.hpp"

namespace invar {

/// What a point of a mechanism at rest shows to a small force f that is put on it slowly: it moves by C f, held by springs,
/// stops, tendons, gravity and the load, which stays. With K the Hessian of the potential energy in the independent freedoms and
/// J the motion of the point in them, C = J K⁻¹ Jᵀ; the surface f · C f = 1 is the ellipsoid of Fig. 1 in paper C. Where nothing
/// holds a motion of the mechanism K is singular, and the directions in which it takes the point along are free; C is that of the
/// others. Directions in which the point cannot move are rigid. Laws: at an equilibrium the point moves by C f + O(f²); C turns
/// with World; it does not depend on which freedoms are independent.
struct TipStiffness {
  Mat3 compliance = Mat3::Zero();        ///< C, m/N, World
  Vec3 stiffness = Vec3::Zero();         ///< principal, N/m, ascending: negative where unstable, 0: free, infinite: rigid
  Mat3 axes = Mat3::Identity();          ///< their directions, World, columns
  VecX missing;                          ///< what keeps the state from being an equilibrium, on the independent freedoms
  std::vector<std::string> coordinates;  ///< of these
  double largest = 0;                    ///< N; the largest of them, moments over the model's length
};

/// Of the point p_BE of a body, at coordinates q of the tree. Away from an equilibrium it is the stiffness with whatever is
/// missing held on the independent freedoms. Fails as balance_at does. Allocates.
Verdict tip_stiffness(const JointTree& tree, const VecX& q, const VecX& wound, const Load& load, int body, const Vec3& p_BE,
                      TipStiffness& out);

}  // namespace invar
