// SPDX-License-Identifier: Apache-2.0
//
// Y_i = y0 + z_i,  z = h A f(Y) (RadauTableau). Simplified Newton with J at the start, after w = T⁻¹ z:
//   (L/h - J) δw = T⁻¹ (f(Y) - A⁻¹ z / h),
// one real and one complex system (ShiftedJacobian). The step ends with its last stage: y1 = y0 + z_3.
// Error, filtered so that it is right for stiff components too (Hairer, Wanner, Solving ODEs II, IV.8):
//   err = (real/h - J)⁻¹ (f(y0) + (real/h) Σ e_i z_i),
// and where that is above the tolerance at first or after a refusal, once more with f(y0 + err) for f(y0). It is O(h⁴), so
//   h_next = 0.9 h err^-1/4, at most 0.9 h err^-1/4 (h/h_last) (err_last/err)^1/4 (Gustafsson), within [h/8, 50h].
#include "invar/integrate/radau.hpp"

#include <algorithm>
#include <cmath>

#include "invar/integrate/radau_tableau.hpp"

namespace invar {
namespace {

constexpr int kIterations = 10;
constexpr double kCaution = 0.9, kLeast = 0.125, kMost = 50;
constexpr double kFast = 0.05;                 // Newton that contracts like this keeps its Jacobian
constexpr double kContinued = 8;               // a polynomial is not continued over more than so many of its steps
constexpr double kKeep = 1.2;                  // a step that would grow by less keeps its length, and with it its factorization
constexpr double kCoordinateRounding = 1e-11;  // of coordinates and rates: increments below it that no longer shrink are rounding

}  // namespace

void Radau::reset(const System& system, const State& x, double) {
  chart_.reset(x);
  const Eigen::Index size = chart_.origin().size();
  J_.reset(system, chart_);
  real_.reset(J_, size);
  pair_.reset(J_, size);
  for (VecX* v : {&f0_, &y_, &error_, &between_}) v->setZero(size);
  for (auto* group : {&z_, &f_, &w_, &old_})
    for (VecX& v : *group) v.setZero(size);
  h_ = 0;
  refused_ = jacobians_ = 0;
  report_ = {};
  RadauTableau::get();
  restart();
}

void Radau::restart() {
  have_old_ = have_jacobian_ = fresh_ = false;
  factored_ = proposed_ = last_h_ = 0;
  last_error_ = 1;
}

Verdict Radau::slope(System& system, double t, const VecX& y, VecX& f) {
  ++report_.evaluations;
  return chart_.slope(system, t, y, f);
}

Verdict Radau::take_jacobian(System& system, double t) {
  const Verdict s = J_.take(system, chart_, t, f0_);
  report_.evaluations += 2 * static_cast<int>(J_.tangents());
  ++jacobians_;
  have_jacobian_ = fresh_ = s.ok();
  factored_ = 0;
  return s;
}

bool Radau::factor(double h) {
  if (factored_ == h) return true;
  const RadauTableau& r = RadauTableau::get();
  factored_ = real_.factor(J_, r.real / h) && pair_.factor(J_, r.pair / h) ? h : 0;
  return factored_ == h;
}

// The polynomial of the step before, continued; its chart is that of this step up to commutators, good enough for a guess.
void Radau::guess(double h) {
  const RadauTableau& r = RadauTableau::get();
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = r.c[static_cast<Eigen::Index>(i)];
    if (have_old_ && h <= kContinued * old_h_) {
      const Vec3 weights = r.weights(1 + c * h / old_h_);
      z_[i] = weights[0] * old_[0] + weights[1] * old_[1] + (weights[2] - 1) * old_[2];
    } else {
      z_[i].setZero();
      z_[i].head(chart_.tangents()) = (c * h) * chart_.v(chart_.origin());
    }
  }
}

Verdict Radau::stage_slopes(System& system, double t, double h) {
  for (std::size_t i = 0; i < 3; ++i) {
    y_ = chart_.origin() + z_[i];
    if (!y_.allFinite()) return {Status::NotFinite};
    const double c = RadauTableau::get().c[static_cast<Eigen::Index>(i)];
    if (const Verdict s = slope(system, t + c * h, y_, f_[i]); !s.ok()) return s;
  }
  return {};
}

