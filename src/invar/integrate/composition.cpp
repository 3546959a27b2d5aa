// SPDX-License-Identifier: Apache-2.0
//
// A symmetric method of order p (even) errs by C h^(p+1) + O(h^(p+3)) in a step. Sub-steps w_i h with
//   sum w_i = 1,   sum w_i^(p+1) = 0,   w_i = w_n+1-i
// cancel the first term, and what they leave is symmetric again, so of order p + 2 (Yoshida 1990, Suzuki 1990):
//   triple jump   w, 1 - 2w, w           w = 1/(2 - 2^(1/(p+1)))
//   Suzuki        w, w, 1 - 4w, w, w     w = 1/(4 - 4^(1/(p+1)))
#include "invar/integrate/composition.hpp"

#include <algorithm>
#include <cmath>

#include "invar/base/check.hpp"

namespace invar {

const std::vector<std::string>& composition_names() {
  static const std::vector<std::string> names = {"none", "triple_jump", "suzuki"};
  return names;
}

std::vector<double> sub_steps(Composition kind, int order) {
  if (kind == Composition::None) return {1.0};
  const double outer = kind == Composition::TripleJump ? 2 : 4;
  const double w = 1.0 / (outer - std::pow(outer, 1.0 / (order + 1)));
  std::vector<double> shares(static_cast<std::size_t>(outer) + 1, w);
  shares[shares.size() / 2] = 1.0 - outer * w;
  return shares;
}

Composed::Composed(Composition kind, const Factory& inner) {
  INVAR_CHECK(kind != Composition::None, "a composition has several sub-steps");
  auto first = inner();
  INVAR_CHECK(first->order() % 2 == 0 && !first->adaptive(), "a symmetric method with steps of a given length is composed");
  order_ = first->order() + 2;
  double at = 0;
  for (const double share : sub_steps(kind, first->order())) {
    const double from = at;
    at += share;
    stages_.push_back({inner(), from, at});
  }
  stages_.back().to = 1.0;
}

void Composed::reset(const State& x) {
  for (Stage& stage : stages_) stage.inner->reset(x);
  start_ = x;
  report_ = {};
}

Verdict Composed::step(System& system, double t, double h, State& x, double& h_done) {
  h_done = 0;
  start_ = x;
  report_ = {};
  for (Stage& stage : stages_) {
    double done = 0;
    const Verdict verdict = stage.inner->step(system, t + stage.from * h, (stage.to - stage.from) * h, x, done);
    const StepReport part = stage.inner->report();
    report_.iterations += part.iterations;
    report_.substeps += part.substeps - 1;
    report_.hamiltonian = part.hamiltonian;
    if (!verdict.ok()) {
      x = start_;
      return verdict;
    }
  }
  h_done = h;
  return {};
}

// In the first half the first sub-step that reaches theta, in the second half the last one: exact at both ends.
void Composed::interpolate(const System& system, double theta, State& out) const {
  const auto covers = [theta](const Stage& s) { return s.from <= theta && theta <= s.to; };
  const Stage* found = nullptr;
  if (theta <= 0.5)
    found = &*std::find_if(stages_.begin(), stages_.end(), covers);
  else
    found = &*std::find_if(stages_.rbegin(), stages_.rend(), covers);
  found->inner->interpolate(system, (theta - found->from) / (found->to - found->from), out);
}

}  // namespace invar
