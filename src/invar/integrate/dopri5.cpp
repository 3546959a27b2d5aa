// SPDX-License-Identifier: Apache-2.0
#include "invar/integrate/dopri5.hpp"

#include <algorithm>
#include <cmath>

namespace invar {

// Dormand, Prince (1980): stages at t + c_i h with y_i = y0 + h sum_j a_ij k_j. The last row is the fifth-order result
// itself, so its slope k7 starts the next step. The error estimate is h sum_i e_i k_i, the fifth- minus the fourth-order
// result. The continuous extension is that of Hairer, Norsett, Wanner, Solving ODEs I, II.6; its last term is h sum d_i k_i.
// The control is theirs too (II.4, IV.2): with err the scaled error,
//   h_next = 0.9 h err^-0.17 err_last^0.04, kept in [0.2 h, 10 h], and not above h after a refusal.
namespace {

constexpr double kC[7] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
constexpr double kA[7][6] = {
    {},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
constexpr double kE[7] = {71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
constexpr double kD[7] = {-12715105075.0 / 11282082432,  0,
                          87487479700.0 / 32700410799,   -10690763975.0 / 1880347072,
                          701980252875.0 / 199316789632, -1453857185.0 / 822651844,
                          69997945.0 / 29380423};

constexpr double kSafety = 0.9, kMemory = 0.04, kShrink = 0.2, kGrow = 10;

}  // namespace

void Dopri5::reset(const System&, const State& x, double) {
  chart_.reset(x);
  y_ = chart_.origin();
  error_ = y_;
  between_ = y_;
  for (VecX& k : k_) k = VecX::Zero(y_.size());
  h_ = 0;
  refused_ = 0;
  restart();
}

void Dopri5::restart() {
  end_ = Instant(std::numeric_limits<double>::quiet_NaN());
  proposed_ = 0;
  last_error_ = 1;
}

// k1 of the step from (t, x): the last slope of the step before if it was taken exactly here, otherwise a new one.
Verdict Dopri5::first_slope(System& system, double t, const State& x) {
  const Instant now = system.instant(t);
  const bool again = now.t == end_.t && now.inside == end_.inside && equations_ == system.equations() && chart_.last_at(x);
  end_ = Instant(std::numeric_limits<double>::quiet_NaN());
  chart_.start(t, x);
  if (!again) return chart_.slope_at_start(system, t, k_[0]);

  // The chart has moved: at its new origin the derivative of u is the velocity itself.
  k_[0].swap(k_[6]);
  k_[0].head(chart_.tangents()) = chart_.last_velocity();
  return {};
}

// Stages 2 to 7, the result in y_ and its estimated error.
Verdict Dopri5::stages(System& system, double t, double h) {
  for (std::size_t i = 1; i < 7; ++i) {
    y_ = kA[i][0] * k_[0];
    for (std::size_t j = 1; j < i; ++j) y_ += kA[i][j] * k_[j];
    y_ = chart_.origin() + h * y_;
    if (const Verdict s = chart_.slope(system, t + kC[i] * h, y_, k_[i]); !s.ok()) return s;
  }
  error_ = kE[0] * k_[0];
  for (std::size_t i = 2; i < 7; ++i) error_ += kE[i] * k_[i];
  error_ *= h;
  return {};
}

// Learns from an accepted step. A step cut short by the end of the offered h says little: it may only lengthen the proposal.
void Dopri5::propose(double tried, double error, bool refused) {
  const double factor = kSafety * std::pow(error, 0.75 * kMemory - 0.2) * std::pow(last_error_, kMemory);
  const double next = tried * std::clamp(factor, kShrink, refused ? 1.0 : kGrow);
  const bool cut = tried < proposed_;
  proposed_ = std::min(options_.h_max, cut ? std::max(proposed_, next) : next);
  if (!cut) last_error_ = std::max(error, 1e-4);
}

// Shortens the step until its error is within tolerance; `tried` returns the length that was. Only the end of the offered h
// may make a step shorter than the minimum, neither a refusal nor a proposal.
Verdict Dopri5::attempt(System& system, double t, double h, double& tried) {
  const double shortest = shortest_step(options_, t);
  bool refused = false;
  for (tried = length_to_try(options_, proposed_, h);; refused = true, ++refused_) {
    if (tried < h && tried < shortest) return {Status::StepTooSmall, -1, -1, tried};
    // A stage that fails, or numbers that overflow, only say that the step was too long: until no shorter one is left.
    const Verdict s = stages(system, t, tried);
    const double error = s.ok() ? scaled_norm(options_, chart_, error_, chart_.origin(), y_) : 0;
    if (!s.ok() || !std::isfinite(error)) {
      if (kShrink * tried < shortest) return s.ok() ? Verdict{Status::NotFinite} : s;
      proposed_ = tried *= kShrink;
      continue;
    }
    if (error <= 1) {
      propose(tried, error, refused);
      return {};
    }
    tried *= std::max(kShrink, kSafety * std::pow(error, -0.2));
    proposed_ = tried;
  }
}

Verdict Dopri5::step(System& system, double t, double h, State& x, double& h_done) {
  h_done = 0;
  h_ = 0;
  const double wanted = proposed_ > 0 ? length_to_try(options_, proposed_, h) : h;
  if (const double longest = system.prepare_step(x, wanted, false); longest < wanted) h = longest;
  if (const Verdict s = first_slope(system, t, x); !s.ok()) return s;
  if (!k_[0].allFinite()) return {Status::NotFinite};
  if (proposed_ == 0)
    if (const Verdict s = first_step(options_, system, chart_, t, h, 5, 1e-6, k_[0], y_, error_, proposed_); !s.ok()) return s;

  double tried = 0;
  const auto once = [&](double offered, double& done) { return attempt(system, t, offered, done); };
  if (const Verdict s = attempt_until_settled(options_, system, chart_, h, kShrink, y_, x, proposed_, tried, once); !s.ok())
    return s;
  end_ = system.instant(t + tried);
  equations_ = system.equations();
  h_ = tried;
  h_done = tried;
  return {};
}

void Dopri5::interpolate(const System& system, double theta, State& out) const {
  // y0 + s (d + (1-s) (b + s (d - h k7 - b + (1-s) r))), d = y1 - y0, b = h k1 - d, r = h sum_i d_i k_i.
  const double s = theta;
  const VecX& y0 = chart_.origin();
  between_ = kD[0] * k_[0];
  for (std::size_t i = 2; i < 7; ++i) between_ += kD[i] * k_[i];
  between_ = (1 - s) * h_ * between_ + 2 * (y_ - y0) - h_ * (k_[0] + k_[6]);
  between_ = y0 + s * (y_ - y0 + (1 - s) * (h_ * k_[0] - (y_ - y0) + s * between_));
  chart_.state(system, s * h_, between_, out);
}

}  // namespace invar
