// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/base/random.hpp"
#include "invar/mech/bodies.hpp"

namespace invar::testing {

/// Bennett's linkage: three links and the ground, lengths a, b, a, b and twists of neighbouring axes alpha, beta, alpha, beta
/// with sin(alpha)/a = sin(beta)/b. Four hinges that are not parallel, 20 rows of rank 17, mobility 1. Bennett (1903): tan(j1/2)
/// tan(j2/2) = k().
struct Bennett {
  double a = 1, b = 1.5, alpha = 0.5, start = 1.7;
  double beta() const;
  double k() const;
  /// The links with hinges j1 … j4 (the last one joins link 3 and the ground), drawn at j1 = start.
  ModelSpec spec() const;
};
Bennett random_bennett(Random& random);

/// Sarrus' linkage: a platform on two legs of three parallel hinges each, axes of one leg across those of the other. It moves
/// straight up and down: 30 rows of rank 29. Springs at the feet make it swing about `angle` (of the lower links, rad).
ModelSpec sarrus(double angle, double stiffness);

/// IFToMM A02: n windows of uniform rods of 1 m and 1 kg, `about` kg m² about their own axes (0: ideal rods). Mobility 1.
ModelSpec windows(int n, double about);

/// k x k windows of uniform rods of 1 kg in the plane z = 0, between nodes up to 0.2 m beside a grid of 1 m; at a node all rods
/// are hinged to the first one, and the first rod to the ground. Mobility 2 k.
ModelSpec net_of_rods(int k, double about);

/// Four-bar in the plane z = 0 with hinges a (crank), b, c, d (rocker), some `scale` m long. The crank turns all the way round:
/// it and the longest side are shorter together than the two others (Grashof).
ModelSpec crank_rocker(Random& random, double scale);

/// A chain of n hinges about y from the ground.
ModelSpec hinge_chain(int n);

}  // namespace invar::testing
