// SPDX-License-Identifier: Apache-2.0
//
// Sines of many angles at once against the extended precision of the standard library. Two ulp of one: half from rounding, half
// from the polynomials, and what the reduction by k π/2 leaves, |k| u² with |k| < 2¹⁷, is far below.
#include "invar/geom/sine.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "invar/base/random.hpp"
#include "support/campaign.hpp"

namespace invar::testing {
namespace {

constexpr double kUlp = std::numeric_limits<double>::epsilon();

TEST(Sines, AreThoseOfTheStandardLibrary) {
  Random random(seed(9300), 0);
  for (const double range : {1e-9, 0.7, 3.2, 100.0, 9.9e4, 1e9}) {
    std::vector<double> x(static_cast<std::size_t>(cases(3000)) + 5), s(x.size()), c(x.size());
    for (double& a : x) a = random.uniform(-range, range);
    x[0] = 0, x[1] = -0.0, x[2] = 0.78539816339744831, x[3] = 1.5707963267948966, x[4] = -3.1415926535897931;
    sines(x.data(), x.size(), s.data(), c.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_LE(std::abs(static_cast<double>(sinl(static_cast<long double>(x[i])) - s[i])), 2 * kUlp) << x[i];
      EXPECT_LE(std::abs(static_cast<double>(cosl(static_cast<long double>(x[i])) - c[i])), 2 * kUlp) << x[i];
      // Small angles keep their digits.
      if (std::abs(x[i]) < 1e-3) {
        EXPECT_LE(std::abs(s[i] - std::sin(x[i])), 2 * kUlp * std::abs(x[i])) << x[i];
      }
    }
  }
}

TEST(Sines, OfWhatIsNoNumberAreNone) {
  const double x[3] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1};
  double s[3], c[3];
  sines(x, 3, s, c);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(std::isnan(s[i]) && std::isnan(c[i])) << i;
  EXPECT_NEAR(s[2], std::sin(1.0), 2 * kUlp);
}

}  // namespace
}  // namespace invar::testing
