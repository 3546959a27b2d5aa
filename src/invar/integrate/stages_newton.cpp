// SPDX-License-Identifier: Apache-2.0
//
// Newton's method for the equations of stages.cpp. With a matrix of another step increments shrink in a ratio, not quadratically;
// what the last one leaves has the same sense in every step, so it has to be far below rounding.
#include <algorithm>
#include <cmath>

#include "invar/integrate/stages.hpp"

namespace invar {
namespace {

constexpr int kMaxIterations = 30;
constexpr double kResting = 1e-9;    // lengths of the model per step
constexpr double kLeftOver = 1e-12;  // of speeds over lengths
constexpr double kGap = 1e-12;       // of lengths, and of their squares
constexpr double kShare = 1e-4;
// Relative to the speed of the last node: where Newton is near, and what rounding leaves of an increment; and where the next
// increment is not worth its price, because it adds to every step in the same sense.
constexpr double kNear = 1e-8, kRounding = 4e-16, kSettled = 2e-21, kStalled = 1e-13;
// Increments above this part of the speed ask for a matrix of their own, and so do increments that shrink by less than this.
constexpr double kFar = 1e-3, kSlow = 0.05;

}  // namespace

double Stages::speed(const VecX& v) const {
  const int n = c_.per_body(), d = c_.dimension();
  double largest = 0;
  for (int b = 0; b < static_cast<int>(bodies_.size()); ++b) {
    const double here = v.segment(n * b, d).norm() + c_.model().length() * v.segment(n * b + d, n - d).norm();
    if (!(here <= largest)) largest = here;  // NaN comes through
  }
  return largest;
}

// Adds the increments; returns the largest one of velocities.
double Stages::update() {
  const int n = c_.size(), rows = c_.rows();
  double largest = 0;
  for (std::size_t k = 0; k < y_.size(); ++k) before_[k] = y_[k];
  iterated_ = true;
  const auto take = [&](int copy, VecX& to) {
    point_ = rc_.segment(copy * n, n);
    to += point_;
    const double size = speed(point_);
    if (!(size <= largest)) largest = size;
  };
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (options_.stabilised) {
      take(i, y_[k]);
      take(s_ + i, w_[k]);
      gamma_[k] += rr_.segment(i * rows, rows);
      mu_[k] += rr_.segment((s_ + i) * rows, rows);
    } else {
      take(i, w_[k]);
      mu_[k] += rr_.segment(i * rows, rows);
    }
  }
  return largest;
}

// Names the body whose equations are farthest from being met.
Verdict Stages::failed(Status status) const {
  Verdict verdict{status, -1, -1, 0};
  const int n = c_.per_body();
  for (int i = 0; i < s_; ++i)
    for (int b = 0; b < static_cast<int>(bodies_.size()); ++b) {
      const double here = rc_.segment((dynamics_ + i) * c_.size() + n * b, n).norm();
      if (verdict.body >= 0 && here <= verdict.value) continue;
      const int node = newton_.tree().node_of_body[static_cast<std::size_t>(b)];
      verdict.body = b, verdict.joint = newton_.tree().nodes[static_cast<std::size_t>(node)].joint, verdict.value = here;
    }
  return verdict;
}

// Decides which closure rows take part; a row that is left out carries nothing, whatever it carried before.
void Stages::choose_rows(const State& x) {
  if (newton_.closure_rows() == 0) return;
  chooser_.choose(x.q);
  newton_.use(chooser_);
  for (std::size_t k = 0; k < mu_.size(); ++k)
    for (int r = 0; r < c_.rows(); ++r)
      if (!newton_.active(r)) mu_[k][r] = gamma_[k][r] = 0;
}

