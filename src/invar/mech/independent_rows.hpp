// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "invar/mech/rank.hpp"

namespace invar {

/// Where the joint graph counts more rows than squares tell (kDependentRow), rows go on being taken while they stand out of
/// rounding, 1e-16 of the squares times what it enlarges. What is weaker still squares cannot tell.
inline constexpr double kClearOfRounding = 1e-13;

/// Which rows of closures are independent, for every elimination over a spanning tree. at(r, c) holds the products of rows r and
/// c after everything that the joints of the tree hold was taken from them, in a metric in which no freedom is much lighter than
/// others (unit masses at the lengths of bodies; masses with inertia on loan); it is overwritten. size[r] is the square of row r
/// by which its remains are judged, not positive where it is never taken, and weight[r] makes remains of different rows
/// comparable. `taken` holds the rows kept before, which stay unless others are a hundred times stronger, and then the answer.
/// The strongest row goes first. `wanted` is what the joint graph counts (rank_of); 0 where nobody asked it. No heap.
template <class At, class Sizes, class Weights>
void independent_rows(int n, At&& at, const Sizes& size, const Weights& weight, std::vector<char>& taken, int wanted) {
  constexpr char kKept = 1, kNow = 2;
  constexpr double kFaithful = 100;
  for (int round = 0; round < n; ++round) {
    int best = -1;
    double most = 0;
    for (int r = 0; r < n; ++r) {
      const char state = taken[static_cast<std::size_t>(r)];
      if (state == kNow || !(size[r] > 0)) continue;
      const double least = round < wanted ? kClearOfRounding : (state == kKept ? kRowKeptBefore : kDependentRow);
      if (!(at(r, r) > least * size[r])) continue;
      const double strength = (state == kKept ? kFaithful : 1.0) * at(r, r) * weight[r];
      if (strength > most) most = strength, best = r;
    }
    if (best < 0) break;
    taken[static_cast<std::size_t>(best)] = kNow;
    for (int r = 0; r < n; ++r) {
      if (taken[static_cast<std::size_t>(r)] == kNow || !(size[r] > 0)) continue;
      const double factor = at(r, best) / at(best, best);
      if (factor == 0) continue;
      for (int c = 0; c < n; ++c) at(r, c) -= factor * at(best, c);
    }
  }
  for (char& state : taken) state = state == kNow;
}

}  // namespace invar
