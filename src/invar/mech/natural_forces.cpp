// SPDX-License-Identifier: Apache-2.0
//
// Joint coordinates q(x) with gradient N: effort e gives the force e Nᵀ with power e q'. Tendons: s = Σ |d_k|, tension T, force
// -T ∇s.
//
// Discrete gradients. One coordinate: the secant (V(q1) - V(q0))/(q1 - q0) along a gradient N̄ with N̄·Δx = Δq (natural_freedoms).
// Tendons have theirs (tendon_points). Neither divides by a change. A ball's spring has three coordinates: the moment at the
// middle, corrected along the relative rotation of the step by what its work lacks.
#include "invar/mech/natural_forces.hpp"

#include <Eigen/LU>
#include <cmath>
#include <limits>

#include "invar/mech/passive.hpp"
#include "invar/mech/tendon_points.hpp"

namespace invar {
namespace {

double elastic_effort(const Passive& p, double q) {
  double unused = 0;
  return spring_and_stop(p, q, 0, unused);
}

// What of the tension loses energy: a damper, as far as the tendon can pull.
double lossy_tension(const Tendon& t, double stretch, double rate) {
  if (t.tension_only && !(stretch > 0)) return 0;
  const double elastic = elastic_tension(t, stretch), total = elastic + t.damping * rate;
  return (t.tension_only ? std::max(0.0, total) : total) - elastic;
}

bool loses(const Passive& p) { return p.damping > 0 || p.friction > 0 || p.stop_damping > 0; }

}  // namespace

NaturalForces::NaturalForces(const NaturalCoordinates& coordinates)
    : c_(coordinates),
      block_(MatX::Zero(coordinates.per_body(), coordinates.per_body())),
      change_(VecX::Zero(coordinates.size())) {
  const Model& model = c_.model();
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) {
    const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
    const int ball = ball_start(joint);
    for (int k = 0; k < joint.nv; ++k) {
      freedoms_.push_back(natural_freedom(c_, j, k));
      const Passive& p = joint.passive[static_cast<std::size_t>(k)];
      dissipative_ = dissipative_ || loses(p);
      if (joint.has_passive && (k < ball || loses(p))) springs_.push_back({freedoms_.back(), p, joint.v0 + k});
    }
    if (!joint.has_spring || ball == joint.nv) continue;
    Ball b{j, joint.parent, joint.child, Vec3::Zero(), Vec3::Zero()};
    for (int k = 0; k < 3; ++k) {
      b.stiffness[k] = joint.passive[static_cast<std::size_t>(ball + k)].stiffness;
      b.rest[k] = joint.passive[static_cast<std::size_t>(ball + k)].rest;
    }
    balls_.push_back(b);
  }
  for (const Tendon& tendon : model.tendons()) {
    Line line{{}, std::vector<double>(tendon.points.size(), 0.0), &tendon};
    for (const Tendon::Point& p : tendon.points) line.points.push_back(c_.point(p.body, p.p_BP));
    forces_.resize(std::max(forces_.size(), line.points.size()));
    tendons_.push_back(std::move(line));
    dissipative_ = dissipative_ || tendon.damping > 0;
  }
  from_ = to_ = forces_;
  refresh();
}

void NaturalForces::recompile() {
  for (NaturalFreedom& f : freedoms_) f = natural_freedom(c_, f.joint, f.freedom);
  for (Spring& s : springs_) s.freedom = natural_freedom(c_, s.freedom.joint, s.freedom.freedom);
  for (Line& line : tendons_)
    for (std::size_t k = 0; k < line.points.size(); ++k)
      line.points[k] = c_.point(line.tendon->points[k].body, line.tendon->points[k].p_BP);
  refresh();
}

void NaturalForces::refresh() {
  for (Line& line : tendons_)
    for (std::size_t k = 0; k < line.points.size(); ++k)
      line.heights[k] = c_.height(line.tendon->points[k].body, line.tendon->points[k].p_BP);
}

double NaturalForces::gravity_energy(const VecX& x) const {
  double sum = 0;
  for (int b = 0; b < static_cast<int>(c_.model().bodies().size()); ++b) {
    const NaturalVector centre{b, 1, Vec3::Zero()};
    sum -= c_.model().bodies()[static_cast<std::size_t>(b)].inertia.mass *
           c_.value(centre, x).dot(c_.direction(kWorld, c_.model().gravity()).axes);
  }
  return sum;
}

double NaturalForces::elastic_energy(const VecX& x, const VecX& wound) const {
  double sum = 0;
  for (const Spring& s : springs_)
    if (s.freedom.kind != NaturalFreedom::Kind::Ball)
      sum += spring_and_stop_energy(s.passive, coordinate(c_, s.freedom, x, wound[s.v]));
  for (const Ball& ball : balls_) sum += ball_energy(ball, x);
  for (const Line& line : tendons_)
    sum += invar::elastic_energy(*line.tendon, length_of(place(line, x, from_)) - line.tendon->rest);
  return sum;
}

