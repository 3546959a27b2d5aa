// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "invar/mech/front_factor.hpp"
#include "invar/mech/massless.hpp"

namespace invar {

/// One idle direction and the front in which it finds its pivot.
struct IdlePlace {
  int loan = 0;       ///< which LentBody
  int direction = 0;  ///< which of its directions
  int entry = -1;     ///< front of the first kept row that sees it; -1: none does
  int home = -1;      ///< front in which it is eliminated; -1: no row so far holds it
  double pivot = 0;   ///< squared sine between it and the motions that the rows before leave free
};

/// Places idle directions in the fronts of the rows that `chosen` kept, in the neutral metric. A direction enters with the first
/// row that sees it. Behind the rows of a front those with the largest pivots are taken, down to 0.02; the others wait for the
/// parent. At a root 1e-6 will do. What is left over has no home.
std::vector<IdlePlace> place_idle(const FrontFactor& chosen, const KktProblem& problem, const Loans& loans);

/// The structure with one more block per body and front for its idle directions, and the fronts with them in. `places` come back
/// sorted by their rows in the structure; those without a home go to the root of their tree if `all` is set and are left out
/// otherwise.
struct IdleStructure {
  KktStructure structure;
  std::vector<FrontPiece> pieces;
  std::vector<IdlePlace> places;  ///< rows problem.rows() .. of the structure, one each
};
IdleStructure with_idle(const FrontTree& tree, const KktStructure& structure, const Loans& loans,
                        const std::vector<IdlePlace>& places, bool all);

}  // namespace invar