// One Newton increment of all stages: its scaled norms.
Radau::Increment Radau::increment(double h) {
  const RadauTableau& r = RadauTableau::get();
  for (Eigen::Index i = 0; i < 3; ++i) {
    VecX& f = f_[static_cast<std::size_t>(i)];
    for (Eigen::Index j = 0; j < 3; ++j) f -= (r.A_inverse(i, j) / h) * z_[static_cast<std::size_t>(j)];
  }
  const auto mix = [&](const Mat3& m, Eigen::Index i, const std::array<VecX, 3>& from, VecX& to) {
    to = m(i, 0) * from[0] + m(i, 1) * from[1] + m(i, 2) * from[2];
  };
  for (Eigen::Index i = 0; i < 3; ++i) mix(r.T_inverse, i, f_, w_[static_cast<std::size_t>(i)]);
  real_.x = w_[0];
  pair_.x.real() = w_[1];
  pair_.x.imag() = -w_[2];
  real_.solve(J_);
  pair_.solve(J_);
  w_[0] = real_.x;
  w_[1] = pair_.x.real();
  w_[2] = -pair_.x.imag();
  double motion = 0, all = 0;
  const VecX& y0 = chart_.origin();
  for (Eigen::Index i = 0; i < 3; ++i) {
    VecX& d = f_[static_cast<std::size_t>(i)];
    mix(r.T, i, w_, d);
    z_[static_cast<std::size_t>(i)] += d;
    const double whole = scaled_norm(options_, chart_, d, y0, y0);
    d.tail(d.size() - 2 * chart_.tangents()).setZero();
    const double part = scaled_norm(options_, chart_, d, y0, y0);
    all += whole * whole, motion += part * part;
  }
  return {std::sqrt(motion / 3), std::sqrt(all / 3)};
}

// Increments of the motion shrink by theta, so what is left is their geometric sum. Auxiliaries do not act on the motion: theirs
// follow one iteration later, however large the first one was (losses are squares of rates), and shrink by the same theta.
Radau::Newton Radau::newton(System& system, double t, double h, Verdict& verdict) {
  const VecX& y0 = chart_.origin();
  const double rounding = kCoordinateRounding * (1 / options_.position_tolerance + scaled_norm(options_, chart_, y0, y0, y0));
  double before = theta_ = 0;
  for (int k = 0; k < kIterations; ++k) {
    verdict = stage_slopes(system, t, h);
    if (!verdict.ok()) return Newton::Failed;
    const Increment now = increment(h);
    ++report_.iterations;
    if (!std::isfinite(now.all)) return verdict = {Status::NotFinite}, Newton::Failed;
    if (now.all == 0) return Newton::Converged;
    if (k > 0) {
      theta_ = before > 0 ? now.motion / before : 0;
      if (theta_ < 1 && now.all * theta_ / (1 - theta_) <= newton_) return Newton::Converged;
      if (theta_ > 0.5 && now.motion <= rounding) return Newton::Converged;
      const double at_the_end = now.motion * std::pow(theta_, kIterations - 1 - k) / (1 - theta_);
      if (theta_ >= 1 || (at_the_end > newton_ && now.motion > rounding)) break;
    }
    before = now.motion;
  }
  verdict = {Status::NotConverged, -1, -1, before};
  return Newton::Slow;
}

Verdict Radau::estimate(System& system, double t, double h, bool doubt, double& error) {
  const RadauTableau& r = RadauTableau::get();
  const VecX& y0 = chart_.origin();
  const double m = r.real / h;
  error_ = m * (r.e[0] * z_[0] + r.e[1] * z_[1] + r.e[2] * z_[2]);
  y_ = y0 + z_[2];
  const auto filtered = [&](const VecX& f) {
    real_.x = error_ + f;
    real_.solve(J_);
    return scaled_norm(options_, chart_, real_.x, y0, y_);
  };
  error = filtered(f0_);
  if (!(error > 1) || !doubt) return {};
  w_[0] = y0 + real_.x;
  if (!w_[0].allFinite()) return {};
  if (const Verdict s = slope(system, t, w_[0], w_[1]); !s.ok()) return s;
  error = filtered(w_[1]);
  return {};
}

