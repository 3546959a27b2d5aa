// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "invar/base/error.hpp"

namespace invar {

/// Triangles between shared corners, to be drawn.
struct Mesh {
  std::vector<double> vertices;  ///< x, y, z of one after the other, m
  std::vector<int> triangles;    ///< three corners each, counter-clockwise seen from outside
};

/// Most triangles, of one mesh and of all that a page shows together.
inline constexpr std::size_t kMostTriangles = 100000;

/// Reads STL (binary and text) and Wavefront OBJ (corners and faces; materials and normals are passed over), by the ending of the
/// name. Refused: other endings, numbers that are not finite, corners that are not there, files without triangles or with too
/// many.
Result<Mesh> read_mesh_file(const std::string& path);

}  // namespace invar
