// SPDX-License-Identifier: Apache-2.0
// Where Newton starts: unknowns and impulses of earlier steps with the same place in the pattern, extrapolated.
#include <algorithm>

#include "invar/mech/cayley/tree.hpp"

namespace invar::cayley {
namespace {

// Polynomial extrapolation over equal steps.
template <class Ring>
void extrapolate(const Ring& past, int latest, int known, std::vector<double>& out) {
  static constexpr double kWeights[5][4] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {2, -1, 0, 0}, {3, -3, 1, 0}, {4, -6, 4, -1}};
  const double* w = kWeights[known];
  const auto of = [&](int k) { return past[static_cast<std::size_t>((latest + k) & 3)].data(); };
  const double *a = of(0), *b = of(1), *c = of(2), *d = of(3);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = w[0] * a[i] + w[1] * b[i] + w[2] * c[i] + w[3] * d[i];
}

}  // namespace

template <class G>
void Tree<G>::predict(bool again) {
  const Past& past = past_[stage_];
  if (!again) {
    extrapolate(past.unknowns, past.latest, past.known, guess_);
    // Rows that depend on others never carried anything: when others are taken, all is forgotten.
    extrapolate(past.impulses, past.latest, past.known, lambda_);
  }
  if (!pins_.empty()) return;
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    Slot<G>& b = slots_[i];
    if constexpr (G::A == 3)
      b.pi0 = b.R0 * (b.J * b.W0);
    else
      b.pi0 = b.J * b.W0;
  }
  set_unknowns();
}

template <class G>
void Tree<G>::set_unknowns() {
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    Slot<G>& b = slots_[i];
    const double* u = guess_.data() + b.unknown;
    switch (b.hang) {
      case Hang::Ground: break;
      case Hang::Ball: b.w = Eigen::Map<const Ang>(u); break;
      case Hang::Free:
        b.v = Eigen::Map<const Lin>(u);
        b.w = Eigen::Map<const Ang>(u + G::L);
        break;
      default: b.s = *u;
    }
  }
}

// The rates and impulses of the last step, as they are.
template <class G>
void Tree<G>::repeat() {
  const Past& past = past_[stage_];
  extrapolate(past.unknowns, past.latest, 1, guess_);
  extrapolate(past.impulses, past.latest, 1, lambda_);
  set_unknowns();
}

template <class G>
void Tree<G>::recall(int stage) {
  stage_ = stage % kStages;
}

template <class G>
void Tree<G>::forget() {
  for (Past& past : past_) past.known = 0;
}

template <class G>
void Tree<G>::remember() {
  Past& past = past_[stage_];
  past.latest = (past.latest + 3) & 3;
  past.known = std::min(past.known + 1, 4);
  std::copy(lambda_.begin(), lambda_.end(), past.impulses[past.latest].begin());
  copy_unknowns(past.unknowns[past.latest].data());
}

template <class G>
void Tree<G>::copy_unknowns(double* out) const {
  if (!pins_.empty()) return pins_.rates(out);
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    const Slot<G>& b = slots_[i];
    double* u = out + b.unknown;
    switch (b.hang) {
      case Hang::Ground: break;
      case Hang::Ball: std::copy(b.w.data(), b.w.data() + G::A, u); break;
      case Hang::Free:
        std::copy(b.v.data(), b.v.data() + G::L, u);
        std::copy(b.w.data(), b.w.data() + G::A, u + G::L);
        break;
      default: *u = b.s;
    }
  }
}

#define INVAR_MEMBERS(G)                 \
  template void Tree<G>::predict(bool);  \
  template void Tree<G>::recall(int);    \
  template void Tree<G>::forget();       \
  template void Tree<G>::remember();     \
  template void Tree<G>::set_unknowns(); \
  template void Tree<G>::repeat();       \
  template void Tree<G>::copy_unknowns(double*) const;
INVAR_MEMBERS(InSpace)
INVAR_MEMBERS(InPlane)
#undef INVAR_MEMBERS

}  // namespace invar::cayley
