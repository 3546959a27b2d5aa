// SPDX-License-Identifier: Apache-2.0
#include "support/unknown_load.hpp"

#include <numbers>

#include "invar/geom/gauss.hpp"
#include "invar/geom/rotation.hpp"
#include "invar/io/model_file.hpp"
#include "invar/learn/motion_factor.hpp"
#include "support/places.hpp"
#include "support/states.hpp"

namespace invar::testing {
namespace {

// Three components, each a sum of three sines of its own, and their derivatives.
struct Wave {
  Mat3 amplitude, rate, phase;  // component × sine

  explicit Wave(Random& random) {
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) {
        rate(i, k) = 2 * std::numbers::pi * random.uniform(0.15, 0.9);
        amplitude(i, k) = random.uniform(0.2, 0.6);
        phase(i, k) = random.uniform(0, 2 * std::numbers::pi);
      }
  }
  Vec3 at(double t) const { return (amplitude.array() * (rate.array() * t + phase.array()).sin()).rowwise().sum(); }
  Vec3 slope(double t) const {
    return (amplitude.array() * rate.array() * (rate.array() * t + phase.array()).cos()).rowwise().sum();
  }
};

Wrench of_payload(const Inertia& load, const Vec3& p_BC, const BodyState& at, const BodyAcceleration& a, const Vec3& gravity) {
  const Vec3 arm = at.q_WB * (load.p_BC - p_BC);
  const Vec3 there = a.a_WC + a.alpha_WB.cross(arm) + at.w_WB.cross(at.w_WB.cross(arm));
  const Mat3 R = at.q_WB.toRotationMatrix(), I = R * load.I_C * R.transpose();
  const Wrench about_its_own{-(I * a.alpha_WB + at.w_WB.cross(I * at.w_WB)), load.mass * (gravity - there)};
  return about_its_own.about(arm);
}

Wrench of_water(const UnknownLoad& u, const BodyState& at, const Vec3& flow) {
  const GaussRule rule = gauss_rule(8);
  const Vec3 x = at.q_WB * Vec3::UnitX();
  Wrench sum;
  for (int k = 0; k < rule.size; ++k) {
    const Vec3 arm = (rule.point[static_cast<std::size_t>(k)] - 0.5) * x, v = at.v_WC + at.w_WB.cross(arm) - flow;
    const Vec3 along = x.dot(v) * x, across = v - along;
    const Vec3 f = -(u.across * across.norm() * across + u.along * along.norm() * along + u.everywhere * v);
    sum += rule.weight[static_cast<std::size_t>(k)] * Wrench{arm.cross(f), f};
  }
  return sum;
}

// Attitudes from body rates over [from, to] by Magnus' series of fourth order (two Gauss points and their commutator), steps of a
// hundredth of a second: errors of (0.01 · 6 /s)⁴ or so, 1e-5 rad, which move the start of the next sample and nothing else.
void turn(const std::vector<Wave>& rates, double from, double to, std::vector<Quat>& q) {
  const int steps = std::max(1, static_cast<int>(std::ceil((to - from) / 1e-2)));
  const double h = (to - from) / steps, c = std::sqrt(3.0) / 6;
  for (int s = 0; s < steps; ++s)
    for (std::size_t b = 0; b < q.size(); ++b) {
      const double t = from + s * h;
      const Vec3 w1 = rates[b].at(t + (0.5 - c) * h), w2 = rates[b].at(t + (0.5 + c) * h);
      q[b] = normalized(q[b] * exp_so3(0.5 * h * (w1 + w2) + std::sqrt(3.0) / 12 * h * h * w1.cross(w2)));
    }
}

}  // namespace

UnknownLoad UnknownLoad::reference() {
  UnknownLoad u;
  u.nominal = *read_model_file(source_path("models/paper_a_arm.toml"));
  u.payload.mass = 0.6;
  u.payload.p_BC = Vec3(0.35, 0.1, -0.05);
  u.payload.I_C = Vec3(0.02, 0.015, 0.01).asDiagonal();
  return u;
}

