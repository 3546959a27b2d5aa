// SPDX-License-Identifier: Apache-2.0
//
// Stills: what is where in the picture, found by counting pixels.
#include "invar/report/picture.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "invar/base/random.hpp"
#include "invar/io/log.hpp"
#include "invar/report/axes.hpp"
#include "support/folder.hpp"

namespace invar::testing {
namespace {

struct Image {
  int width = 0, height = 0;
  std::string rgb;
  int at(int x, int y, int channel) const {
    return static_cast<unsigned char>(rgb[static_cast<std::size_t>(3 * (y * width + x) + channel)]);
  }
};

std::uint32_t big(const std::string& s, std::size_t at) {
  std::uint32_t out = 0;
  for (std::size_t k = 0; k < 4; ++k) out = out << 8 | static_cast<unsigned char>(s[at + k]);
  return out;
}

// A PNG of the simplest kind, its checksums looked at.
Image read_png(const std::string& png) {
  Image out;
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  std::string packed;
  for (std::size_t at = 8; at + 12 <= png.size();) {
    const std::size_t size = big(png, at);
    const std::string kind = png.substr(at + 4, 4);
    EXPECT_EQ(big(png, at + 8 + size),
              ::crc32(0, reinterpret_cast<const Bytef*>(png.data() + at + 4), static_cast<uInt>(size + 4)));
    if (kind == "IHDR") out.width = static_cast<int>(big(png, at + 8)), out.height = static_cast<int>(big(png, at + 12));
    if (kind == "IDAT") packed += png.substr(at + 8, size);
    at += 12 + size;
  }
  const std::size_t line = static_cast<std::size_t>(3 * out.width + 1);
  std::string rows(line * static_cast<std::size_t>(out.height), '\0');
  uLongf n = static_cast<uLongf>(rows.size());
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(rows.data()), &n, reinterpret_cast<const Bytef*>(packed.data()),
                       static_cast<uLong>(packed.size())),
            Z_OK);
  EXPECT_EQ(n, rows.size());
  for (std::size_t y = 0; y < static_cast<std::size_t>(out.height); ++y) {
    EXPECT_EQ(rows[y * line], '\0');
    out.rgb += rows.substr(y * line + 1, line - 1);
  }
  return out;
}

struct Spot {
  double x = 0, y = 0, pixels = 0;
  double radius() const { return std::sqrt(pixels / std::numbers::pi); }
};

// Pixels that are more blue than red, or more red than blue: the colours of the first two bodies.
Spot spot(const Image& image, bool blue) {
  Spot out;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      const int more = image.at(x, y, 2) - image.at(x, y, 0);
      if (blue ? more > 25 : more < -25) out.x += x + 0.5, out.y += y + 0.5, ++out.pixels;
    }
  out.x /= out.pixels, out.y /= out.pixels;
  return out;
}

// Two balls of radius 0.1 at these places, and at those a second later.
class Balls : public ::testing::Test {
 protected:
  void record(const Vec3& a, const Vec3& b, const Vec3& step = Vec3::Zero()) {
    Layout layout;
    layout.channels = {{"time", "s", "", 1},
                       {"bodies/a/p", "m", "", 3},
                       {"bodies/a/q", "1", "", 4},
                       {"bodies/b/p", "m", "", 3},
                       {"bodies/b/q", "1", "", 4}};
    const std::string ball =
        R"("com": [0, 0, 0], "shapes": [{"kind": "sphere", "radius": 0.1, "p": [0, 0, 0], "q": [1, 0, 0, 0]}]})";
    LogWriter log(folder_ / "run.log", R"({"length": 1, "bodies": [{"name": "a", )" + ball + R"(, {"name": "b", )" + ball + "]}");
    ASSERT_TRUE(log.begin(layout));
    for (int k = 0; k < 2; ++k) {
      const Vec3 p = a + k * step, q = b + k * step;
      ASSERT_TRUE(log.sample(
          std::vector<double>{static_cast<double>(k), p.x(), p.y(), p.z(), 1, 0, 0, 0, q.x(), q.y(), q.z(), 1, 0, 0, 0}));
    }
    ASSERT_TRUE(log.end());
  }
  Image picture(const PictureOptions& options) {
    const auto png = picture_png(folder_.path(), options);
    EXPECT_TRUE(png) << png.error().text();
    return png ? read_png(*png) : Image{};
  }
  Folder folder_;
};

