// SPDX-License-Identifier: Apache-2.0
//
// x = k π/2 + r with |r| <= π/4. π/2 is split so that k times its first two parts is exact for |k| < 2²⁰. On [-π/4, π/4] the
// Taylor polynomials of degree 15 and 16 are below half an ulp: r¹⁷/17! < 5e-17, r¹⁸/18! < 3e-18. No branch depends on x, so the
// compiler takes several angles at a time.
#include "invar/geom/sine.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace invar {
namespace {

constexpr double kFirst = 0x1.921fb544p+0, kSecond = 0x1.0b4611a6p-34, kThird = 0x1.3198a2e037073p-69;
constexpr double kTwoOverPi = 0.63661977236758134308;
constexpr double kRound = 0x1.8p+52;  // adding it leaves the nearest integer in the last bits
constexpr double kFar = 1e5;

constexpr double reciprocal_factorial(int n) { return n <= 1 ? 1.0 : reciprocal_factorial(n - 1) / n; }

// 1/m! - y/(m+2)! + y²/(m+4)! - ... with `Terms` terms.
template <int M, int Terms>
inline double series(double y) {
  constexpr double first = reciprocal_factorial(M);
  if constexpr (Terms == 1)
    return first;
  else
    return first - y * series<M + 2, Terms - 1>(y);
}

}  // namespace

void sines(const double* __restrict x, std::size_t n, double* __restrict sine, double* __restrict cosine) {
  std::int64_t far = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double shifted = x[i] * kTwoOverPi + kRound, k = shifted - kRound;
    const double r = ((x[i] - k * kFirst) - k * kSecond) - k * kThird, y = r * r;
    const double s = r - r * y * series<3, 7>(y), c = 1 - y * series<2, 8>(y);
    std::int64_t quarter;
    std::memcpy(&quarter, &shifted, sizeof quarter);
    const bool odd = (quarter & 1) != 0, minus = (quarter & 2) != 0;
    const double s0 = odd ? c : s, c0 = odd ? -s : c;
    sine[i] = minus ? -s0 : s0;
    cosine[i] = minus ? -c0 : c0;
    far |= std::abs(x[i]) > kFar ? 1 : 0;
  }
  if (far == 0) return;
  for (std::size_t i = 0; i < n; ++i)
    if (std::abs(x[i]) > kFar) sine[i] = std::sin(x[i]), cosine[i] = std::cos(x[i]);
}

}  // namespace invar
