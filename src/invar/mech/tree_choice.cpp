// SPDX-License-Identifier: Apache-2.0
//
// Which closure rows are kept where some depend on others. Stages of a step lie off the constraints by their curvature h², and
// dependent rows contradict each other there by that over the sine between the rows kept. So the sine is that of geometry, Φ over
// the freedoms of the tree (a light body makes rows look parallel in the inertia metric, which are not), and the choice is made
// at settled states, where all choices agree: others at every stage would make accelerations jump within a step.
//   Φ_rf: the wrench of row r, carried inwards from its ends, on freedom f;   G = Φ Φᵀ, angles over the length of the part.
#include <algorithm>

#include "invar/mech/tree_store.hpp"

namespace invar {

using kernel::Hang;
using Link = kernel::Link<V>;
using Work = kernel::Work<V>;
using Column = kernel::Column<V>;

namespace {

constexpr double kRotor = 1e6;  // a row with an inertia of its own depends on nothing: those go first

}  // namespace

void TreeSolver::add_to_gram(int slot, int freedom, bool angular) {
  Store& s = *store_;
  const Link& k = s.links[slot];
  const double length = scales_.length_at(k.body), scale = angular ? 1 / (length * length) : 1.0;
  const auto* entries = s.entries.data();
  for (int a = k.column; a < k.column + k.columns; ++a)
    for (int b = k.column; b < k.column + k.columns; ++b)
      s.gram[static_cast<std::size_t>(s.columns[a].id) * rows_ + s.columns[b].id] +=
          scale * entries[3 * a + freedom] * entries[3 * b + freedom];
}

// Φ of the freedoms of one link, three at a time: `along` of every column that passes it.
template <class Along>
void TreeSolver::see_freedoms(int slot, int freedoms, Along&& along) {
  Store& s = *store_;
  const Link& k = s.links[slot];
  for (int c = k.column; c < k.column + k.columns; ++c)
    for (int f = 0; f < freedoms; ++f) s.entries[static_cast<std::size_t>(3 * c + f)] = along(c, f);
}

void TreeSolver::fill_gram() {
  Store& s = *store_;
  std::fill(s.gram.begin(), s.gram.end(), 0.0);
  std::fill(s.carried.begin(), s.carried.end(), RowStart{});
  for (const RowStart& start : s.starts) s.carried[start.column] = start;
  const auto part = [](const V& v, int i) { return i == 0 ? first(v) : (i == 1 ? second(v) : third(v)); };
  for (int i = static_cast<int>(s.links.size()) - 1; i > 0; --i) {
    const Link& k = s.links[i];
    const Work& x = s.work[i];
    if (k.columns == 0) continue;
    switch (k.hang) {
      case Hang::Revolute:
        see_freedoms(i, 1, [&](int c, int) { return dot(x.u, s.carried[c].n) - (k.driven ? s.columns[c].t[0] : 0.0); });
        add_to_gram(i, 0, true);
        break;
      case Hang::Ball:
      case Hang::Root:
        see_freedoms(i, 3, [&](int c, int f) { return part(s.carried[c].n, f); });
        for (int f = 0; f < 3; ++f) add_to_gram(i, f, true);
        if (k.hang == Hang::Ball) break;
        see_freedoms(i, 3, [&](int c, int f) { return part(s.carried[c].f, f); });
        for (int f = 0; f < 3; ++f) add_to_gram(i, f, false);
        break;
      case Hang::Serial:
        see_freedoms(i, k.freedoms, [&](int c, int f) {
          const kernel::Freedom<V>& q = s.freedoms[k.freedom + f];
          return dot(q.sw, s.carried[c].n) + dot(q.sv, s.carried[c].f) - (k.driven ? s.columns[c].t[f] : 0.0);
        });
        for (int f = 0; f < k.freedoms; ++f) add_to_gram(i, f, s.freedoms[k.freedom + f].is_angular);
        break;
      case Hang::Fixed: break;
    }
    for (int c = k.column; c < k.column + k.columns; ++c)
      if (const int up = s.columns[c].up; up >= 0) {
        s.carried[up].f += s.carried[c].f;
        s.carried[up].n += s.carried[c].n + cross(x.r, s.carried[c].f);
      }
  }
  for (const Closure& c : s.closures)
    if (c.sort == Closure::Sort::Rotor) s.gram[static_cast<std::size_t>(c.row) * (rows_ + 1)] += kRotor;
}

// The strongest row first; each takes its share from the others.
void TreeSolver::choose_rows() {
  Store& s = *store_;
  fill_gram();
  const auto at = [&](int r, int c) -> double& { return s.gram[static_cast<std::size_t>(r) * rows_ + c]; };
  chosen_ = 0;
  while (chosen_ < wanted_rank_) {
    int best = -1;
    const auto taken = [&](int r) {
      return std::find(s.chosen.begin(), s.chosen.begin() + chosen_, r) != s.chosen.begin() + chosen_;
    };
    for (int r = 0; r < rows_; ++r)
      if (!taken(r) && at(r, r) > 0 && (best < 0 || at(r, r) > (1 + kTie) * at(best, best))) best = r;
    if (best < 0) return;
    s.chosen[chosen_++] = best;
    for (int r = 0; r < rows_; ++r) {
      if (taken(r)) continue;
      const double factor = at(r, best) / at(best, best);
      for (int c = 0; c < rows_; ++c) at(r, c) -= factor * at(best, c);
    }
  }
}

}  // namespace invar