void NaturalForces::add_gravity(double factor, VecX& f) const {
  const Vec3 g = c_.direction(kWorld, c_.model().gravity()).axes;
  for (int b = 0; b < static_cast<int>(c_.model().bodies().size()); ++b) {
    const double m = factor * c_.model().bodies()[static_cast<std::size_t>(b)].inertia.mass;
    for (int k = 0; k < c_.dimension(); ++k) f[c_.per_body() * b + k] += m * g[k];
  }
}

void NaturalForces::add_elastic(const VecX& x, const VecX& wound, double factor, VecX& f) const {
  for (const Spring& s : springs_) {
    if (s.freedom.kind == NaturalFreedom::Kind::Ball) continue;
    const double effort = elastic_effort(s.passive, coordinate(c_, s.freedom, x, wound[s.v]));
    if (effort != 0) gradient(c_, s.freedom, x).add_to(f, factor * effort, c_.per_body());
  }
  for (const Ball& ball : balls_) add_ball(ball, x, factor, f);
  for (const Line& line : tendons_) {
    const auto p = place(line, x, from_);
    pull(line, tension_at(*line.tendon, p).value, p, p, factor, f);
  }
}

void NaturalForces::add_discrete(const VecX& x0, const VecX& x1, const VecX& mid, const VecX& wound, double factor,
                                 VecX& f) const {
  for (const Spring& s : springs_) {
    if (s.freedom.kind == NaturalFreedom::Kind::Ball) continue;
    const NaturalChange step = change(c_, s.freedom, x0, x1, mid);
    const double q0 = coordinate(c_, s.freedom, x0, wound[s.v]);
    step.gradient.add_to(f, -factor * spring_and_stop_secant(s.passive, q0, q0 + step.change), c_.per_body());
  }
  for (const Ball& ball : balls_) add_ball_discrete(ball, x0, x1, mid, factor, f);
  for (const Line& line : tendons_) {
    const auto p0 = place(line, x0, from_), p1 = place(line, x1, to_);
    const double no_damper = std::numeric_limits<double>::infinity();
    pull(line, tension_over(*line.tendon, p0, p1, no_damper).elastic, p0, p1, factor, f);
  }
}

double NaturalForces::add_dissipation(const VecX& x, const VecX& v, const VecX& wound, double factor, VecX& f) const {
  double lost = 0;
  if (!dissipative_) return lost;
  for (const Spring& s : springs_) {
    if (!loses(s.passive)) continue;
    const NaturalGradient g = gradient(c_, s.freedom, x);
    const double rate = g.rate(v, c_.per_body());
    double effort = damping_and_friction(s.passive, rate), unused = 0;
    if (s.freedom.kind != NaturalFreedom::Kind::Ball) {
      const double q = coordinate(c_, s.freedom, x, wound[s.v]);
      effort += spring_and_stop(s.passive, q, rate, unused) - elastic_effort(s.passive, q);
    }
    g.add_to(f, factor * effort, c_.per_body());
    lost -= effort * rate;
  }
  for (const Line& line : tendons_) {
    if (!(line.tendon->damping > 0)) continue;
    const auto p = place(line, x, from_);
    const double s_rate = rate(line, p, v), tension = lossy_tension(*line.tendon, length_of(p) - line.tendon->rest, s_rate);
    pull(line, tension, p, p, factor, f);
    lost += tension * s_rate;
  }
  return lost;
}

NaturalForces::Power NaturalForces::add_load(const Load& load, const VecX& x, const VecX& v, double factor, VecX& f) const {
  Power given;
  for (int b = 0; b < static_cast<int>(load.port.size()); ++b) {
    const Wrench& F = load.port[static_cast<std::size_t>(b)];
    if (F.force.isZero(0) && F.moment.isZero(0)) continue;
    const Vec3 force = c_.direction(kWorld, F.force).axes;
    for (int k = 0; k < c_.dimension(); ++k) {
      f[c_.per_body() * b + k] += factor * force[k];
      given.port += force[k] * v[c_.per_body() * b + k];
    }
    add_moment(c_, b, x, F.moment, factor, f);
    given.port += F.moment.dot(angular_rate(c_, b, x, v));
  }
  for (std::size_t k = 0; k < freedoms_.size(); ++k) {
    const double effort = load.efforts[static_cast<Eigen::Index>(k)];
    if (effort == 0) continue;
    const NaturalGradient g = gradient(c_, freedoms_[k], x);
    g.add_to(f, factor * effort, c_.per_body());
    given.efforts += effort * g.rate(v, c_.per_body());
  }
  return given;
}

std::span<const Vec3> NaturalForces::place(const Line& line, const VecX& x, Points& p) const {
  for (std::size_t k = 0; k < line.points.size(); ++k) {
    p[k] = c_.value(line.points[k], x);
    if (c_.plane()) p[k].z() = line.heights[k];
  }
  return {p.data(), line.points.size()};
}

