// SPDX-License-Identifier: Apache-2.0
#include "invar/report/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace invar {
namespace {

constexpr Colour kGrid{0.87f, 0.87f, 0.87f}, kInk{0.35f, 0.35f, 0.35f};
constexpr double kBehind = 1e6, kBefore = -1e6;  // depths, pixels

// A letter from point to point on a grid of 4 by 6, column and row from its lower left corner; a slash lifts the pen.
std::string_view strokes(char letter) {
  switch (letter) {
    case '0': return "10 01 05 16 36 45 41 30 10";
    case '1': return "14 26 20";
    case '2': return "05 16 36 45 44 00 40";
    case '3': return "06 46 24 34 43 41 30 10 01";
    case '4': return "30 36 02 42";
    case '5': return "46 06 04 34 43 41 30 00";
    case '6': return "36 16 05 01 10 30 41 42 33 03";
    case '7': return "06 46 10";
    case '8': return "13 04 05 16 36 45 44 33 13 02 01 10 30 41 42 33";
    case '9': return "10 30 41 45 36 16 05 04 13 43";
    case '-': return "13 33";
    case '+': return "13 33 / 22 24";
    case 'e': return "02 42 43 34 14 03 01 10 30";
    case '.': return "20 21";
    case 'x': return "00 44 / 04 40";
    case 'y': return "04 22 / 44 00";
    case 'z': return "04 44 00 40";
    case 'm': return "00 04 / 03 14 23 20 / 23 34 43 40";
    case '[': return "36 16 10 30";
    case ']': return "16 36 30 10";
    default: return {};
  }
}

double width(const std::string& text, double size) { return (5.5 * static_cast<double>(text.size()) - 1.5) * size / 6; }

// Centred at a point of the picture.
void write(Canvas& canvas, const std::string& text, double x, double y, double size) {
  const double unit = size / 6;
  double left = x - 0.5 * width(text, size);
  for (const char letter : text) {
    const std::string_view s = strokes(letter);
    Vec3 before = Vec3::Zero();
    bool down = false;
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (s[i] == ' ') continue;
      if (s[i] == '/') {
        down = false;
        continue;
      }
      const Vec3 p(left + (s[i] - '0') * unit, y + (3 - (s[i + 1] - '0')) * unit, kBefore);
      if (down) canvas.stroke(before, p, 0.14 * size, kInk);
      before = p, down = true, ++i;
    }
    left += 5.5 * unit;
  }
}

struct Box {
  Vec3 low, high;
  Vec3 corner(const Vec3& side) const { return low + side.cwiseProduct(high - low); }  // 0 or 1 along each axis
};

void draw_far_sides(Canvas& canvas, const Camera& camera, const Box& box, const std::vector<double> (&at)[3]) {
  const auto behind = [&](const Vec3& p) {
    Vec3 out = camera(p);
    out.z() = kBehind;
    return out;
  };
  for (int k = 0; k < 3; ++k) {
    const double depth = camera.axes(2, k);
    if (std::abs(depth) < 1e-3) continue;  // seen edge on
    Vec3 side = Vec3::Zero();
    side[k] = depth > 0 ? 1 : 0;
    for (const int i : {(k + 1) % 3, (k + 2) % 3}) {
      const int j = 3 - k - i;
      for (const double tick : at[i]) {
        Vec3 from = box.corner(side), to = box.corner(side + Vec3::Unit(j));
        from[i] = to[i] = tick;
        canvas.stroke(behind(from), behind(to), 1.5, kGrid);
      }
    }
  }
}

// The edge along axis k that lies lowest in the picture, or leftmost where it stands upright.
Vec3 outer_edge(const Camera& camera, const Box& box, int k) {
  const int i = (k + 1) % 3, j = (k + 2) % 3;
  const Vec3 along = camera.axes.col(k);
  const bool upright = std::abs(along.y()) > std::abs(along.x());
  Vec3 best = Vec3::Zero();
  double least = std::numeric_limits<double>::infinity();
  for (int c = 0; c < 4; ++c) {
    const Vec3 side = (c & 1) * Vec3::Unit(i) + (c >> 1) * Vec3::Unit(j);
    const Vec3 middle = camera(box.corner(side + 0.5 * Vec3::Unit(k)));
    const double place = upright ? middle.x() : -middle.y();
    if (place < least - 1e-9) least = place, best = side;
  }
  return best;
}

}  // namespace

std::vector<double> ticks(double low, double high, int about) {
  std::vector<double> out;
  const double wanted = (high - low) / about;
  if (!(wanted > 0) || !std::isfinite(wanted)) return out;
  const double power = std::pow(10.0, std::floor(std::log10(wanted)));
  double step = 10 * power;
  for (const double part : {1.0, 2.0, 5.0})
    if (part * power >= wanted * (1 - 1e-9)) {
      step = part * power;
      break;
    }
  // Counted, not summed: a tick at zero is zero.
  const double last = std::floor(high / step + 1e-9);
  for (double n = std::ceil(low / step - 1e-9); n <= last && out.size() < 100; ++n) out.push_back(n * step + 0.0);  // not -0
  return out;
}

void draw_axes(Canvas& canvas, const Camera& camera, const Vec3& low, const Vec3& high) {
  const Box box{low, high};
  const double size = 0.014 * canvas.width();
  std::vector<double> at[3];
  for (int k = 0; k < 3; ++k) {
    const double pixels = camera.scale * (high - low)[k] * camera.axes.col(k).head<2>().norm();
    if (pixels < 4 * size) continue;
    // One number alone gives no scale.
    for (int about = std::clamp(static_cast<int>(pixels / (7 * size)), 2, 10); at[k].size() < 2 && about < 20; about += 2)
      at[k] = ticks(low[k], high[k], about);
  }
  draw_far_sides(canvas, camera, box, at);
  const Vec3 middle = camera(0.5 * (low + high));
  for (int k = 0; k < 3; ++k) {
    if (at[k].empty()) continue;
    const Vec3 edge = outer_edge(camera, box, k), a = camera(box.corner(edge)), b = camera(box.corner(edge + Vec3::Unit(k)));
    canvas.stroke({a.x(), a.y(), kBehind}, {b.x(), b.y(), kBehind}, 2, kInk);
    // Numbers stand outside, across the edge.
    Eigen::Vector2d across(a.y() - b.y(), b.x() - a.x());
    across.normalize();
    if (across.dot((0.5 * (a + b) - middle).head<2>()) < 0) across = -across;
    double widest = 0;
    for (const double tick : at[k]) {
      Vec3 p = box.corner(edge);
      p[k] = tick;
      const Vec3 q = camera(p);
      const std::string number = fmt::format("{:.6g}", tick);
      const double aside = 0.8 * size + 0.5 * width(number, size);
      widest = std::max(widest, aside);
      write(canvas, number, q.x() + aside * across.x(), q.y() + 1.3 * size * across.y(), size);
    }
    // The name of an upright axis stands above it, that of another one beyond its numbers.
    const std::string name = fmt::format("{} [m]", "xyz"[k]);
    const Vec3 half = 0.5 * (a + b), upper = a.y() < b.y() ? a : b;
    const double beyond = 2 * widest + 0.5 * width(name, size);
    if (std::abs(across.x()) > 0.9)
      write(canvas, name, upper.x(), upper.y() - 1.6 * size, size);
    else
      write(canvas, name, half.x() + beyond * across.x(), half.y() + 3.0 * size * across.y(), size);
  }
}

}  // namespace invar
