// SPDX-License-Identifier: Apache-2.0
//
// Spline: with second rates m_i at samples a distance h_i apart a piece is, with s the share of it that has passed and r = 1 - s,
//   q = r q_i + s q_{i+1} + h²/6 ((r³ - r) m_i + (s³ - s) m_{i+1}),   q̇ = Δ_i + h/6 ((1 - 3 r²) m_i + (3 s² - 1) m_{i+1}),
// Δ_i = (q_{i+1} - q_i)/h_i; q̈ is linear. Rates agree at sample i where
//   h_{i-1} m_{i-1} + 2 (h_{i-1} + h_i) m_i + h_i m_{i+1} = 6 (Δ_i - Δ_{i-1}),
// and are zero at the ends where 2 h_0 m_0 + h_0 m_1 = 6 Δ_0, and likewise at the last: diagonally dominant, one sweep each way.
//
// Quintic: with everything scaled to a piece of unit time, c0 = q, c1 = v, c2 = a/2 at its start, and D, E, F what value, rate
// and second rate lack at its end,  c3 = 10 D - 4 E + F/2,  c4 = -15 D + 7 E - F,  c5 = 6 D - 3 E + F/2.
#include "invar/control/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "invar/base/check.hpp"

namespace invar {
namespace {

// The piece in which an instant lies: from times[i] to times[i + 1], s from 0 to 1. Nothing outside.
struct Piece {
  std::size_t i;
  double s, h;
};
std::optional<Piece> piece_at(const std::vector<double>& times, Instant at) {
  const auto after = std::upper_bound(times.begin(), times.end(), at.inside);
  if (after == times.begin() || after == times.end()) return std::nullopt;
  const auto i = static_cast<std::size_t>(after - times.begin()) - 1;
  const double h = times[i + 1] - times[i];
  return Piece{i, (at.t - times[i]) / h, h};
}

double first_after(const std::vector<double>& times, double t) {
  const auto after = std::upper_bound(times.begin(), times.end(), t);
  return after == times.end() ? std::numeric_limits<double>::infinity() : *after;
}

bool before_first(const std::vector<double>& times, Instant at) { return at.inside < times.front(); }

Jet jet_of(const Signal& s, Instant at) { return {value(s, at), rate(s, at), second_rate(s, at)}; }

Jet jet_of(const MinimumJerk& m, Instant at) {
  const auto p = piece_at(m.times, at);
  if (!p) return {before_first(m.times, at) ? m.values.front() : m.values.back(), 0, 0};
  const double from = m.values[p->i], way = m.values[p->i + 1] - from;
  const Jet s = minimum_jerk(m.times[p->i], m.times[p->i + 1], at.t);
  return {from + way * s.q, way * s.v, way * s.a};
}

Jet jet_of(const Spline& f, Instant at) {
  const auto p = piece_at(f.times(), at);
  if (!p) return {before_first(f.times(), at) ? f.values().front() : f.values().back(), 0, 0};
  const double s = p->s, r = 1 - s, h = p->h;
  const double q0 = f.values()[p->i], q1 = f.values()[p->i + 1], m0 = f.curvatures()[p->i], m1 = f.curvatures()[p->i + 1];
  return {r * q0 + s * q1 + h * h / 6 * (r * (r * r - 1) * m0 + s * (s * s - 1) * m1),
          (q1 - q0) / h + h / 6 * ((1 - 3 * r * r) * m0 + (3 * s * s - 1) * m1), r * m0 + s * m1};
}

Jet jet_of(const Quintic& f, Instant at) {
  const auto p = piece_at(f.times(), at);
  if (!p) {
    if (before_first(f.times(), at)) return {f.pieces().front()[0], 0, 0};
    const std::array<double, 6>& c = f.pieces().back();
    return {c[0] + c[1] + c[2] + c[3] + c[4] + c[5], 0, 0};
  }
  const std::array<double, 6>& c = f.pieces()[p->i];
  const double s = p->s;
  return {c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * (c[4] + s * c[5])))),
          (c[1] + s * (2 * c[2] + s * (3 * c[3] + s * (4 * c[4] + s * 5 * c[5])))) / p->h,
          (2 * c[2] + s * (6 * c[3] + s * (12 * c[4] + s * 20 * c[5]))) / (p->h * p->h)};
}

double event_of(const Signal& s, double t) { return next_event(s, t); }
double event_of(const MinimumJerk& m, double t) { return first_after(m.times, t); }
double event_of(const Spline& f, double t) { return first_after(f.times(), t); }
double event_of(const Quintic& f, double t) { return first_after(f.times(), t); }

// What is wrong with samples of something that is called `what`.
std::string flaw_of_samples(const char* what, const std::vector<double>& times, const std::vector<double>& values,
                            std::size_t least) {
  if (times.size() != values.size())
    return fmt::format("{} needs one value per time, not {} values for {} times", what, values.size(), times.size());
  if (times.size() < least) return fmt::format("{} needs at least {}, not {}", what, least, times.size());
  if (!all_finite(times) || !all_finite(values)) return kNotFinite;
  for (std::size_t i = 1; i < times.size(); ++i)
    if (!(times[i - 1] < times[i]))
      return fmt::format("the times of {} must increase, but {} s comes before {} s", what, times[i - 1], times[i]);
  return "";
}

