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
#include <utility>

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

Composed::Composed(Composition kind, std::unique_ptr<Stepper> inner) : inner_(std::move(inner)) {
  INVAR_CHECK(kind != Composition::None, "a composition has several sub-steps");
  INVAR_CHECK(inner_->order() % 2 == 0 && !inner_->adaptive(), "a symmetric method with steps of a given length is composed");
  double at = 0;
  for (const double share : sub_steps(kind, inner_->order())) ends_.push_back(at += share);
  ends_.back() = 1.0;
}

void Composed::reset(const System& system, const State& x, double h) {
  double longest = 0, from = 0;
  for (const double end : ends_) longest = std::max(longest, std::abs(end - std::exchange(from, end)));
  inner_->reset(system, x, longest * h);
  start_ = end_ = x;
  report_ = {};
}

Verdict Composed::step(System& system, double t, double h, State& x, double& h_done) {
  h_done = 0;
  start_ = x;
  report_ = {};
  double from = 0;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    double done = 0;
    inner_->stage(stage_ * static_cast<int>(ends_.size()) + static_cast<int>(i));
    const Verdict verdict = inner_->step(system, t + from * h, (ends_[i] - from) * h, x, done);
    const StepReport part = inner_->report();
    report_.iterations += part.iterations;
    report_.substeps += part.substeps - 1;
    report_.hamiltonian = part.hamiltonian;
    if (!verdict.ok()) {
      x = start_;
      return verdict;
    }
    from = ends_[i];
  }
  end_ = x;
  h_ = h_done = h;
  return {};
}

void Composed::interpolate(const System&, double theta, State& out) const { between(start_, end_, h_, theta, out); }

}  // namespace invar
