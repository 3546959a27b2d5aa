// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/branch.hpp"

namespace invar {

/// Leads coordinates of the tree along a branch through a singular configuration of the loops, where Newton's method over all
/// rows would lose it. For starts: allocates.
class Travel {
 public:
  /// From coordinates where loops are closed and regular.
  /// `independent`: freedoms of the model that the tree keeps.
  Travel(const Model& model, const std::vector<int>& independent, const Bodies& assembled, const VecX& wound);

  enum class Way { Clear, Arrived, Passed };
  /// A singular configuration on the way from q along `ahead` (a tangent of the tree that keeps loops closed to first order, the
  /// whole way to the aim), nearer than `next` of it. Where there is one, q is moved along its branch: to where the freedom
  /// `named` has gone its way `by`, with rates v that give it the rate `rate` (Arrived), or behind the configuration (Passed).
  Way step(const VecX& ahead, double next, int named, double by, double rate, VecX& q, VecX& v);

 private:
  Loops loops_;
  std::vector<int> regular_;  // per group
  VecX wound_;
};

}  // namespace invar