ModelSpec UnknownLoad::rubbing() const {
  ModelSpec spec = nominal;
  for (JointSpec& j : spec.joints)
    if (j.kind == JointKind::Spherical)
      j.damping.assign(3, damping), j.friction.assign(3, friction), j.friction_velocity = smoothing;
  return spec;
}

UnknownPlant::UnknownPlant(const UnknownLoad& load)
    : load_(load), nominal_(build(load.nominal)), rubbing_(build(load.rubbing())), glides_(nominal_), rubs_(rubbing_) {}

Port UnknownPlant::unknown(const Bodies& bodies, const Accelerations& a, const Vec3& flow) {
  Port with(bodies.size()), d(bodies.size());
  rubs_.at(bodies), glides_.at(bodies);
  rubs_.add_own_forces(false, with), glides_.add_own_forces(false, d);
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    d[b] = with[b] - d[b] + of_water(load_, bodies[b], flow);
    if (nominal_.bodies()[b].name == "body5")
      d[b] += of_payload(load_.payload, nominal_.bodies()[b].inertia.p_BC, bodies[b], a[b], nominal_.gravity());
  }
  return d;
}

Port UnknownPlant::known(const Bodies& bodies, const Accelerations& a, const Vec3& flow) {
  const Port d = unknown(bodies, a, flow);
  Port port(bodies.size());
  glides_.at(bodies);
  left_over(glides_, a, Port(bodies.size()), VecX::Zero(nominal_.nv()), port);
  for (std::size_t b = 0; b < port.size(); ++b) port[b] -= d[b];
  return port;
}

DataSet excited(const UnknownLoad& load, std::uint64_t seed, int runs, int per_run, double noise) {
  UnknownPlant plant(load);
  const std::size_t n = plant.nominal().bodies().size();
  const Vec3 half(0.5, 0, 0);  // from a centre of mass to the next joint
  DataSet out;
  for (int r = 0; r < runs; ++r) {
    Random random(seed, static_cast<std::uint64_t>(r));
    std::vector<Wave> rates;
    for (std::size_t b = 0; b < n; ++b) rates.emplace_back(random);
    const Wave base(random);
    std::vector<Quat> q;
    for (std::size_t b = 0; b < n; ++b) q.push_back(exp_so3(random_vector(random, 0.2)));
    DataRun run{"run" + std::to_string(r + 1), {}};
    double before = 0;
    for (int i = 0; i < per_run; ++i) {
      DataSample s;
      s.t = 8.0 * (i + 0.5) / per_run;
      turn(rates, before, s.t, q);
      before = s.t;
      s.bodies.resize(n), s.accelerations.resize(n);
      s.efforts = VecX::Zero(plant.nominal().nv());
      Vec3 p = Vec3::Zero(), v = base.at(s.t), a = base.slope(s.t);
      for (std::size_t b = 0; b < n; ++b) {
        BodyState& at = s.bodies[b];
        at.q_WB = q[b];
        at.w_WB = q[b] * rates[b].at(s.t);
        s.accelerations[b].alpha_WB = q[b] * rates[b].slope(s.t);
        const Vec3 arm = q[b] * half, w = at.w_WB, alpha = s.accelerations[b].alpha_WB;
        const auto step = [&] { p += arm, v += w.cross(arm), a += alpha.cross(arm) + w.cross(w.cross(arm)); };
        if (b > 0) step();
        at.p_WC = p, at.v_WC = v, s.accelerations[b].a_WC = a;
        step();
      }
      s.port = plant.known(s.bodies, s.accelerations, s.flow);
      for (BodyAcceleration& x : s.accelerations)
        x.a_WC += random_vector(random, noise), x.alpha_WB += random_vector(random, noise);
      run.samples.push_back(std::move(s));
    }
    out.runs.push_back(std::move(run));
  }
  return out;
}

}  // namespace invar::testing