// Seen from above, x is right and y is up; seen along -y, z is up. Places and sizes have one scale, with axes and without.
TEST_F(Balls, AreWhereTheyBelongInOneScale) {
  Random random(3, 1);
  for (int k = 0; k < 6; ++k) {
    const Vec3 a(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
    const Vec3 b = a + Vec3(random.uniform(0.4, 1), random.uniform(-1, 1), random.uniform(0.4, 1));
    record(a, b);
    PictureOptions look{.width = 500, .height = 400, .axes = k % 2 == 1};
    const bool above = k % 3 != 0;
    look.from = above ? Vec3::UnitZ() : Vec3(-Vec3::UnitY());
    const Image image = picture(look);
    ASSERT_EQ(image.width, 500);
    const Spot first = spot(image, true), second = spot(image, false);
    ASSERT_GT(first.pixels, 100);
    ASSERT_GT(second.pixels, 100);
    const double scale = first.radius() / 0.1;
    EXPECT_NEAR(second.radius() / 0.1, scale, 0.03 * scale);
    // Spheres are polyhedra of some percent less.
    EXPECT_NEAR((second.x - first.x) / scale, (b - a).x(), 0.05 * (b - a).norm() + 0.02);
    EXPECT_NEAR((first.y - second.y) / scale, above ? (b - a).y() : (b - a).z(), 0.05 * (b - a).norm() + 0.02);
  }
}

TEST_F(Balls, InFrontHideThoseBehind) {
  record({0, 0, 0}, {0, 0, 1});
  PictureOptions look{.width = 300, .height = 300, .axes = false};
  look.from = Vec3::UnitZ();
  Image image = picture(look);
  EXPECT_EQ(spot(image, true).pixels, 0) << "the first is below";
  look.from = Vec3(-Vec3::UnitZ());
  image = picture(look);
  EXPECT_EQ(spot(image, false).pixels, 0);
  EXPECT_GT(spot(image, true).pixels, 100);
}

TEST_F(Balls, OfAStripAreFaintFirstAndStrongLast) {
  record({0, 0, 0}, {0, 0.5, 0}, {1, 0, 0});
  PictureOptions look{.width = 600, .height = 400, .strip = 2, .axes = false};
  look.from = Vec3::UnitZ();
  const Image image = picture(look);
  double left = 0, right = 0;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) (x < 300 ? left : right) += std::abs(image.at(x, y, 2) - image.at(x, y, 0));
  EXPECT_GT(left, 1000);
  EXPECT_GT(right, 2 * left);
}

TEST_F(Balls, LeaveLinesWhereTheyWere) {
  record({0, 0, 0}, {0, 1, 0}, {1, 0, 0});
  PictureOptions look{.width = 600, .height = 400, .axes = false};
  look.from = Vec3::UnitZ();
  // Of the first ball, now at the right, all that is far to the left of it.
  const auto far = [&] {
    const Image image = picture(look);
    int out = 0;
    for (int y = 0; y < image.height; ++y)
      for (int x = 0; x < image.width / 3; ++x) out += image.at(x, y, 2) - image.at(x, y, 0) > 25 ? 1 : 0;
    return out;
  };
  EXPECT_EQ(far(), 0);
  look.traces = {"a"};
  EXPECT_GT(far(), 50);
}

TEST_F(Balls, ThatAreNotThereAreNamed) {
  record({0, 0, 0}, {0, 1, 0});
  const auto words = [&](const PictureOptions& look) {
    const auto png = picture_png(folder_.path(), look);
    return png ? std::string("drawn") : png.error().text();
  };
  EXPECT_NE(words({.traces = {"aa"}}).find("a body 'aa'"), std::string::npos);
  EXPECT_NE(words({.times = {7}}).find("from 0 s to 1 s"), std::string::npos);
  EXPECT_NE(words({.times = {std::nan("")}}).find("from 0 s to 1 s"), std::string::npos);
  EXPECT_NE(words({.width = 8000, .height = 8000}).find("pixels"), std::string::npos);
  record({std::nan(""), 0, 0}, {0, std::nan(""), 0});
  EXPECT_NE(words({}).find("no numbers"), std::string::npos);
}

// Points far away end no sooner and no later than near ones.
TEST(Strokes, FarOutsideCostNothing) {
  Canvas canvas(100, 100, {1, 1, 1});
  const std::string before = canvas.png();
  for (const double far : {1e6, 1e12, 1e300, std::numeric_limits<double>::infinity()})
    for (const Vec3& a : {Vec3(far, far, 0), Vec3(-far, 5, 0)}) canvas.stroke(a, a + Vec3(1, 1, 0), 3, {0, 0, 0});
  EXPECT_EQ(canvas.png(), before);
}

TEST(Ticks, AreRoundNumbersInside) {
  Random random(5, 1);
  for (int k = 0; k < 200; ++k) {
    const double low = random.normal() * std::pow(10, random.uniform(-5, 5)), high = low + std::pow(10, random.uniform(-3, 5));
    const int about = 2 + k % 10;
    const std::vector<double> at = ticks(low, high, about);
    if (high - low < 1e-9 * std::abs(low)) continue;
    ASSERT_LE(at.size(), static_cast<std::size_t>(about) + 1);
    for (std::size_t i = 0; i < at.size(); ++i) {
      EXPECT_GE(at[i], low - 1e-6 * (high - low));
      EXPECT_LE(at[i], high + 1e-6 * (high - low));
      if (i == 0) continue;
      const double step = at[i] - at[i - 1], digit = step / std::pow(10.0, std::floor(std::log10(step) + 1e-6));
      EXPECT_LT(std::min({std::abs(digit - 1), std::abs(digit - 2), std::abs(digit - 5)}), 1e-4) << step;
    }
    EXPECT_GE(at.size(), std::max<std::size_t>(about < 5 ? 0 : 1, static_cast<std::size_t>(about) / 3));
  }
  EXPECT_TRUE(ticks(1, 1, 5).empty());
  EXPECT_TRUE(ticks(0, std::nan(""), 5).empty());
}

}  // namespace
}  // namespace invar::testing
