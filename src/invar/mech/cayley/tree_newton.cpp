// SPDX-License-Identifier: Apache-2.0
//
// Newton's method for the equations of tree_step.cpp, leaf to root and back. It starts from predicted rates and is quadratic
// near the solution; where it leads astray, increments are shortened. Only then a step is divided.
#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/base/largest.hpp"
#include "invar/mech/cayley/tree.hpp"

namespace invar::cayley {
namespace {

constexpr int kIterations = 20, kWithLoads = 50;
// Newton squares its error: an increment of 1e-8 of the velocities is followed by one of 1e-16.
constexpr double kSmall = 2e-8;
constexpr double kRounding = 2e-16, kNoiseOfIncrements = 1e-10;
// What may be left where Newton went astray before: there increments may stall without being rounding.
constexpr double kFloor = 10 * kRounding;
constexpr double kClear = 100;          // times rounding: increments above it tell how Newton converges
constexpr double kCaution = 4;          // times the contraction seen
constexpr int kMostStalled = 6;         // increments in a row that shrink no more: slow ones may grow once and shrink again
constexpr double kSteady = 0.05;        // relative change of a contraction that is one, and no rounding
constexpr int kSteadily = 4;            // increments in a row
constexpr double kGrown = 1.05;         // times the smallest: rounding may keep its size
constexpr double kSameLoad = 1e-15;     // relative change below which a load does not depend on the motion
constexpr int kTrust = 50;              // steps for which an estimate of it is taken
constexpr int kDamped = 60;             // iterations with shortened increments
constexpr double kShortest = 1.0 / 64;  // part of an increment that is tried

}  // namespace

// One iteration of Newton, and the sizes of what it changed.
template <class G>
Verdict Tree<G>::iterate(double h, const Load* load) {
  if (!pins_.empty()) {
    forward_pins(h, load);
    if (!lines_.empty()) pull_pins(h);
    if (!pins_.eliminate(h, {h * gravity_.x(), h * gravity_.y()})) return {Status::NotConverged, -1, -1, 0};
    paces_[0].now = pins_.substitute(worst_);
    return {};
  }
  forward(h, load);
  if (!lines_.empty()) pull(h);
  if (rows_ > 0) start_ties(h, true);
  // A wild iterate may lose a pivot; whether there is inertia was asked when the tree was placed.
  if (const Verdict v = eliminate(h); !v.ok()) return {Status::NotConverged, v.body, v.joint, v.value};
  if (rows_ > 0) {
    soften();
    if (const int row = solve_rows(active_); row >= 0) return {Status::Singular, -1, joint_of_row(row), 0};
  }
  substitute(true, h);
  return {};
}

// From the prediction; where that leads astray, again with shortened increments, and so from the rates of the last step.
template <class G>
Verdict Tree<G>::step(double h, Loading* loading, bool again) {
  measured_ = loading != nullptr;
  if (inexact_ > 0 && ++since_measured_ > kTrust) inexact_ = std::max(inexact_, inexact_at_first_);
  predict(again);
  if (pins_.empty())
    measure_speeds();
  else
    paces_[0].scale = start_pins();
  if (rows_ > 0) measure_extents();
  std::copy(lambda_.begin(), lambda_.end(), std::copy(guess_.begin(), guess_.end(), whole_.begin()));
  Verdict verdict = newton(h, loading);
  if (verdict.status == Status::NotConverged && pins_.empty()) {
    const int before = iterations_;
    take_unknowns(1);
    verdict = damped(h, loading);
    iterations_ += before;
    if (verdict.status == Status::NotConverged && !again && past_[stage_].known > 1) {
      const int tried = iterations_;
      repeat();
      verdict = damped(h, loading);
      iterations_ += tried;
    }
  }
  if (!verdict.ok()) return verdict;
  copy_unknowns(guess_.data());
  return {};
}

// What acts at the mean motion of the iterate, and how much of it may come back.
template <class G>
const Load* Tree<G>::load_of(double h, Loading* loading, double& feedback) {
  feedback = 0;
  if (loading == nullptr) return nullptr;
  if (ask(h, *loading) > kSameLoad || iterations_ == 1) feedback = iterations_ == 1 ? 1.0 : kCaution;
  return &load_;
}

template <class G>
Verdict Tree<G>::newton(double h, Loading* loading) {
  const int most = loading != nullptr ? kWithLoads : kIterations;
  for (iterations_ = 1; iterations_ <= most; ++iterations_) {
    double feedback = 0;
    const Load* load = load_of(h, loading, feedback);
    if (const Verdict v = iterate(h, load); !v.ok()) return v;
    if (!std::all_of(paces_.begin(), paces_.end(), [](const Pace& pace) { return std::isfinite(pace.now); })) break;
    if (iterations_ == 1) set_scales(h, load);
    if (converged(h, feedback, kNoiseOfIncrements)) {
      if (!finish(h)) break;
      return {};
    }
    for (Pace& pace : paces_) pace.before = pace.now;
  }
  return astray();
}

template <class G>
void Tree<G>::set_scales(double h, const Load* load) {
  for (Pace& pace : paces_) pace.scale = std::max(pace.scale, pace.now);
  push(h, load);
}

// Where it failed: at the part whose increment was the largest.
template <class G>
Verdict Tree<G>::astray() const {
  double before = 0;
  for (const Pace& pace : paces_) before = std::max(before, pace.before);
  return {Status::NotConverged, skeleton_.parts[worst_].body, skeleton_.parts[worst_].joint, before};
}

// The largest increment, relative to its connected part.
template <class G>
double Tree<G>::increment() const {
  double largest = 0;
  for (const Pace& pace : paces_) keep_largest(largest, pace.scale > 0 ? pace.now / pace.scale : pace.now);
  return largest;
}

// Unknowns at `part` of the way from base to where the whole increment led.
template <class G>
void Tree<G>::take_unknowns(double part) {
  for (std::size_t i = 0; i < guess_.size(); ++i) guess_[i] = base_[i] + part * (whole_[i] - base_[i]);
  for (std::size_t r = 0; r < lambda_.size(); ++r) {
    const std::size_t i = guess_.size() + r;
    lambda_[r] = base_[i] + part * (whole_[i] - base_[i]);
  }
  set_unknowns();
}

// An increment that is not followed by a smaller one was too long: half of it is taken, down to a 64th. Whole ones are tried
// again as they shrink (restricted monotonicity, Deuflhard 2004), so that Newton ends quadratically.
template <class G>
Verdict Tree<G>::damped(double h, Loading* loading) {
  const auto keep = [&](std::vector<double>& to) {
    copy_unknowns(to.data());
    std::copy(lambda_.begin(), lambda_.end(), to.begin() + static_cast<std::ptrdiff_t>(guess_.size()));
  };
  double part = 1, last = std::numeric_limits<double>::infinity();
  keep(here_);
  for (iterations_ = 1; iterations_ <= kDamped; ++iterations_) {
    double feedback = 0;
    const Load* load = load_of(h, loading, feedback);
    const bool sound = iterate(h, load).ok();
    if (sound && iterations_ == 1) set_scales(h, load);
    const double size = sound ? increment() : std::numeric_limits<double>::quiet_NaN();
    // From here_, where the last increment led: does it shrink? Newton went astray here: only rounding itself need not.
    if (!(size <= (1 - 0.25 * part) * last) && !(size <= kClear * kRounding)) {
      if (iterations_ == 1 || part < kShortest) break;
      part *= 0.5;
      take_unknowns(part);
      keep(here_);
      continue;
    }
    if (part == 1 && converged(h, feedback, kFloor)) {
      if (!finish(h)) break;
      return {};
    }
    last = size;
    for (Pace& pace : paces_) pace.before = pace.now;
    std::swap(base_, here_);
    keep(whole_);
    part = std::min(1.0, 2 * part);
    take_unknowns(part);
    keep(here_);
  }
  return astray();
}

// Whether the next increments are rounding, in every connected part by its own measure. The next increment is small of second
// order, or smaller than this one by the ratio of the last two, unless what the Jacobian leaves out takes over. Increments that
// are small and no longer shrink are rounding: rows of ties are positions over h, and singular configurations enlarge it. Those
// of an inexact Jacobian, or of a load that answers to the motion, may shrink slowly and not at every iteration: they are none
// as long as one of the last few was smaller than all before, nor are those that grow evenly. What a load gives back to the
// motion shrinks as the increments do.
template <class G>
bool Tree<G>::converged(double h, double feedback, double noise) {
  const bool first = iterations_ == 1;
  const auto shrank = [&](const Pace& pace) {
    if (first) return inexact_ > 0 ? 1.0 : kSmall;
    return pace.now == 0 ? 0.0 : pace.now / pace.before;
  };
  double clear = 0;
  for (const Pace& pace : paces_)
    if (iterations_ > 2 && pace.now > kClear * kRounding * pace.scale) clear = std::max(clear, shrank(pace));
  if (clear > 0) measure_contraction(clear);
  const bool slowly = slow(feedback);
  for (Pace& pace : paces_) {
    const bool smaller = first || pace.now < (slowly ? 1.0 : 0.7) * pace.least;
    pace.stalled = smaller ? 0 : pace.stalled + 1;
    const double ratio = shrank(pace);
    const bool as_before = !first && std::abs(ratio - pace.ratio) <= kSteady * pace.ratio;
    pace.steady = as_before ? pace.steady + 1 : 0;
    pace.ratio = ratio;
    pace.least = first ? pace.now : std::min(pace.now, pace.least);
  }
  return std::all_of(paces_.begin(), paces_.end(), [&](const Pace& pace) {
    const double rounding = kRounding * pace.scale, ratio = shrank(pace);
    const double next = pace.now * std::max({ratio, inexact_, first ? feedback : feedback * ratio});
    const double open = kRounding * pace.extent / std::abs(h);
    const bool diverges = pace.steady >= kSteadily && pace.now > kGrown * pace.least && pace.now > kClear * rounding + open;
    return pace.now <= rounding || next <= rounding ||
           (iterations_ > 2 && pace.stalled >= (slowly ? kMostStalled : 1) && !diverges && pace.now <= noise * pace.scale + open);
  });
}

// From the third increment on, what shrinks is what the Jacobian leaves out. The estimate falls slowly and rises at once; when
// steps have needed no third increment for long, it is made anew.
template <class G>
void Tree<G>::measure_contraction(double shrank) {
  if (inexact_ == 0) return;
  inexact_ = std::max(kCaution * shrank, 0.5 * inexact_);
  since_measured_ = 0;
}

#define INVAR_MEMBERS(G) template Verdict Tree<G>::step(double, Loading*, bool);
INVAR_MEMBERS(InSpace)
INVAR_MEMBERS(InPlane)
#undef INVAR_MEMBERS

}  // namespace invar::cayley
