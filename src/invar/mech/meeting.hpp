// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "invar/mech/branch.hpp"

namespace invar {

/// The branches of motion of one group of loops that meet where it is singular.
///
/// With K the kernel of Φ and N the left one, a motion through the configuration has a tangent t = K c with
///   Nᵀ Φ'(t) t = 0,
/// quadratic forms in c. Their directions are candidates; those along which the loops can be closed on both sides, with more rank
/// than in the configuration itself, are branches.
struct Meeting {
  std::size_t group = 0;
  int rank = 0;                  ///< of the group, counted there
  int regular = 0;               ///< on the branches, the largest
  std::vector<Branch> branches;  ///< their q0 and centre are there; t in the sense that was found first
};

/// Nothing where the rank there is that of its surroundings, or no branch leaves. Loops are closed at q. Allocates.
std::optional<Meeting> meeting_at(Loops& loops, std::size_t group, const VecX& q, const VecX& wound);

}  // namespace invar
