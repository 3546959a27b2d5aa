// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "invar/base/error.hpp"
#include "invar/geom/pose.hpp"

namespace invar {

/// What a mechanism looks like: triangles in the axes of every body, and lines between points of bodies. Read from the scene of a
/// recording (docs/page-data.md); bodies without shapes of their own are rods from the centre of mass to the joints.
struct Drawing {
  using Corners = std::vector<Vec3>;  ///< three per triangle, counter-clockwise seen from outside
  /// What is on a body for a while: a payload.
  struct Load {
    double from, until;  ///< s; there from the first on, until before the second
    Corners corners;
    bool there(double t) const { return t >= from && t < until; }
  };
  struct Body {
    std::string name;
    Vec3 com = Vec3::Zero();
    Corners corners;
    std::vector<Load> loads = {};
    std::vector<std::pair<double, Vec3>> later = {};  ///< centres of mass from times on, rising

    Vec3 com_at(double t) const {
      Vec3 out = com;
      for (const auto& [from, other] : later)
        if (t >= from) out = other;
      return out;
    }
  };
  struct Point {
    int body;  ///< -1: the ground
    Vec3 p;
  };
  std::vector<Body> bodies;
  std::vector<std::vector<Point>> tendons;
  Corners obstacles;  ///< World
  double length = 1;  ///< m; typical
};

/// Fails where the text is no scene.
Result<Drawing> drawing_of(const std::string& scene);

}  // namespace invar
