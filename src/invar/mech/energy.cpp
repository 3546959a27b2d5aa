// SPDX-License-Identifier: Apache-2.0
//
//   kinetic    Σ ½ m |v_C|² + ½ w·I w  (body axes)  +  Σ ½ armature v²
//   potential  -Σ m g·p_C
//   momentum   linear Σ m v_C,  angular about the origin Σ p_C × m v_C + I w;  about the centre of mass c: (p_C - c) × m (v_C -
//   c')
#include "invar/mech/energy.hpp"

#include "invar/mech/passive.hpp"
#include "invar/mech/tendons.hpp"

namespace invar {

namespace {

Vec3 spin(const Body& body, const BodyState& s) { return s.q_WB * (body.inertia.I_C * (s.q_WB.conjugate() * s.w_WB)); }

/// Calls f(body, state) for every body.
template <class F>
void for_bodies(const Model& model, const Bodies& bodies, F&& f) {
  for (std::size_t b = 0; b < bodies.size(); ++b) f(model.bodies()[b], bodies[b]);
}

}  // namespace

Energy energy(const Model& model, const Bodies& bodies, const VecX& q, const VecX& v) {
  Energy e;
  for_bodies(model, bodies, [&](const Body& body, const BodyState& s) {
    const Vec3 w_B = s.q_WB.conjugate() * s.w_WB;
    e.kinetic += 0.5 * (body.inertia.mass * s.v_WC.squaredNorm() + w_B.dot(body.inertia.I_C * w_B));
    e.potential -= body.inertia.mass * model.gravity().dot(s.p_WC);
  });
  for (const Joint& joint : model.joints())
    for (int k = 0; k < joint.nv; ++k)
      e.kinetic += 0.5 * joint.passive[static_cast<std::size_t>(k)].armature * v[joint.v0 + k] * v[joint.v0 + k];
  e.elastic = elastic_energy(model, q) + tendon_energy(model, bodies);
  return e;
}

Momentum momentum(const Model& model, const Bodies& bodies) {
  Momentum total;
  for_bodies(model, bodies, [&](const Body& body, const BodyState& s) {
    total.linear += body.inertia.mass * s.v_WC;
    total.angular += body.inertia.mass * s.p_WC.cross(s.v_WC) + spin(body, s);
  });
  return total;
}

Vec3 centre_of_mass(const Model& model, const Bodies& bodies) {
  double mass = 0;
  Vec3 first = Vec3::Zero();
  for_bodies(model, bodies, [&](const Body& body, const BodyState& s) {
    mass += body.inertia.mass;
    first += body.inertia.mass * s.p_WC;
  });
  return mass > 0 ? Vec3(first / mass) : Vec3(Vec3::Zero());
}

Vec3 angular_momentum_about_com(const Model& model, const Bodies& bodies) {
  double mass = 0;
  Vec3 linear = Vec3::Zero();
  for_bodies(model, bodies, [&](const Body& body, const BodyState& s) {
    mass += body.inertia.mass;
    linear += body.inertia.mass * s.v_WC;
  });
  const Vec3 p = centre_of_mass(model, bodies);
  const Vec3 v = mass > 0 ? Vec3(linear / mass) : Vec3(Vec3::Zero());
  // Each body relative to the common centre: no cancellation of large numbers far from the origin.
  Vec3 total = Vec3::Zero();
  for_bodies(model, bodies, [&](const Body& body, const BodyState& s) {
    total += body.inertia.mass * (s.p_WC - p).cross(s.v_WC - v) + spin(body, s);
  });
  return total;
}

}  // namespace invar
