// SPDX-License-Identifier: Apache-2.0
//
// Points P_0 .. P_n, segments d_k = P_k+1 - P_k with e_k = d_k / |d_k|:
//   s = sum |d_k|,   s' = sum e_k . (v_k+1 - v_k),   stretch = s - rest
//   tension T = stiffness stretch + damping s', at least zero where the tendon can only pull, and zero where it hangs slack
//   force on P_k:  T (e_k - e_k-1),   energy:  stiffness stretch² / 2 (none where it hangs slack)
// Their power is -T s'; of it -stiffness stretch s' is drawn from the energy, the rest (T - stiffness stretch) s' is lost.
#include "invar/mech/tendons.hpp"

#include <algorithm>

#include "invar/mech/tendon_points.hpp"
#include "invar/mech/tension.hpp"

namespace invar {
namespace {

/// A point of a tendon: centre of mass of its body (World origin for the ground), arm from there, velocity; World.
struct At {
  Vec3 c, arm, v;
};

// Centres are subtracted first: far from the World origin nothing else would be exact.
Vec3 between(const At& from, const At& to) { return (to.c - from.c) + (to.arm - from.arm); }

At at(const Model& model, const Tendon::Point& point, const Bodies& bodies) {
  if (point.body == kWorld) return {Vec3::Zero(), point.p_BP, Vec3::Zero()};
  const auto b = static_cast<std::size_t>(point.body);
  const BodyState& s = bodies[b];
  const Vec3 arm = s.q_WB * (point.p_BP - model.bodies()[b].inertia.p_BC);
  return {s.p_WC, arm, s.v_WC + s.w_WB.cross(arm)};
}

Vec3 direction(const Vec3& d) {
  const double length = d.norm();
  return length > 0 ? Vec3(d / length) : Vec3(Vec3::Zero());
}

bool slack(const Tendon& tendon, double stretch) { return tendon.tension_only && !(stretch > 0); }

void push(const Vec3& force, const Tendon::Point& point, const At& where, Port& port) {
  if (point.body != kWorld) port[static_cast<std::size_t>(point.body)] += Wrench{where.arm.cross(force), force};
}

}  // namespace

Pull pull_of(const Model& model, const Tendon& tendon, const Bodies& bodies) {
  Pull pull;
  At from = at(model, tendon.points[0], bodies);
  for (std::size_t k = 1; k < tendon.points.size(); ++k) {
    const At to = at(model, tendon.points[k], bodies);
    pull.length += between(from, to).norm();
    pull.rate += direction(between(from, to)).dot(to.v - from.v);
    from = to;
  }
  pull.stretch = pull.length - tendon.rest;
  if (slack(tendon, pull.stretch)) return pull;
  pull.tension = tendon.stiffness * pull.stretch + tendon.damping * pull.rate;
  if (tendon.tension_only) pull.tension = std::max(0.0, pull.tension);
  return pull;
}

void add_tension(const Model& model, const Tendon& tendon, const Bodies& bodies, double tension, Port& port) {
  At from = at(model, tendon.points[0], bodies);
  for (std::size_t k = 1; k < tendon.points.size(); ++k) {
    const At to = at(model, tendon.points[k], bodies);
    const Vec3 force = tension * direction(between(from, to));
    push(force, tendon.points[k - 1], from, port);
    push(-force, tendon.points[k], to, port);
    from = to;
  }
}

Vec3 segment_of(const Model& model, const Tendon& tendon, std::size_t k, const Bodies& bodies) {
  return between(at(model, tendon.points[k - 1], bodies), at(model, tendon.points[k], bodies));
}

Vec3 segment_rate_of(const Model& model, const Tendon& tendon, std::size_t k, const Bodies& bodies) {
  return at(model, tendon.points[k], bodies).v - at(model, tendon.points[k - 1], bodies).v;
}

void add_tendons(const Model& model, const Bodies& bodies, Port& port, double& dissipation) {
  for (const Tendon& tendon : model.tendons()) {
    const Pull pull = pull_of(model, tendon, bodies);
    dissipation += (pull.tension - elastic_tension(tendon, pull.stretch)) * pull.rate;
    if (pull.tension != 0) add_tension(model, tendon, bodies, pull.tension, port);
  }
}

double tendon_energy(const Model& model, const Bodies& bodies) {
  double sum = 0;
  for (const Tendon& tendon : model.tendons()) sum += elastic_energy(tendon, pull_of(model, tendon, bodies).stretch);
  return sum;
}

}  // namespace invar