// Learns from an accepted step. A step cut short by the end of the offered h says little: it may only lengthen the proposal.
void Radau::propose(double tried, double error, bool refused) {
  const double e = std::max(error, 1e-8);
  double factor = kCaution * std::pow(e, -0.25);
  if (last_h_ > 0 && !refused) factor = std::min(factor, factor * (tried / last_h_) * std::pow(last_error_ / e, 0.25));
  factor = std::clamp(factor, kLeast, refused ? 1.0 : kMost);
  const bool cut = tried < proposed_;
  const double next = factor >= 1 && factor <= kKeep && theta_ <= kFast ? tried : tried * factor;
  proposed_ = std::min(options_.h_max, cut ? std::max(proposed_, next) : next);
  if (cut) return;
  last_error_ = std::max(error, 1e-2);
  last_h_ = tried;
}

// Shortens the step until Newton's method converges and the error is within tolerance. Only the end of the offered h may make a
// step shorter than the minimum, neither a refusal nor a proposal.
Verdict Radau::attempt(System& system, double t, double h, double& tried) {
  const double shortest = shortest_step(options_, t);
  bool refused = false;
  for (tried = length_to_try(options_, proposed_, h);; ++refused_) {
    if (tried < h && tried < shortest) return {Status::StepTooSmall, -1, -1, tried};
    if (!have_jacobian_)
      if (const Verdict s = take_jacobian(system, t); !s.ok()) return s;
    Verdict verdict;
    Newton outcome = Newton::Slow;
    if (factor(tried)) {
      guess(tried);
      outcome = newton(system, t, tried, verdict);
    } else {
      verdict = {Status::NotFinite};
    }
    double error = 0;
    if (outcome == Newton::Converged) {
      verdict = estimate(system, t, tried, refused || last_h_ == 0, error);
      if (verdict.ok() && error <= 1) {
        propose(tried, error, refused);
        return {};
      }
    }

    // Refused: with an old Jacobian Newton's method may try again, otherwise the step was too long.
    refused = true;
    have_old_ = have_old_ && outcome == Newton::Converged;
    const bool old = !fresh_;
    if (old) have_jacobian_ = false;
    if (old && outcome == Newton::Slow) continue;
    const bool judged = outcome == Newton::Converged && verdict.ok() && std::isfinite(error);
    const double factor =
        judged ? std::clamp(kCaution * std::pow(error, -0.25), kLeast, kCaution) : (outcome == Newton::Failed ? kLeast : 0.5);
    if (!judged && factor * tried < shortest) return verdict.ok() ? Verdict{Status::NotFinite} : verdict;
    proposed_ = tried *= factor;
  }
}

Verdict Radau::step(System& system, double t, double h, State& x, double& h_done) {
  h_done = 0;
  h_ = 0;
  report_ = {};
  fresh_ = false;
  const double wanted = proposed_ > 0 ? length_to_try(options_, proposed_, h) : h;
  if (const double longest = system.prepare_step(x, wanted, false); longest < wanted) h = longest;
  if (equations_ != system.equations()) have_jacobian_ = have_old_ = false;
  equations_ = system.equations();
  chart_.start(t, x);
  ++report_.evaluations;
  if (const Verdict s = chart_.slope_at_start(system, t, f0_); !s.ok()) return s;
  if (!f0_.allFinite()) return {Status::NotFinite};
  if (proposed_ == 0) {
    if (!(options_.h_first > 0)) ++report_.evaluations;
    if (const Verdict s = first_step(options_, system, chart_, t, h, 4, 1e-4, f0_, y_, error_, proposed_); !s.ok()) return s;
  }

  double tried = 0;
  const auto once = [&](double offered, double& done) { return attempt(system, t, offered, done); };
  if (const Verdict s = attempt_until_settled(options_, system, chart_, h, kLeast, y_, x, proposed_, tried, once); !s.ok())
    return s;
  have_jacobian_ = theta_ <= kFast;
  for (std::size_t i = 0; i < 3; ++i) old_[i] = z_[i];
  have_old_ = true;
  h_ = old_h_ = tried;
  h_done = tried;
  return {};
}

void Radau::interpolate(const System& system, double theta, State& out) const {
  const Vec3 weights = RadauTableau::get().weights(theta);
  between_ = chart_.origin() + weights[0] * z_[0] + weights[1] * z_[1] + weights[2] * z_[2];
  chart_.state(system, theta * h_, between_, out);
}

}  // namespace invar
