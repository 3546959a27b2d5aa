// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "invar/base/error.hpp"
#include "invar/geom/pose.hpp"

namespace invar {

/// What a mechanism looks like: triangles in the axes of every body, and lines between points of bodies. Read from the scene of a
/// recording (docs/page-data.md); bodies without shapes are rods from the centre of mass to the joints.
struct Drawing {
  struct Body {
    std::string name;
    Vec3 com = Vec3::Zero();
    std::vector<Vec3> corners;  ///< three per triangle, counter-clockwise seen from outside
  };
  struct Point {
    int body;  ///< -1: the ground
    Vec3 p;
  };
  std::vector<Body> bodies;
  std::vector<std::vector<Point>> tendons;
  std::vector<Vec3> obstacles;  ///< three per triangle, World
  double length = 1;            ///< m; typical
};

/// Fails where the text is no scene.
Result<Drawing> drawing_of(const std::string& scene);

}  // namespace invar