std::string flaw_of(const Signal& s) {
  if (std::string why = flaw(s); !why.empty()) return why;
  return can_be_followed(s) ? "" : "its value or rate jumps, which nothing with inertia can follow";
}
std::string flaw_of(const MinimumJerk& m) { return flaw_of_samples("a list of way-points", m.times, m.values, 1); }
std::string flaw_of(const Spline& f) {
  if (std::string why = flaw_of_samples("a list of samples", f.times(), f.values(), 2); !why.empty()) return why;
  return all_finite(f.curvatures()) ? "" : "samples lie so close in time that their rates are not finite";
}
std::string flaw_of(const Quintic& f) {
  const std::string why = flaw_of_samples("a list of jets", f.times(), std::vector<double>(f.pieces().size() + 1), 2);
  if (!why.empty()) return why;
  for (const std::array<double, 6>& piece : f.pieces())
    for (const double c : piece)
      if (!std::isfinite(c)) return kNotFinite;
  return "";
}

std::array<double, 6> piece_between(const Jet& from, const Jet& to, double h) {
  const double c0 = from.q, c1 = h * from.v, c2 = 0.5 * h * h * from.a;
  const double D = (to.q - c0) - (c1 + c2), E = h * to.v - (c1 + 2 * c2), F = h * h * to.a - 2 * c2;
  return {c0, c1, c2, 10 * D - 4 * E + 0.5 * F, -15 * D + 7 * E - F, 6 * D - 3 * E + 0.5 * F};
}

}  // namespace

Jet minimum_jerk(double from, double to, double t) {
  const double h = to - from, s = (t - from) / h;
  return {s * s * s * (10 + s * (-15 + 6 * s)), 30 * s * s * (1 + s * (-2 + s)) / h, 60 * s * (1 + s * (-3 + 2 * s)) / (h * h)};
}

Spline::Spline(std::vector<double> times, std::vector<double> values, Ends ends)
    : times_(std::move(times)), values_(std::move(values)) {
  const std::size_t n = times_.size();
  if (!flaw_of_samples("", times_, values_, 2).empty()) return;
  // Rows of the three diagonals; natural ends are rows m = 0.
  const auto h = [this](std::size_t i) { return times_[i + 1] - times_[i]; };
  const auto slope = [&](std::size_t i) { return (values_[i + 1] - values_[i]) / h(i); };
  const bool rest = ends == Ends::Rest;
  std::vector<double> diagonal(n), above(n - 1), m(n);
  diagonal[0] = rest ? 2 * h(0) : 1;
  above[0] = rest ? h(0) : 0;
  m[0] = rest ? 6 * slope(0) : 0;
  for (std::size_t i = 1; i < n; ++i) {
    const bool last = i == n - 1;
    const double below = last && !rest ? 0 : h(i - 1), share = below / diagonal[i - 1];
    diagonal[i] = (!last ? 2 * (h(i - 1) + h(i)) : rest ? 2 * h(i - 1) : 1) - share * above[i - 1];
    m[i] = (!last ? 6 * (slope(i) - slope(i - 1)) : rest ? -6 * slope(i - 1) : 0) - share * m[i - 1];
    if (!last) above[i] = h(i);
  }
  m[n - 1] /= diagonal[n - 1];
  for (std::size_t i = n - 1; i-- > 0;) m[i] = (m[i] - above[i] * m[i + 1]) / diagonal[i];
  curvatures_ = std::move(m);
}

Quintic::Quintic(std::vector<double> times, const std::vector<Jet>& starts, const std::vector<Jet>& ends)
    : times_(std::move(times)) {
  INVAR_CHECK(starts.size() + 1 == times_.size() && ends.size() == starts.size(), "one piece between two times");
  for (std::size_t i = 0; i < starts.size(); ++i) pieces_.push_back(piece_between(starts[i], ends[i], times_[i + 1] - times_[i]));
}

Quintic::Quintic(std::vector<double> times, const std::vector<Jet>& jets) : times_(std::move(times)) {
  INVAR_CHECK(jets.size() == times_.size(), "one jet per time");
  for (std::size_t i = 1; i < jets.size(); ++i) pieces_.push_back(piece_between(jets[i - 1], jets[i], times_[i] - times_[i - 1]));
}

Jet jet(const Reference& reference, Instant at) {
  return std::visit([at](const auto& r) { return jet_of(r, at); }, reference);
}

double next_event(const Reference& reference, double t) {
  return std::visit([t](const auto& r) { return event_of(r, t); }, reference);
}

std::string flaw(const Reference& reference) {
  return std::visit([](const auto& r) { return flaw_of(r); }, reference);
}

}  // namespace invar
