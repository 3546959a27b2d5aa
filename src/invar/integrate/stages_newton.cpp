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
constexpr double kResting = 1e-9;    // lengths of a connected part per step
constexpr double kLeftOver = 1e-12;  // of speeds over lengths
constexpr double kGap = 1e-12;       // of lengths, and of their squares
constexpr double kShare = 1e-4;
// Relative to the speed of the last node: where Newton is near, and what rounding leaves of an increment; and where the next
// increment is not worth its price, because it adds to every step in the same sense.
constexpr double kNear = 1e-8, kRounding = 4e-16, kSettled = 2e-21, kStalled = 1e-13;
// Increments above this part of the speed ask for a matrix of their own, and so do increments that shrink by less than this.
constexpr double kFar = 1e-3, kSlow = 0.05;
constexpr double kShortest = 1.0 / 64;  // part of an increment that is tried

}  // namespace

// Adds the increments; returns the largest one of velocities, relative to its connected part. From rest the scale is what the
// forces make of one step.
double Stages::update(bool from_rest) {
  const int n = c_.size(), rows = c_.rows();
  double largest = 0;
  for (std::size_t k = 0; k < y_.size(); ++k) before_[k] = y_[k];
  iterated_ = true;
  const auto take = [&](int copy, VecX& to) {
    point_ = rc_.segment(copy * n, n);
    to += point_;
    if (from_rest) sizes_.raise(point_);
    const double size = sizes_.relative(point_);
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
Verdict Stages::choose_rows(const State& x) {
  if (newton_.closure_rows() == 0) return {};
  if (const Verdict verdict = chooser_.choose(x.q, natural_.mobility().freedoms); !verdict.ok()) return verdict;
  newton_.use(chooser_);
  for (std::size_t k = 0; k < mu_.size(); ++k)
    for (int r = 0; r < c_.rows(); ++r)
      if (!newton_.active(r)) mu_[k][r] = gamma_[k][r] = 0;
  return {};
}

// What an increment says, `size` in velocities. The next one would be smaller in the ratio of the last ones; one ratio is not
// enough where slopes are left out of the matrix: friction may make it small by chance. Ratios of increments that rounding makes
// say nothing: there the part that is still to come is expected to shrink as it did before.
Stages::Advice Stages::judge(double size, Search& s) {
  const double last = s.last, ratio = size / last;
  const bool first = s.count == 1, measured = !first && (last > kStalled || contraction_ == 0);
  s.last = size;
  if (measured) {
    contraction_ = s.exact ? ratio : std::max(ratio, s.ratio);
    s.ratio = ratio;
  }
  s.expected = first || measured ? size : std::min(size, contraction_ * s.expected);
  if (size <= (contraction_ == 0 ? kRounding : 0)) return Advice::Done;
  const double near = measured ? kNear : kStalled;
  if (contraction_ > 0 && size <= near && contraction_ * s.expected <= kSettled) return Advice::Done;
  if (first) return size > kFar ? Advice::Renew : Advice::GoOn;
  if (size > 2 * last && size > kFar && s.own) return Advice::Fail;
  if (contraction_ <= kSlow) return Advice::GoOn;
  if (size > kStalled) return Advice::Renew;
  if (size <= 0.7 * last) return Advice::GoOn;
  return s.own ? Advice::Done : Advice::Renew;
}

// Where increments are measured from: the motion at the start, the last step, and what moves nothing by more than a rounding.
void Stages::set_scales(const State& x) {
  sizes_.restart(kResting / std::abs(h_));
  sizes_.raise(x.v);
  if (known_ > 0) sizes_.raise(past_[static_cast<std::size_t>(latest_)].z[0]);
}

// Newton's method with one matrix for as long as increments shrink quickly, over many steps where motion is smooth.
Verdict Stages::iterate(System& system, double t, const State& x, const VecX& carry_x, const VecX& carry_v) {
  iterated_ = false;
  const NaturalForces& forces = natural_.forces();
  Search search;
  search.exact = !forces.elastic() && !forces.dissipative() && !system.acts();
  set_scales(x);
  while (true) {
    if (const Verdict verdict = factored_ ? Verdict{} : choose_rows(x); !verdict.ok()) return verdict;
    place_stages(x, carry_x, carry_v);
    evaluate_forces(system, t, x, carry_x);
    residual();
    if (search.stalled && only_rounding()) return {};
    if (search.count == kMaxIterations || search.fails) return failed(Status::NotConverged);
    if (!factored_) {
      assemble(x);
      if (const Verdict verdict = newton_.factor(); !verdict.ok()) return verdict;
      factored_ = search.own = true;
      contraction_ = 0;
    }
    newton_.solve(rc_, rr_);
    const double size = update(known_ == 0 && search.count == 0);
    ++iterations_, ++search.count;
    if (!std::isfinite(size)) return failed(Status::NotFinite);
    search.stalled = search.own && search.count > 1 && size > 0.5 * search.last && size <= kNear;
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

// What rounding left of G v at the node is taken back by this step; anything larger belongs to the state. So is what it left of
// g, a little in every step: all at once would let the rounding of g itself do work. Rows are in lengths of their part, and round
// as the positions do from which they are differences.
void Stages::take_back(const State& x) {
  left_over_.setZero();
  if (options_.stabilised) {
    c_.apply_rows(x.q, x.v, left_over_);
    sizes_.measure(x.v);
    for (int r = 0; r < left_over_.size(); ++r) {
      const int part = sizes_.part_of_row(r);
      if (!(std::abs(left_over_[r]) <= kLeftOver * sizes_.last(part) / sizes_.length(part))) left_over_[r] = 0;
    }
  }
  c_.residual(x.q, gap_);
  sizes_.measure(x.q);
  for (int r = 0; r < gap_.size(); ++r) {
    const int part = sizes_.part_of_row(r);
    const bool rounding = std::abs(gap_[r]) <= kGap * (1 + sizes_.last(part) / sizes_.length(part));
    gap_[r] = rounding ? gap_[r] * (kShare / h_) : 0.0;
  }
}

Verdict Stages::solve(System& system, double t, double h, const State& x, const VecX& carry_x, const VecX& carry_v) {
  h_ = h;
  iterations_ = 0;
  take_back(x);
  const bool inherited = factored_;
  predict(h_, x);
  Verdict verdict = iterate(system, t, x, carry_x, carry_v);
  if (verdict.ok()) return verdict;
  factored_ = false;
  if (inherited) {
    // The matrix of an earlier step may have led astray: once more without it.
    predict(h_, x);
    verdict = iterate(system, t, x, carry_x, carry_v);
    if (verdict.ok()) return verdict;
  }
  // Then with shortened increments, from the prediction and from constant velocities.
  for (const bool predicted : {true, false}) {
    if (!predicted) restart();
    predict(h_, x);
    factored_ = false;
    if (!approach(system, t, x, carry_x, carry_v)) continue;
    if (const Verdict found = iterate(system, t, x, carry_x, carry_v); found.ok()) return found;
  }
  factored_ = false;
  return verdict;
}

// Moves the unknowns by a part of an increment away from where they were kept.
void Stages::take_part(double part) {
  const int n = c_.size(), rows = c_.rows();
  for (int i = 0; i < s_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const int v = options_.stabilised ? s_ + i : i;
    w_[k] = kept_.w[k] + part * step_c_.segment(v * n, n);
    mu_[k] = kept_.mu[k] + part * step_r_.segment(v * rows, rows);
    if (!options_.stabilised) continue;
    y_[k] = kept_.y[k] + part * step_c_.segment(i * n, n);
    gamma_[k] = kept_.gamma[k] + part * step_r_.segment(i * rows, rows);
  }
}

// The largest velocity of an increment.
double Stages::size_of(const VecX& increment) {
  double largest = 0;
  for (int copy = 0; copy < newton_.copies(); ++copy) {
    point_ = increment.segment(copy * c_.size(), c_.size());
    const double size = sizes_.relative(point_);
    if (!(size <= largest)) largest = size;
  }
  return largest;
}

// Newton's method from far away: an increment is halved until the one that the same matrix would ask for next is smaller than it
// (Deuflhard's natural monotonicity, which no scaling of the equations changes). True where increments have become small.
bool Stages::approach(System& system, double t, const State& x, const VecX& carry_x, const VecX& carry_v) {
  set_scales(x);
  iterated_ = false;
  if (!choose_rows(x).ok()) return false;
  const auto look = [&] {
    place_stages(x, carry_x, carry_v);
    evaluate_forces(system, t, x, carry_x);
    residual();
  };
  for (int count = 0; count < kMaxIterations; ++count) {
    look();
    assemble(x);
    if (!newton_.factor().ok()) return false;
    newton_.solve(rc_, rr_);
    step_c_ = rc_, step_r_ = rr_;
    kept_.w = w_, kept_.y = y_, kept_.mu = mu_, kept_.gamma = gamma_;
    before_ = y_, iterated_ = true;
    ++iterations_;
    const double size = size_of(step_c_);
    if (!std::isfinite(size)) return false;
    if (size < kFar) return true;
    double part = 1;
    for (; part >= kShortest; part /= 2) {
      take_part(part);
      look();
      newton_.solve(rc_, rr_);
      if (size_of(rc_) <= (1 - 0.25 * part) * size) break;
    }
    if (part < kShortest) return false;
  }
  return false;
}

}  // namespace invar
