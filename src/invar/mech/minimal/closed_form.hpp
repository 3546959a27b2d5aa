// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/geom/vector.hpp"

namespace invar {

/// Loops that close by ruler and compass. A point M has to meet a point F; hinges and sliders that move one of them are given as
/// they stand, World. Each function gives increments of the two or three freedoms, on the branch on which the linkage stands;
/// false where the circles do not meet, or the linkage is not of this form: Newton's method then goes on from where it is.
namespace closed_form {

/// A hinge about the unit vector `axis` through `point`, or a slider along it.
struct Freedom {
  Vec3 axis, point;
  bool turns;
  int side;  ///< 1: it moves M, -1: it moves F
};

/// Four-bar, parallelogram, slider-crank, cylinder between two links: two freedoms in the plane of the hinges. `outer` lies
/// beyond `inner` where both move the same point.
bool dyad(const Freedom& inner, const Freedom& outer, const Vec3& M, const Vec3& F, double by[2]);

/// A leg: two hinges that cross at right angles, then a slider through their crossing and normal to the second, with M on its
/// line.
bool leg(const Freedom& first, const Freedom& second, const Freedom& slider, const Vec3& M, const Vec3& F, double by[3]);

}  // namespace closed_form
}  // namespace invar
