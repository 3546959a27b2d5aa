// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "invar/geom/vector.hpp"

namespace invar {

/// 0..1 each, as they are seen (sRGB).
struct Colour {
  float r = 0, g = 0, b = 0;
};

/// A picture with depth: triangles and lines hide what lies behind them. Pixels are computed four times as many as there are.
class Canvas {
 public:
  Canvas(int width, int height, Colour background);

  int width() const { return width_; }
  int height() const { return height_; }

  /// Corners in pixels from the upper left corner, z into the picture.
  void triangle(const Vec3& a, const Vec3& b, const Vec3& c, Colour colour);
  /// A round stroke of some width in pixels, in front of what lies at the same depth.
  void stroke(const Vec3& a, const Vec3& b, double width, Colour colour);

  /// As a PNG file, eight bits a colour.
  std::string png() const;

 private:
  void dot(int x, int y, float depth, Colour colour);

  int width_, height_;
  std::vector<Colour> pixels_;
  std::vector<float> depth_;
};

}  // namespace invar
