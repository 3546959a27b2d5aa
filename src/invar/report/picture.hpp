// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "invar/base/error.hpp"
#include "invar/geom/vector.hpp"

namespace invar {

/// Most pixels of a picture: each costs 64 bytes while it is drawn.
inline constexpr long kMostPixels = 16000000;

struct PictureOptions {
  int width = 1600, height = 1000;
  std::vector<double> times = {};        ///< s; poses drawn, later ones stronger; empty: the last
  int strip = 0;                         ///< this many poses, even over the recording, beside those
  bool axes = true;                      ///< a box with a grid and numbers around it
  std::vector<std::string> traces = {};  ///< bodies whose centres of mass leave a line; empty: none
  std::optional<Vec3> from =
      {};  ///< direction from which it is seen; nothing: across the plane of the motion, or from above at an angle
};

/// A still of a recording as PNG, rendered by itself: no display, no browser. Orthographic, fitted to what is drawn.
Result<std::string> picture_png(const std::string& directory, const PictureOptions& options);

}  // namespace invar