double NaturalForces::rate(const Line& line, std::span<const Vec3> p, const VecX& v) const {
  double sum = 0;
  for (std::size_t k = 0; k + 1 < p.size(); ++k)
    sum += bend_at(0, p[k + 1] - p[k]).e.dot(c_.linear(line.points[k + 1], v) - c_.linear(line.points[k], v));
  return sum;
}

// The forces at the points of one instant (p0 = p1) or of a step, on the coordinates.
void NaturalForces::pull(const Line& line, double tension, std::span<const Vec3> p0, std::span<const Vec3> p1, double factor,
                         VecX& f) const {
  if (tension == 0) return;
  const std::span<Vec3> at{forces_.data(), p0.size()};
  std::fill(at.begin(), at.end(), Vec3::Zero());
  add_forces(tension, p0, p1, at);
  for (std::size_t k = 0; k < at.size(); ++k)
    if (const int b = line.points[k].body; b != kWorld) c_.spread(line.points[k], at[k], factor, f.data() + c_.per_body() * b);
}

// Attitude of M in F from the rotations nearest to the directors.
Quat NaturalForces::relative(const Ball& ball, const VecX& x, Quat* q_WF) const {
  const Joint& joint = c_.model().joints()[static_cast<std::size_t>(ball.joint)];
  const auto attitude = [&](int b) {
    return b == kWorld ? Quat::Identity() : normalized(Quat(NaturalCoordinates::nearest_rotation(c_.directors(b, x))));
  };
  const Quat q_F = attitude(ball.parent) * joint.X_PF.q;
  if (q_WF) *q_WF = q_F;
  return normalized(q_F.conjugate() * attitude(ball.child) * joint.X_CM.q);
}

double NaturalForces::ball_energy(const Ball& ball, const VecX& x) const {
  const SpringLaw law = c_.model().joints()[static_cast<std::size_t>(ball.joint)].spring_law;
  return spherical_spring_energy(law, ball.stiffness, ball.rest, relative(ball, x, nullptr));
}

// The rotation nearest to D turns by (tr P 1 - P)^-1 Σ r_i × δd_i, with its columns r_i and P = R Dᵀ, symmetric.
void NaturalForces::add_ball(const Ball& ball, const VecX& x, double factor, VecX& f) const {
  const SpringLaw law = c_.model().joints()[static_cast<std::size_t>(ball.joint)].spring_law;
  Quat q_WF;
  const Quat q_FM = relative(ball, x, &q_WF);
  const Vec3 moment = q_WF * spherical_spring_moment(law, ball.stiffness, ball.rest, q_FM);
  for (const int b : {ball.parent, ball.child}) {
    if (b == kWorld) continue;
    const Mat3 D = c_.directors(b, x), R = NaturalCoordinates::nearest_rotation(D);
    const Mat3 P = 0.5 * (R * D.transpose() + D * R.transpose());
    const Vec3 z = (b == ball.child ? factor : -factor) * ((P.trace() * Mat3::Identity() - P).inverse() * moment);
    for (int i = 0; i < 3; ++i) f.segment<3>(12 * b + 3 + 3 * i) += z.cross(Vec3(R.col(i)));
  }
}

// Over a step the bodies turn by Cayley's map with b = (turn)/2, so that M turns relative to F, in the axes of F at the start, by
// the quaternion (1, -b_P)(1, b_C) = (1 + b_P·b_C, (1 - b_P×)(b_C - b_P)). The moment m of the spring halfway, in those axes,
// does the work m·(1 - b_P×) u/(1 + b_P·b_C) up to O(|u|³), u = 2 (b_C - b_P): that is how it pairs with u.
void NaturalForces::add_ball_discrete(const Ball& ball, const VecX& x0, const VecX& x1, const VecX& mid, double factor,
                                      VecX& f) const {
  const SpringLaw law = c_.model().joints()[static_cast<std::size_t>(ball.joint)].spring_law;
  Quat q_WF;
  const Quat q0 = relative(ball, x0, &q_WF), q1 = relative(ball, x1, nullptr);
  change_ = x1 - x0;
  const Vec3 b_P = 0.5 * angular_rate(c_, ball.parent, mid, change_), b_C = 0.5 * angular_rate(c_, ball.child, mid, change_);
  const Vec3 m = q_WF * spherical_spring_halfway(law, ball.stiffness, ball.rest, q0, q1), u = 2 * (b_C - b_P);
  const Vec3 paired = (m + b_P.cross(m)) / (1 + b_P.dot(b_C));
  const Vec3 moment = spherical_spring_exact(law, ball.stiffness, ball.rest, q0, q1, paired, u);
  add_moment(c_, ball.child, mid, moment, factor, f);
  add_moment(c_, ball.parent, mid, moment, -factor, f);
}

}  // namespace invar
