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
/// than in the configuration itself, are branches. p independent forms leave a cone of dimension k - p of the k directions of the
/// kernel: single branches where that is one, a continuum of them where it is more.
struct Meeting {
  std::size_t group = 0;
  int rank = 0;                  ///< of the group, counted there
  int regular = 0;               ///< on the branches, the largest
  int rates = 1;                 ///< how many rates it takes to choose, up to finitely many: dimension of the cone
  std::vector<Branch> branches;  ///< their q0 and centre are there; t in the sense that was found first. Of a continuum, examples
  MatX kernel;                   ///< K, scaled freedoms of the group
  std::vector<MatX> forms;       ///< independent ones, of unit norm

  bool continuum() const { return rates > 1 && !branches.empty(); }
  /// How far scaled rates of the group are from all motions through the configuration: the largest |form(c)| / |c|². 0 at rest.
  double off(const VecX& rates_of_group) const;
};

/// Nothing where the rank there is that of its surroundings. `ratios`: rows on the scaled freedoms that shall vanish along the
/// branches (none: all of them are looked for). Loops are closed at q. Allocates.
std::optional<Meeting> meeting_at(Loops& loops, std::size_t group, const VecX& q, const VecX& wound, const MatX& ratios = {});

/// The least σ of a group's rows over all its freedoms, where the loops stand. Freedoms that only gears see count by what they
/// are geared to: a wheel that turns 5000 times as fast as a crank is not held more weakly by its gear.
double least_sigma(const Loops& loops, std::size_t group);

/// Whether a group cannot move at all from q, to second order: its rows leave no direction, or none of those that they leave has
/// Nᵀ Φ'(t) t = 0 (three hinges in line between two pins). Loops are closed at q. Allocates.
bool rigid_at(Loops& loops, std::size_t group, const VecX& q, const VecX& wound);

}  // namespace invar
