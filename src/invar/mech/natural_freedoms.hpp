// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/natural_coordinates.hpp"

namespace invar {

/// What a scalar function of two bodies does to their coordinates: rate = Σ part · v of the body.
struct NaturalGradient {
  int body[2] = {kWorld, kWorld};
  double part[2][12] = {};

  double rate(const VecX& v, int per_body) const {
    double sum = 0;
    for (int s = 0; s < 2; ++s)
      for (int i = 0; body[s] != kWorld && i < per_body; ++i) sum += part[s][i] * v[per_body * body[s] + i];
    return sum;
  }
  void add_to(VecX& f, double factor, int per_body) const {
    for (int s = 0; s < 2; ++s)
      for (int i = 0; body[s] != kWorld && i < per_body; ++i) f[per_body * body[s] + i] += factor * part[s][i];
  }
};

/// One freedom of a joint as a function of natural coordinates.
///   slide  a form f·(M - F)
///   turn   the angle of (cosine, sine), two forms with cosine² + sine² = 1 where the joint holds
///   ball   no function; its rate is the relative angular velocity along an axis of F
struct NaturalFreedom {
  enum class Kind { Slide, Turn, Ball };
  Kind kind = Kind::Slide;
  int joint = 0, freedom = 0;  ///< of the model
  int parent = kWorld, child = kWorld;
  NaturalForm cosine, sine;  ///< slide: cosine alone
  NaturalVector axis;        ///< ball
  double along = 0;          ///< ball in the plane: the part of the axis along the normal
};

/// Freedom k of joint j.
NaturalFreedom natural_freedom(const NaturalCoordinates& coordinates, int joint, int k);

/// Coordinate of a slide or turn (turns on the turn nearest to `near`).
double coordinate(const NaturalCoordinates& c, const NaturalFreedom& freedom, const VecX& x, double near);
/// Gradient (of the rate, for a ball) at x. Exact for any x.
NaturalGradient gradient(const NaturalCoordinates& c, const NaturalFreedom& freedom, const VecX& x);

/// A change of a slide or turn over a step from x0 to x1, and a gradient with gradient · (x1 - x0) = change exactly: the
/// constraints hold at both ends, `mid` is their mean. Nothing is divided by the change. Turns change by less than half a turn.
struct NaturalChange {
  double change = 0;
  NaturalGradient gradient;
};
NaturalChange change(const NaturalCoordinates& c, const NaturalFreedom& freedom, const VecX& x0, const VecX& x1, const VecX& mid);

/// The angular velocity along each World axis as gradients (space): rate(v) = w(x, v), the w whose director velocities are
/// nearest to v, and exactly w where v is rigid about x. Its transpose carries moments: the power of the force is moment · w.
Vec3 angular_rate(const NaturalCoordinates& c, int body, const VecX& x, const VecX& v);
void add_moment(const NaturalCoordinates& c, int body, const VecX& x, const Vec3& moment, double factor, VecX& f);

}  // namespace invar
