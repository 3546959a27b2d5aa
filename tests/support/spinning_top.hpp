// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/base/check.hpp"
#include "invar/geom/rotation.hpp"
#include "invar/mech/bodies.hpp"

namespace invar::testing {

/// A free body with the moments of inertia (A, A, C), in closed form. Its angular momentum L = A w + (C - A) (w·e) e, with e
/// the body's z axis, is constant; so w = L/A + (1 - C/A) w3 e with a constant spin w3 = w·e, and
///   R(t) = exp(t L/A) R(0) exp(t (1 - C/A) w3 e_z).
/// w turns about L, hence w and w' do not commute: an attitude update that forgets dexp^-1 shows.
struct SpinningTop {
  double A = 0.02, C = 0.035;  ///< kg m²
  Quat q0 = from_zyx({0.3, -0.5, 0.8});
  Vec3 w0 = Vec3(2.0, -1.0, 3.0);  ///< rad/s, World

  BodyState at(double t) const {
    const Vec3 e = q0 * Vec3::UnitZ();
    const double spin = w0.dot(e);
    const Vec3 L = A * w0 + (C - A) * spin * e;
    BodyState s;
    s.q_WB = normalized(exp_so3(t * L / A) * q0 * exp_so3(Vec3(0, 0, t * (1 - C / A) * spin)));
    s.w_WB = L / A + (1 - C / A) * spin * (s.q_WB * Vec3::UnitZ());
    return s;
  }

  ModelSpec spec() const {
    ModelSpec spec;
    spec.gravity = Vec3::Zero();
    BodySpec body;
    body.name = "top";
    body.inertia.mass = 1;
    body.inertia.I_C = Vec3(A, A, C).asDiagonal();
    spec.bodies.push_back(body);
    return spec;
  }
  Model model() const {
    const Result<Model> built = Model::build(spec());
    INVAR_CHECK(built.has_value(), "the spinning top is a mechanism");
    return *built;
  }
};

/// The angle between two attitudes, rad.
inline double angle_between(const Quat& a, const Quat& b) { return log_so3(a.conjugate() * b).norm(); }

}  // namespace invar::testing
