// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/minimal/joint_tree.hpp"

namespace invar {

/// What every body, and the rotors, contribute to the inertia of the first few independent freedoms: diagonals of the Γ_i of
/// Partition. The work is linear in bodies times freedoms, memory in what is asked for.
struct InertiaShares {
  std::vector<std::string> coordinates;  ///< of all independent freedoms
  MatX bodies;                           ///< bodies x freedoms asked for; empty where only the sums are
  VecX rotors, all;                      ///< per freedom asked for: armatures; everything
};

/// At coordinates of the tree, its independent freedoms being chosen, for as many of them. `body_by_body`: whether the shares of
/// bodies are wanted. Law: as the diagonals of Partition::Gamma_parts, rotors and Gamma.
Verdict inertia_shares(const JointTree& tree, const VecX& q, const VecX& wound, Eigen::Index freedoms, bool body_by_body,
                       InertiaShares& out);

}  // namespace invar
