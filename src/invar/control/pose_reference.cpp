// SPDX-License-Identifier: Apache-2.0
//
// Rotations: with P the product of the turns before and w, alpha its rates, one more turn by f about u gives, since P u moves
// with w × P u,
//   w' = w + P u ḟ,     alpha' = alpha + P u f̈ + w × P u ḟ.
// Way-points: between q_i and q_i exp(θ) the attitude is q_i exp(s θ), whose rate R_i θ ṡ keeps its direction.
#include "invar/control/pose_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "invar/base/check.hpp"

namespace invar {
namespace {

// Directions this close to each other span no plane; attitudes this close to half a turn apart have no shorter way.
constexpr double kAlike = 1e-9;

struct Point {
  Vec3 p, v, a;
};

Point point_of(const Components& c, Instant at) {
  const Jet x = jet(c.x, at), y = jet(c.y, at), z = jet(c.z, at);
  return {{x.q, y.q, z.q}, {x.v, y.v, z.v}, {x.a, y.a, z.a}};
}

Point point_of(const Circle& c, Instant at) {
  const Jet f = jet(c.angle, at);
  const Vec3 n = c.normal.normalized(), e1 = (c.start - n.dot(c.start) * n).normalized(), e2 = n.cross(e1);
  const Vec3 out = c.radius * (std::cos(f.q) * e1 + std::sin(f.q) * e2), along = n.cross(out);
  return {c.centre + out, f.v * along, f.a * along - f.v * f.v * out};
}

Point point_of(const Lissajous& l, Instant at) {
  Point out;
  for (int k = 0; k < 3; ++k) {
    const Signal f = Sinusoid{l.amplitudes[k], l.frequencies[k], l.phases[k], l.centre[k]};
    out.p[k] = value(f, at), out.v[k] = rate(f, at), out.a[k] = second_rate(f, at);
  }
  return out;
}

struct Attitude {
  Quat q;
  Vec3 w, alpha;
};

Attitude attitude_of(const Rotations& r, Instant at) {
  Attitude out{Quat::Identity(), Vec3::Zero(), Vec3::Zero()};
  for (const Rotations::Turn& turn : r.turns) {
    const Jet f = jet(turn.angle, at);
    const Vec3 u = turn.axis.normalized(), Pu = out.q * u;
    out.alpha += Pu * f.a + out.w.cross(Pu) * f.v;
    out.w += Pu * f.v;
    out.q = normalized(out.q * exp_so3(f.q * u));
  }
  out.q = normalized(out.q * r.q0);
  return out;
}

Attitude attitude_of(const AttitudeWaypoints& r, Instant at) {
  const std::vector<double>& times = r.times();
  const auto after = std::upper_bound(times.begin(), times.end(), at.inside);
  if (after == times.begin()) return {r.attitudes().front(), Vec3::Zero(), Vec3::Zero()};
  if (after == times.end()) return {r.attitudes().back(), Vec3::Zero(), Vec3::Zero()};
  const auto i = static_cast<std::size_t>(after - times.begin()) - 1;
  const Quat& from = r.attitudes()[i];
  const Jet s = minimum_jerk(times[i], times[i + 1], at.t);
  const Vec3 way = from * r.ways()[i];
  return {normalized(from * exp_so3(s.q * r.ways()[i])), s.v * way, s.a * way};
}

double event_of(const Components& c, double t) { return std::min({next_event(c.x, t), next_event(c.y, t), next_event(c.z, t)}); }
double event_of(const Circle& c, double t) { return next_event(c.angle, t); }
double event_of(const Lissajous&, double) { return std::numeric_limits<double>::infinity(); }
double event_of(const Rotations& r, double t) {
  double next = std::numeric_limits<double>::infinity();
  for (const Rotations::Turn& turn : r.turns) next = std::min(next, next_event(turn.angle, t));
  return next;
}
double event_of(const AttitudeWaypoints& r, double t) {
  const auto after = std::upper_bound(r.times().begin(), r.times().end(), t);
  return after == r.times().end() ? std::numeric_limits<double>::infinity() : *after;
}

// What is wrong with a part, under its name.
std::string flaw_in(const char* part, const Reference& reference) {
  const std::string why = flaw(reference);
  return why.empty() ? why : fmt::format("{}: {}", part, why);
}

std::string flaw_of(const Components& c) {
  const char* const names[] = {"x", "y", "z"};
  const Reference* const parts[] = {&c.x, &c.y, &c.z};
  for (int k = 0; k < 3; ++k)
    if (std::string why = flaw_in(names[k], *parts[k]); !why.empty()) return why;
  return "";
}

std::string flaw_of(const Circle& c) {
  if (!c.centre.allFinite() || !c.normal.allFinite() || !c.start.allFinite() || !std::isfinite(c.radius)) return kNotFinite;
  if (!(c.radius > 0)) return fmt::format("the radius of a circle must be positive, not {} m", c.radius);
  if (!(c.normal.norm() > 0)) return "the normal of a circle has no direction";
  if (!(c.normal.normalized().cross(c.start.normalized()).norm() > kAlike))
    return "a circle must start in a direction that is not along its normal";
  return flaw_in("angle", c.angle);
}

std::string flaw_of(const Lissajous& l) {
  return l.centre.allFinite() && l.amplitudes.allFinite() && l.frequencies.allFinite() && l.phases.allFinite() ? "" : kNotFinite;
}

std::string flaw_of(const Quat& q) {
  if (!q.coeffs().allFinite()) return kNotFinite;
  return std::abs(q.norm() - 1) < kAlike ? "" : fmt::format("an attitude is a quaternion of length {}, not 1", q.norm());
}

std::string flaw_of(const Rotations& r) {
  for (const Rotations::Turn& turn : r.turns) {
    if (!turn.axis.allFinite()) return kNotFinite;
    if (!(turn.axis.norm() > 0)) return "the axis of a rotation has no direction";
    if (std::string why = flaw_in("angle", turn.angle); !why.empty()) return why;
  }
  return flaw_of(r.q0);
}

std::string flaw_of(const AttitudeWaypoints& r) {
  if (r.attitudes().empty()) return "a list of attitudes needs at least one";
  for (const Quat& q : r.attitudes())
    if (std::string why = flaw_of(q); !why.empty()) return why;
  for (std::size_t i = 0; i < r.times().size(); ++i) {
    if (!std::isfinite(r.times()[i])) return kNotFinite;
    if (i == 0) continue;
    if (!(r.times()[i - 1] < r.times()[i]))
      return fmt::format("the times of attitudes must increase, but {} s comes before {} s", r.times()[i - 1], r.times()[i]);
    if (r.ways()[i - 1].norm() > std::numbers::pi - kAlike)
      return fmt::format("the attitudes at {} s and {} s are half a turn apart, so there is no shorter way; say one between",
                         r.times()[i - 1], r.times()[i]);
  }
  return "";
}

}  // namespace

AttitudeWaypoints::AttitudeWaypoints(std::vector<double> times, std::vector<Quat> attitudes)
    : times_(std::move(times)), attitudes_(std::move(attitudes)) {
  INVAR_CHECK(times_.size() == attitudes_.size(), "one attitude per time");
  for (std::size_t i = 1; i < attitudes_.size(); ++i) {
    const Quat& last = attitudes_[i - 1];
    if (last.dot(attitudes_[i]) < 0) attitudes_[i].coeffs() *= -1;
    ways_.push_back(log_so3(last.conjugate() * attitudes_[i]));
  }
}

PoseJet jet(const PoseReference& reference, Instant at) {
  const Point point = std::visit([at](const auto& r) { return point_of(r, at); }, reference.position);
  const Attitude attitude = std::visit([at](const auto& r) { return attitude_of(r, at); }, reference.attitude);
  const Quat& q = reference.X_WA.q;
  return {reference.X_WA * point.p, q * point.v, q * point.a, normalized(q * attitude.q), q * attitude.w, q * attitude.alpha};
}

double next_event(const PoseReference& reference, double t) {
  const auto of = [t](const auto& r) { return event_of(r, t); };
  return std::min(std::visit(of, reference.position), std::visit(of, reference.attitude));
}

std::string flaw(const PoseReference& reference) {
  const auto of = [](const auto& r) { return flaw_of(r); };
  if (std::string why = std::visit(of, reference.position); !why.empty()) return why;
  if (std::string why = std::visit(of, reference.attitude); !why.empty()) return why;
  if (!reference.X_WA.p.allFinite()) return kNotFinite;
  return flaw_of(reference.X_WA.q);
}

Components through_points(const std::vector<double>& times, const std::vector<Vec3>& points) {
  MinimumJerk ways[3];
  for (int k = 0; k < 3; ++k) {
    ways[k].times = times;
    for (const Vec3& p : points) ways[k].values.push_back(p[k]);
  }
  return {ways[0], ways[1], ways[2]};
}

Signal turning(double period) { return Polynomial{{0, 2 * std::numbers::pi / period}, 0}; }

}  // namespace invar
