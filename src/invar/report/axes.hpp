// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/geom/rotation.hpp"
#include "invar/report/canvas.hpp"

namespace invar {

/// Orthographic: right, down and into the picture; pixels per metre and where the middle lies.
struct Camera {
  Mat3 axes = Mat3::Identity();
  double scale = 1;
  Vec3 offset = Vec3::Zero();

  Vec3 operator()(const Vec3& p) const { return (scale * (axes * p) + offset); }
};

/// Round numbers over [low, high], about `about` of them, in rising order: 1, 2 or 5 times a power of ten apart.
std::vector<double> ticks(double low, double high, int about);

/// The far sides of a box with a grid, and along its lower and left edges names and numbers of x, y and z in m. Axes that point
/// at the eye are left out.
void draw_axes(Canvas& canvas, const Camera& camera, const Vec3& low, const Vec3& high);

}  // namespace invar
