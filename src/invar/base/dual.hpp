// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "invar/base/alignment.hpp"

namespace invar {

/// A number with its derivatives along N directions: a + ε·d with ε_i ε_j = 0. Every operation carries them along by the chain
/// rule, so a function written for any number gives exact derivatives, N at a time. Comparisons look at the value alone, hence a
/// branch is differentiated on the side on which the value lies.
template <int N>
struct Dual {
  using Partials = Eigen::Array<double, N, 1>;

  double value = 0;
  Partials d = Partials::Zero();

  Dual() = default;
  Dual(double v) : value(v) {}  // NOLINT(google-explicit-constructor): a number is one that does not change
  Dual(double v, const Partials& partials) : value(v), d(partials) {}

  Dual& operator+=(const Dual& b) { return value += b.value, d += b.d, *this; }
  Dual& operator-=(const Dual& b) { return value -= b.value, d -= b.d, *this; }
  Dual& operator*=(const Dual& b) { return *this = *this * b; }
  Dual& operator/=(const Dual& b) { return *this = *this / b; }
  Dual operator-() const { return {-value, -d}; }

  friend Dual operator+(Dual a, const Dual& b) { return a += b; }
  friend Dual operator-(Dual a, const Dual& b) { return a -= b; }
  friend Dual operator*(const Dual& a, const Dual& b) { return {a.value * b.value, a.d * b.value + b.d * a.value}; }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const double inverse = 1 / b.value, quotient = a.value * inverse;
    return {quotient, (a.d - b.d * quotient) * inverse};
  }
  friend bool operator<(const Dual& a, const Dual& b) { return a.value < b.value; }
  friend bool operator>(const Dual& a, const Dual& b) { return a.value > b.value; }
  friend bool operator<=(const Dual& a, const Dual& b) { return a.value <= b.value; }
  friend bool operator>=(const Dual& a, const Dual& b) { return a.value >= b.value; }
  friend bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  friend bool operator!=(const Dual& a, const Dual& b) { return a.value != b.value; }

  friend Dual sqrt(const Dual& a) {
    const double root = std::sqrt(a.value);
    return {root, a.d * (0.5 / root)};
  }
  friend Dual sin(const Dual& a) { return {std::sin(a.value), a.d * std::cos(a.value)}; }
  friend Dual cos(const Dual& a) { return {std::cos(a.value), a.d * -std::sin(a.value)}; }
  friend Dual tanh(const Dual& a) {
    const double t = std::tanh(a.value);
    return {t, a.d * (1 - t * t)};
  }
  friend Dual atan2(const Dual& y, const Dual& x) {
    const double square = x.value * x.value + y.value * y.value;
    return {std::atan2(y.value, x.value), (y.d * x.value - x.d * y.value) / square};
  }
  friend Dual abs(const Dual& a) { return a.value < 0 ? -a : a; }
};

/// The value of a number, whatever it carries.
inline double value_of(double a) { return a; }
template <int N>
double value_of(const Dual<N>& a) {
  return a.value;
}

}  // namespace invar

namespace Eigen {

template <int N>
struct NumTraits<invar::Dual<N>> : NumTraits<double> {
  using Real = invar::Dual<N>;
  using NonInteger = invar::Dual<N>;
  using Nested = invar::Dual<N>;
  using Literal = double;
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = N + 1,
    AddCost = N + 1,
    MulCost = 3 * N + 1
  };
};

template <int N, class Op>
struct ScalarBinaryOpTraits<invar::Dual<N>, double, Op> {
  using ReturnType = invar::Dual<N>;
};
template <int N, class Op>
struct ScalarBinaryOpTraits<double, invar::Dual<N>, Op> {
  using ReturnType = invar::Dual<N>;
};

}  // namespace Eigen
