// SPDX-License-Identifier: Apache-2.0
#include "invar/control/signal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>

#include "invar/base/random.hpp"

namespace invar {

// Every value is computed in two moves: `inside` chooses the piece, `t` is put into the formula of that piece. The formula
// may be used up to and beyond the ends of its piece, so nothing depends on how a stage time was rounded.
namespace {

constexpr double kLeastHold = 1e-6;  // s

double value_of(const Constant& s, Instant) { return s.value; }

double value_of(const Jump& s, Instant at) { return at.inside < s.at ? s.before : s.after; }

double value_of(const Pulse& s, Instant at) { return s.on <= at.inside && at.inside < s.off ? s.value : 0.0; }

double value_of(const Sinusoid& s, Instant at) {
  return s.offset + s.amplitude * std::sin(2 * std::numbers::pi * s.frequency * at.t + s.phase);
}

double value_of(const Ramp& s, Instant at) {
  if (at.inside < s.start) return s.from;
  if (at.inside >= s.stop) return s.to;
  return s.from + (s.to - s.from) * ((at.t - s.start) / (s.stop - s.start));
}

double value_of(const Polynomial& s, Instant at) {
  double sum = 0;
  for (auto c = s.coefficients.rbegin(); c != s.coefficients.rend(); ++c) sum = sum * (at.t - s.origin) + *c;
  return sum;
}

double value_of(const Table& s, Instant at) {
  const auto after = std::upper_bound(s.times.begin(), s.times.end(), at.inside);
  if (after == s.times.begin()) return s.values.front();
  if (after == s.times.end()) return s.values.back();
  const auto i = static_cast<std::size_t>(after - s.times.begin());
  return s.values[i - 1] + (s.values[i] - s.values[i - 1]) * ((at.t - s.times[i - 1]) / (s.times[i] - s.times[i - 1]));
}

// The stretch that t lies in; its beginning belongs to it, as it is computed.
double stretch(const Noise& s, double t) {
  const double k = std::floor(t / s.hold);
  return (k + 1) * s.hold <= t ? k + 1 : (k * s.hold > t ? k - 1 : k);
}

double value_of(const Noise& s, Instant at) {
  // Beyond 2^53 stretches there is no telling them apart.
  const auto k = static_cast<std::int64_t>(std::clamp(stretch(s, at.inside), -9e15, 9e15));
  return s.deviation * Random(s.seed, static_cast<std::uint64_t>(k)).normal();
}

double rate_of(const Constant&, Instant) { return 0; }
double rate_of(const Noise&, Instant) { return 0; }
double rate_of(const Jump&, Instant) { return 0; }
double rate_of(const Pulse&, Instant) { return 0; }
double rate_of(const Sinusoid& s, Instant at) {
  const double w = 2 * std::numbers::pi * s.frequency;
  return w * s.amplitude * std::cos(w * at.t + s.phase);
}
double rate_of(const Ramp& s, Instant at) {
  return at.inside < s.start || at.inside >= s.stop ? 0.0 : (s.to - s.from) / (s.stop - s.start);
}
double rate_of(const Polynomial& s, Instant at) {
  double sum = 0;
  for (std::size_t k = s.coefficients.size(); k-- > 1;)
    sum = sum * (at.t - s.origin) + static_cast<double>(k) * s.coefficients[k];
  return sum;
}
double rate_of(const Table& s, Instant at) {
  const auto after = std::upper_bound(s.times.begin(), s.times.end(), at.inside);
  if (after == s.times.begin() || after == s.times.end()) return 0;
  const auto i = static_cast<std::size_t>(after - s.times.begin());
  return (s.values[i] - s.values[i - 1]) / (s.times[i] - s.times[i - 1]);
}

// Only these two bend between their events.
template <class S>
double second_of(const S&, Instant) {
  return 0;
}
double second_of(const Sinusoid& s, Instant at) {
  const double w = 2 * std::numbers::pi * s.frequency;
  return -w * w * s.amplitude * std::sin(w * at.t + s.phase);
}
double second_of(const Polynomial& s, Instant at) {
  double sum = 0;
  for (std::size_t k = s.coefficients.size(); k-- > 2;)
    sum = sum * (at.t - s.origin) + static_cast<double>(k * (k - 1)) * s.coefficients[k];
  return sum;
}

double first_after(double t, std::initializer_list<double> events) {
  double next = std::numeric_limits<double>::infinity();
  for (const double event : events)
    if (event > t) next = std::min(next, event);
  return next;
}

double event_of(const Constant&, double) { return std::numeric_limits<double>::infinity(); }
double event_of(const Jump& s, double t) { return first_after(t, {s.at}); }
double event_of(const Pulse& s, double t) { return first_after(t, {s.on, s.off}); }
double event_of(const Sinusoid&, double) { return std::numeric_limits<double>::infinity(); }
double event_of(const Ramp& s, double t) { return first_after(t, {s.start, s.stop}); }
double event_of(const Polynomial&, double) { return std::numeric_limits<double>::infinity(); }
double event_of(const Table& s, double t) {
  const auto after = std::upper_bound(s.times.begin(), s.times.end(), t);
  return after == s.times.end() ? std::numeric_limits<double>::infinity() : *after;
}
double event_of(const Noise& s, double t) {
  const double k = stretch(s, t) + 1;
  return k * s.hold > t ? k * s.hold : (k + 1) * s.hold;  // as the ends are rounded
}

std::string flaw_of(const Constant& s) { return all_finite({s.value}) ? "" : kNotFinite; }
std::string flaw_of(const Jump& s) { return all_finite({s.at, s.before, s.after}) ? "" : kNotFinite; }
std::string flaw_of(const Pulse& s) {
  if (!all_finite({s.on, s.off, s.value})) return kNotFinite;
  return s.on < s.off ? "" : fmt::format("a pulse must end after it begins, not go from {} s to {} s", s.on, s.off);
}
std::string flaw_of(const Sinusoid& s) { return all_finite({s.amplitude, s.frequency, s.phase, s.offset}) ? "" : kNotFinite; }
std::string flaw_of(const Ramp& s) {
  if (!all_finite({s.start, s.stop, s.from, s.to})) return kNotFinite;
  return s.start < s.stop ? "" : fmt::format("a ramp must end after it begins, not go from {} s to {} s", s.start, s.stop);
}
std::string flaw_of(const Polynomial& s) {
  if (s.coefficients.empty()) return "a polynomial needs at least one coefficient";
  return all_finite(s.coefficients) && all_finite({s.origin}) ? "" : kNotFinite;
}
std::string flaw_of(const Table& s) {
  if (s.times.empty()) return "a table needs at least one point";
  if (s.times.size() != s.values.size())
    return fmt::format("a table needs one value per time, not {} values for {} times", s.values.size(), s.times.size());
  if (!all_finite(s.times) || !all_finite(s.values)) return kNotFinite;
  for (std::size_t i = 1; i < s.times.size(); ++i)
    if (!(s.times[i - 1] < s.times[i]))
      return fmt::format("the times of a table must increase, but {} s comes before {} s", s.times[i - 1], s.times[i]);
  return "";
}
std::string flaw_of(const Noise& s) {
  if (!all_finite({s.deviation, s.hold})) return kNotFinite;
  if (s.deviation < 0) return fmt::format("a standard deviation is not negative, as {} is", s.deviation);
  return s.hold >= kLeastHold ? "" : fmt::format("a random number must be held for {} s or more, not {} s", kLeastHold, s.hold);
}

}  // namespace

bool all_finite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

double value(const Signal& signal, Instant at) {
  return std::visit([at](const auto& s) { return value_of(s, at); }, signal);
}

double rate(const Signal& signal, Instant at) {
  return std::visit([at](const auto& s) { return rate_of(s, at); }, signal);
}

double second_rate(const Signal& signal, Instant at) {
  return std::visit([at](const auto& s) { return second_of(s, at); }, signal);
}

bool can_be_followed(const Signal& signal) {
  return std::holds_alternative<Constant>(signal) || std::holds_alternative<Sinusoid>(signal) ||
         std::holds_alternative<Polynomial>(signal);
}

double next_event(const Signal& signal, double t) {
  return std::visit([t](const auto& s) { return event_of(s, t); }, signal);
}

std::string flaw(const Signal& signal) {
  return std::visit([](const auto& s) { return flaw_of(s); }, signal);
}

}  // namespace invar
