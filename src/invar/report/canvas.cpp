// SPDX-License-Identifier: Apache-2.0
#include "invar/report/canvas.hpp"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "invar/base/check.hpp"
#include "invar/io/log.hpp"

namespace invar {
namespace {

constexpr int kFiner = 2;  // computed pixels per pixel and direction

void put_big(std::string& out, std::uint32_t x) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(x >> shift & 255u);
}

void put_chunk(std::string& out, const char* kind, const std::string& data) {
  put_big(out, static_cast<std::uint32_t>(data.size()));
  const std::string body = kind + data;
  out += body;
  put_big(out, crc32(body.data(), body.size()));
}

char byte(float x) { return static_cast<char>(static_cast<unsigned char>(std::lround(255 * std::clamp(x, 0.0f, 1.0f)))); }

// Twice the area of a triangle, signed.
double area(const Vec3& a, const Vec3& b, double x, double y) {
  return (b.x() - a.x()) * (y - a.y()) - (b.y() - a.y()) * (x - a.x());
}

}  // namespace

Canvas::Canvas(int width, int height, Colour background)
    : width_(width),
      height_(height),
      pixels_(static_cast<std::size_t>(width * height * kFiner * kFiner), background),
      depth_(pixels_.size(), std::numeric_limits<float>::infinity()) {}

void Canvas::dot(int x, int y, float depth, Colour colour) {
  const auto at = static_cast<std::size_t>(y) * static_cast<std::size_t>(width_ * kFiner) + static_cast<std::size_t>(x);
  if (!(depth < depth_[at])) return;
  depth_[at] = depth, pixels_[at] = colour;
}

void Canvas::triangle(const Vec3& a_, const Vec3& b_, const Vec3& c_, Colour colour) {
  const Vec3 finer(kFiner, kFiner, 1), a = a_.cwiseProduct(finer), b = b_.cwiseProduct(finer), c = c_.cwiseProduct(finer);
  const double whole = area(a, b, c.x(), c.y());
  if (!std::isfinite(whole) || whole == 0) return;
  const auto first = [](double u) { return static_cast<int>(std::floor(std::clamp(u, -1e6, 1e6))); };
  const int x0 = std::max(0, first(std::min({a.x(), b.x(), c.x()}))),
            x1 = std::min(width_ * kFiner - 1, first(std::max({a.x(), b.x(), c.x()})));
  const int y0 = std::max(0, first(std::min({a.y(), b.y(), c.y()}))),
            y1 = std::min(height_ * kFiner - 1, first(std::max({a.y(), b.y(), c.y()})));
  for (int y = y0; y <= y1; ++y)
    for (int x = x0; x <= x1; ++x) {
      const double u = area(b, c, x + 0.5, y + 0.5) / whole, v = area(c, a, x + 0.5, y + 0.5) / whole, w = 1 - u - v;
      if (u >= 0 && v >= 0 && w >= 0) dot(x, y, static_cast<float>(u * a.z() + v * b.z() + w * c.z()), colour);
    }
}

void Canvas::stroke(const Vec3& a_, const Vec3& b_, double width, Colour colour) {
  const Vec3 finer(kFiner, kFiner, 1), a = a_.cwiseProduct(finer), b = b_.cwiseProduct(finer);
  const double radius = 0.5 * kFiner * width, length = (b - a).head<2>().norm();
  // Far outside of the picture nothing is seen, and numbers of pixels have an end.
  if (!(length < 1e5 && a.head<2>().cwiseAbs().maxCoeff() < 1e6)) return;
  const int steps = 1 + static_cast<int>(length);
  for (int k = 0; k <= steps; ++k) {
    const Vec3 p = a + (double(k) / steps) * (b - a);
    for (int y = static_cast<int>(p.y() - radius); y <= p.y() + radius; ++y)
      for (int x = static_cast<int>(p.x() - radius); x <= p.x() + radius; ++x)
        if (x >= 0 && y >= 0 && x < width_ * kFiner && y < height_ * kFiner &&
            std::hypot(x + 0.5 - p.x(), y + 0.5 - p.y()) <= radius)
          dot(x, y, static_cast<float>(p.z() - 1e-3), colour);
  }
}

std::string Canvas::png() const {
  // Every row begins with the kind of its filter, none.
  std::string rows;
  for (int y = 0; y < height_; ++y) {
    rows += '\0';
    for (int x = 0; x < width_; ++x) {
      Colour sum;
      for (int k = 0; k < kFiner * kFiner; ++k) {
        const Colour& c =
            pixels_[static_cast<std::size_t>((y * kFiner + k / kFiner) * width_ * kFiner + x * kFiner + k % kFiner)];
        sum.r += c.r, sum.g += c.g, sum.b += c.b;
      }
      constexpr float kShare = 1.0f / (kFiner * kFiner);
      rows += byte(sum.r * kShare), rows += byte(sum.g * kShare), rows += byte(sum.b * kShare);
    }
  }
  uLongf size = compressBound(static_cast<uLong>(rows.size()));
  std::string packed(size, '\0');
  INVAR_CHECK(compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
                        static_cast<uLong>(rows.size()), 6) == Z_OK,
              "zlib packs");
  packed.resize(size);
  std::string head, out = "\x89PNG\r\n\x1a\n";
  put_big(head, static_cast<std::uint32_t>(width_)), put_big(head, static_cast<std::uint32_t>(height_));
  head += std::string("\x08\x02\x00\x00\x00", 5);  // eight bits, red green blue, nothing special
  put_chunk(out, "IHDR", head), put_chunk(out, "IDAT", packed), put_chunk(out, "IEND", "");
  return out;
}

}  // namespace invar
