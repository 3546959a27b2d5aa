// SPDX-License-Identifier: Apache-2.0
//
// Let m(θ) be the least margin of all held laws along a step, in units of round-off (Switches). A law has left its branch where
// m < -1. The step is looked at in its middle and at its end; where margins change by more than half of what is left, also at
// eighths, and at the vertex of the parabola through three neighbours if that lies below. The first θ with m(θ) = -2 on the
// dense output gives a length; steps of the method from the same start correct it, h ← h - (m + 2)/m', until -8 <= m < -1.
#include "invar/integrate/switching.hpp"

#include <algorithm>
#include <cmath>

#include "invar/mech/switches.hpp"

namespace invar {
namespace {

constexpr int kLooks = 8;         // along a step
constexpr int kCorrections = 12;  // of the length of a step that ends at a switch
constexpr double kLeft = -1, kAim = -2, kFarthest = -8;
constexpr double kSmallPart = 1e-3;  // of the step that the method would have taken
constexpr int kPatience = 64;        // such steps in a row

}  // namespace

void Switching::reset(const System& system, const State& x, double h) {
  method_->reset(system, x, h);
  start_ = between_ = x;
  bodies_.resize(system.model().bodies().size());
  for (VecX* v : {&margins_, &first_, &middle_, &last_}) v->setZero(static_cast<Eigen::Index>(system.switches().size()));
  fresh_ = true;
  hurried_ = 0;
  switches_ = unheld_ = 0;
  report_ = {};
}

void Switching::restart() {
  method_->restart();
  fresh_ = true;
}

Verdict Switching::try_step(System& system, double t, double h, State& x, double& h_done) {
  const Verdict verdict = method_->step(system, t, h, x, h_done);
  const StepReport r = method_->report();
  report_.iterations += r.iterations;
  report_.evaluations += r.evaluations;
  report_.substeps = std::max(report_.substeps, r.substeps);
  return verdict;
}

// One step with the laws as they are.
Verdict Switching::free_step(System& system, double t, double h, State& x, double& h_done) {
  system.switches().release();
  method_->restart();
  fresh_ = true;
  ++unheld_;
  hurried_ = 0;
  return try_step(system, t, h, x, h_done);
}

double Switching::least(const System& system, const State& x) {
  system.formulation().bodies(x, bodies_);
  system.switches().margins(bodies_, x.wound, margins_);
  return margins_.minCoeff();
}

double Switching::least_at(const System& system, double theta) {
  method_->interpolate(system, theta, between_);
  return least(system, between_);
}

// Whether a law leaves its branch within the last step, which ended at x; if so, between which two parts of it.
bool Switching::leaves(const System& system, const State& x, double& before, double& after) {
  least(system, start_);
  first_ = margins_;
  least_at(system, 0.5);
  middle_ = margins_;
  least(system, x);
  // Margins that hardly change in comparison with themselves do not end in between.
  const auto low = first_.array().min(middle_.array()).min(margins_.array());
  const auto high = first_.array().max(middle_.array()).max(margins_.array());
  if ((low > 2 * (high - low)).all()) return false;

  middle_ = first_;
  for (int i = 1; i <= kLooks; ++i) {
    before = static_cast<double>(i - 1) / kLooks, after = static_cast<double>(i) / kLooks;
    if ((i == kLooks ? least(system, x) : least_at(system, after)) < kLeft) return true;
    if (i > 1 && dips(system, before, after)) {
      before -= 1.0 / kLooks;
      return true;
    }
    first_ = middle_, middle_ = margins_;
  }
  return false;
}

// Whether a law is beyond its end at the vertex of the parabola through its margins at three neighbouring looks, the middle one
// at `middle`. `vertex` returns where.
bool Switching::dips(const System& system, double middle, double& vertex) {
  const double end = vertex;
  last_ = margins_;
  for (Eigen::Index i = 0; i < last_.size(); ++i) {
    const double m0 = first_[i], m1 = middle_[i], m2 = last_[i], bend = m0 - 2 * m1 + m2;
    if (!(m1 <= m0 && m1 <= m2 && bend > 0) || m1 - 0.125 * (m0 - m2) * (m0 - m2) / bend > 0.5 * m1) continue;
    vertex = middle + 0.5 * (m0 - m2) / bend / kLooks;
    if (least_at(system, vertex) < kLeft) return true;
  }
  vertex = end;
  margins_ = last_;
  return false;
}

// The first part of the last step at which a law that is beyond its end at `after` has the margin kAim, by false position
// (Illinois). Each law on its own: their margins differ by many powers of ten.
double Switching::root(const System& system, double before, double after) {
  least_at(system, before);
  first_ = margins_;
  least_at(system, after);
  middle_ = margins_;
  double found = after;
  leaving_ = 0;
  for (Eigen::Index i = 0; i < middle_.size(); ++i) {
    if (middle_[i] >= kLeft) continue;
    double low = before, high = after, f_low = std::max(first_[i] - kAim, 1.0), f_high = std::min(middle_[i] - kAim, -1e-3);
    double theta = high;
    for (int k = 0; k < 60 && high - low > 1e-16; ++k) {
      theta = low + std::clamp(f_low / (f_low - f_high), 1e-12, 1 - 1e-12) * (high - low);
      least_at(system, theta);
      const double f = margins_[i] - kAim;
      if (std::abs(f) < 0.5) break;
      if (f > 0)
        low = theta, f_low = f, f_high *= 0.5;
      else
        high = theta, f_high = f, f_low *= 0.5;
    }
    if (theta <= found) found = theta, leaving_ = i;
  }
  return found;
}

// Steps from the start whose lengths are corrected until one ends just beyond the switch. `slope`: of the margin, 1/s.
Verdict Switching::end_at_switch(System& system, double t, double longest, double guess, double slope, State& x, double& h_done) {
  double inside = 0, beyond = longest, h = guess;
  for (int k = 0;; ++k) {
    x = start_;
    if (const Verdict s = try_step(system, t, h, x, h_done); !s.ok()) return s;
    if (h_done < h) return {};  // the method chose to stop earlier: the switch is still ahead
    least(system, x);
    const double m = margins_[leaving_];
    if ((m < kLeft && (m >= kFarthest || k >= kCorrections)) || k > 2 * kCorrections) return {};
    (m < kLeft ? beyond : inside) = h;
    h -= (m - kAim) / slope;
    const double room = beyond - inside;
    if (k >= kCorrections || !(room > 4e-16 * (t + beyond)))
      h = beyond;
    else if (!(h > inside && h < beyond))
      h = inside + 0.5 * room;
  }
}

Verdict Switching::step(System& system, double t, double h, State& x, double& h_done) {
  report_ = {};
  if (system.switches().size() == 0) return try_step(system, t, h, x, h_done);
  if (hurried_ > kPatience) return free_step(system, t, h, x, h_done);
  start_ = x;
  if (fresh_) {
    system.formulation().bodies(x, bodies_);
    system.switches().hold(bodies_, x.wound);
    fresh_ = false;
  }
  for (std::size_t turned = 0; turned <= 2 * system.switches().size(); ++turned) {
    if (!try_step(system, t, h, x, h_done).ok()) break;
    const double whole = h_done;
    double before = 0, after = 1;
    if (!leaves(system, x, before, after)) return hurried_ = 0, Verdict{};

    const double theta = root(system, before, after);
    ++switches_;
    if (t + theta * whole <= t) {
      // At the very start: the other branch was meant.
      least_at(system, after);
      system.switches().turn(bodies_, between_.wound, margins_, kLeft);
      method_->restart();
      x = start_;
      continue;
    }
    const double d = 1e-4 * theta;
    const auto margin_at = [&](double part) { return least_at(system, part), margins_[leaving_]; };
    const double slope = (margin_at(theta) - margin_at(theta - d)) / (d * whole);
    if (!end_at_switch(system, t, after * whole, theta * whole, std::min(slope, -1e-300), x, h_done).ok()) break;
    if (least(system, x) < kLeft) {
      system.switches().turn(bodies_, x.wound, margins_, kLeft);
      method_->restart();
    }
    hurried_ = h_done < kSmallPart * whole ? hurried_ + 1 : 0;
    return {};
  }
  x = start_;
  return free_step(system, t, h, x, h_done);
}

}  // namespace invar