// What an increment says, `size` in velocities. The next one would be smaller in the ratio of the last ones; one ratio is not
// enough where slopes are left out of the matrix: friction may make it small by chance. Ratios of increments that rounding makes
// say nothing: there the part that is still to come is expected to shrink as it did before.
Stages::Advice Stages::judge(double size, Search& s) {
  if (known_ == 0 && s.count == 1) s.scale = std::max(s.scale, size);  // from rest: what the forces make of one step
  const double last = s.last, ratio = size / last;
  const bool first = s.count == 1, measured = !first && (last > kStalled * s.scale || contraction_ == 0);
  s.last = size;
  if (measured) {
    contraction_ = s.exact ? ratio : std::max(ratio, s.ratio);
    s.ratio = ratio;
  }
  s.expected = first || measured ? size : std::min(size, contraction_ * s.expected);
  if (size <= (contraction_ == 0 ? kRounding : 0) * s.scale) return Advice::Done;
  const double near = measured ? kNear : kStalled;
  if (contraction_ > 0 && size <= near * s.scale && contraction_ * s.expected <= kSettled * s.scale) return Advice::Done;
  if (first) return size > kFar * s.scale ? Advice::Renew : Advice::GoOn;
  if (size > 2 * last && size > kFar * s.scale && s.own) return Advice::Fail;
  if (contraction_ <= kSlow) return Advice::GoOn;
  if (size > kStalled * s.scale) return Advice::Renew;
  if (size <= 0.7 * last) return Advice::GoOn;
  return s.own ? Advice::Done : Advice::Renew;
}

// Newton's method with one matrix for as long as increments shrink quickly, over many steps where motion is smooth.
Verdict Stages::iterate(System& system, double t, const State& x, const VecX& carry_x, const VecX& carry_v) {
  predict(h_, x);
  iterated_ = false;
  const NaturalForces& forces = natural_.forces();
  Search search;
  search.exact = !forces.elastic() && !forces.dissipative() && !system.acts();
  // A speed that moves nothing by more than a rounding within the step is no scale.
  search.scale = std::max(speed(x.v), kResting * c_.model().length() / std::abs(h_));
  if (known_ > 0) search.scale = std::max(search.scale, speed(past_[static_cast<std::size_t>(latest_)].z[0]));
  while (true) {
    if (!factored_) choose_rows(x);
    place_stages(x, carry_x, carry_v);
    evaluate_forces(system, t, x, carry_x);
    residual();
    if (search.count == kMaxIterations || search.fails) return failed(Status::NotConverged);
    if (!factored_) {
      assemble(x);
      if (const Verdict verdict = newton_.factor(); !verdict.ok()) return verdict;
      factored_ = search.own = true;
      contraction_ = 0;
    }
    newton_.solve(rc_, rr_);
    const double size = update();
    ++iterations_, ++search.count;
    if (!std::isfinite(size)) return failed(Status::NotFinite);
    const Advice advice = judge(size, search);
    if (advice == Advice::Done) break;
    if (advice == Advice::Renew) factored_ = false;
    search.fails = advice == Advice::Fail;
  }
  // What the last increment changed: work and z of the solution itself.
  place_stages(x, carry_x, carry_v);
  evaluate_forces(system, t, x, carry_x);
  return {};
}

Verdict Stages::solve(System& system, double t, double h, const State& x, const VecX& carry_x, const VecX& carry_v) {
  h_ = h;
  iterations_ = 0;
  // What rounding left of G v at the node is taken back by this step; anything larger belongs to the state.
  left_over_.setZero();
  if (options_.stabilised) {
    c_.apply_rows(x.q, x.v, left_over_);
    if (!(left_over_.lpNorm<Eigen::Infinity>() <= kLeftOver * speed(x.v) / c_.model().length())) left_over_.setZero();
  }
  // So is what it left of g, a little in every step: all at once would let the rounding of g itself do work.
  c_.residual(x.q, gap_);
  if (gap_.size() > 0 && gap_.lpNorm<Eigen::Infinity>() <= kGap * (1 + c_.model().length() * c_.model().length()))
    gap_ *= kShare / h_;
  else
    gap_.setZero();
  const bool inherited = factored_;
  Verdict verdict = iterate(system, t, x, carry_x, carry_v);
  if (verdict.ok()) return verdict;
  factored_ = false;
  if (!inherited) return verdict;
  // The matrix of an earlier step may have led astray: once more without it.
  verdict = iterate(system, t, x, carry_x, carry_v);
  if (!verdict.ok()) factored_ = false;
  return verdict;
}

}  // namespace invar
