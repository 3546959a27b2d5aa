// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "invar/mech/unreduced.hpp"

namespace invar {

/// How the mechanism answers to a unit effort on one freedom of a joint, or to a unit tension of a tendon: the acceleration of
/// that freedom, or of the tendon's length against the tension, from rest: one over the inertia that is felt there, all
/// constraints, couplings and rotors included. One solve of the unreduced equations each. No heap after the first call.
class Response {
 public:
  explicit Response(const Model& model);

  /// The bodies at which answers are asked for; `q`: joint coordinates, turns counted.
  void at(const Bodies& bodies, const VecX& q);
  double of_freedom(int joint, int freedom);  ///< 1/kg or 1/(kg m²); NaN where the equations cannot be solved
  double of_tendon(int tendon);               ///< 1/kg

 private:
  bool solve(const Port* port, const VecX* efforts);

  const Model& model_;
  Unreduced solver_;
  Bodies still_, field_;  // without rates; with accelerations in their place
  Accelerations accelerations_;
  std::vector<Wrench> reactions_;
  Port port_;
  VecX unit_, q_, v_, coupling_q_;
};

/// The fastest rate of λ² + damping A λ + stiffness A = 0, rad/s: the frequency of a spring where it oscillates, the decay
/// where it does not.
inline double fastest_rate(double stiffness, double damping, double response) {
  const double half = 0.5 * damping * response, square = stiffness * response;
  return half * half > square ? half + std::sqrt(half * half - square) : std::sqrt(square);
}

}  // namespace invar
