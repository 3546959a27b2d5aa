// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cmath>

#include "invar/geom/pose.hpp"
#include "invar/model/joint/face.hpp"
#include "invar/model/joint/facts.hpp"

namespace invar {

/// A path walked at given coordinates and rates, axes of F, everything at the origin of M. T is double, or a dual number.
///   turn about d at rate s    α += ω × s d,  ω += s d, and R turns
///   slide along d by x        a += α × x d + ω × (ω × x d) + 2 ω × s d,  v += s d + ω × x d,  p += x d
/// The column of a freedom is the sum over its elements of factor (d; d × (p - p_e)) or factor (0; d), p_e where the element
/// acts. (α; a) at constant rates is the bias.
template <class T>
struct PathMotion {
  using V3 = Eigen::Matrix<T, 3, 1>;
  using M3 = Eigen::Matrix<T, 3, 3>;

  M3 R = M3::Identity();
  V3 p = V3::Zero();
  V3 w = V3::Zero(), v = V3::Zero();                 ///< twist
  V3 alpha = V3::Zero(), a = V3::Zero();             ///< bias
  std::array<V3, Facts::kFreedoms> angular, linear;  ///< motion S, per freedom
  std::array<M3, Facts::kFreedoms> born;             ///< axes of the frame in which the first element of a freedom acts

  /// `rates` may be null: they are zero.
  PathMotion(const Facts& facts, const T* q, const T* rates);

  void columns(const Facts& facts, Columns& S) const {
    S.resize(6, facts.nv());
    for (int k = 0; k < facts.nv(); ++k) S.col(k) << angular[static_cast<std::size_t>(k)], linear[static_cast<std::size_t>(k)];
  }
};

/// Complement and duals of a motion, no metric needed. Freedoms that turn have angular columns, with W a left inverse of them;
/// those that slide have linear ones, with E their left inverse:
///   rate_T = Wᵀ ω,  rate_L = Eᵀ (v - S_T,lin Wᵀ ω)
///   rows (n; 0) for n across the angular columns, (-W S_T,linᵀ m; m) for m across the linear ones.
template <class T>
struct PathRows {
  using V3 = Eigen::Matrix<T, 3, 1>;

  std::array<V3, 6> row_angular, row_linear;
  std::array<V3, Facts::kFreedoms> dual_angular, dual_linear;
  int rows = 0;

  PathRows(const Facts& facts, const PathMotion<T>& at);

  void duals(const Facts& facts, Columns& D) const {
    D.resize(6, facts.nv());
    for (int k = 0; k < facts.nv(); ++k)
      D.col(k) << dual_angular[static_cast<std::size_t>(k)], dual_linear[static_cast<std::size_t>(k)];
  }
  void matrix(Rows& C) const {
    C.resize(rows, 6);
    for (int i = 0; i < rows; ++i)
      C.row(i) << row_angular[static_cast<std::size_t>(i)].transpose(), row_linear[static_cast<std::size_t>(i)].transpose();
  }

 private:
  static int across(int n, const V3* columns, const Eigen::Matrix<T, 3, 3>& born, int axis, V3* out);
  static void left_inverse(int n, const V3* columns, V3* out);
};

// Implementation.

template <class T>
PathMotion<T>::PathMotion(const Facts& facts, const T* q, const T* rates) {
  using Motion = Element::Motion;
  using std::cos, std::sin, std::sqrt;
  std::array<V3, 3 * Facts::kElements> axis, at;
  std::array<double, 3 * Facts::kElements> factor{};
  std::array<int, 3 * Facts::kElements> freedom{};
  std::array<bool, Facts::kFreedoms> begun{};
  for (int k = 0; k < facts.nv(); ++k) angular[static_cast<std::size_t>(k)] = linear[static_cast<std::size_t>(k)] = V3::Zero();
  std::size_t turns = 0;
  const auto rate = [&](int k, double f) { return rates == nullptr ? T(0) : T(rates[k] * f); };
  const auto turn = [&](const V3& d, int k, double f) {
    axis[turns] = d, at[turns] = p, factor[turns] = f, freedom[turns++] = k;
  };
  for (const Element& e : facts.path()) {
    const auto k = static_cast<std::size_t>(e.freedom);
    if (!begun[k]) begun[k] = true, born[k] = R;
    if (e.motion == Motion::Ball) {
      V3 spin = V3::Zero();
      for (int i = 0; i < 3; ++i) {
        turn(R.col(i), e.freedom + i, 1);
        if (i > 0) begun[k + static_cast<std::size_t>(i)] = true, born[k + static_cast<std::size_t>(i)] = R;
        spin += rate(e.freedom + i, 1) * R.col(i);
      }
      alpha += w.cross(spin);
      w += spin;
      const T* c = q + e.freedom;
      const T size = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2] + c[3] * c[3]);
      R = (R * Eigen::Quaternion<T>(c[0] / size, c[1] / size, c[2] / size, c[3] / size).toRotationMatrix()).eval();
      continue;
    }
    const V3 d = R.col(e.axis);
    const T x = q[e.freedom] * e.factor, s = rate(e.freedom, e.factor);
    if (e.motion == Motion::Slide) {
      const V3 arm = d * x;
      a += alpha.cross(arm) + w.cross(w.cross(arm).eval()) + w.cross(d * s) * 2.0;
      v += d * s + w.cross(arm);
      p += arm;
      linear[k] += d * T(e.factor);
      continue;
    }
    turn(d, e.freedom, e.factor);
    alpha += w.cross(d * s);
    w += d * s;
    const int i = (e.axis + 1) % 3, j = (e.axis + 2) % 3;
    const T co = cos(x), si = sin(x);
    const V3 first = R.col(i) * co + R.col(j) * si;
    R.col(j) = (R.col(j) * co - R.col(i) * si).eval();
    R.col(i) = first;
  }
  for (std::size_t n = 0; n < turns; ++n) {
    const auto k = static_cast<std::size_t>(freedom[n]);
    angular[k] += axis[n] * T(factor[n]);
    linear[k] += axis[n].cross(p - at[n]) * T(factor[n]);
  }
}

// Unit vectors across n independent columns: smooth functions of them and of the axes that they were born with.
template <class T>
int PathRows<T>::across(int n, const V3* columns, const Eigen::Matrix<T, 3, 3>& born, int axis, V3* out) {
  using std::sqrt;
  const auto unit = [](const V3& a) { return V3(a / sqrt(a.dot(a))); };
  if (n == 0)
    for (int i = 0; i < 3; ++i) out[i] = V3::Unit(i);
  if (n == 1) {
    const V3 s = unit(columns[0]);
    int count = 0;
    for (int i = 0; i < 3; ++i)
      if (i != axis && count == 0) out[count++] = unit(born.col(i) - s * s.dot(born.col(i)));
    out[1] = s.cross(out[0]);
    if (axis == 1) out[1] = -out[1];  // z, not -z
  }
  if (n == 2) out[0] = unit(columns[0].cross(columns[1]));
  return 3 - n;
}

template <class T>
void PathRows<T>::left_inverse(int n, const V3* columns, V3* out) {
  if (n == 1) out[0] = columns[0] / columns[0].dot(columns[0]);
  if (n == 2) {
    const T aa = columns[0].dot(columns[0]), ab = columns[0].dot(columns[1]), bb = columns[1].dot(columns[1]);
    const T whole = aa * bb - ab * ab;
    out[0] = (columns[0] * bb - columns[1] * ab) / whole;
    out[1] = (columns[1] * aa - columns[0] * ab) / whole;
  }
  if (n == 3) {
    const T volume = columns[0].dot(columns[1].cross(columns[2]));
    for (int i = 0; i < 3; ++i) out[i] = columns[(i + 1) % 3].cross(columns[(i + 2) % 3]) / volume;
  }
}

template <class T>
PathRows<T>::PathRows(const Facts& facts, const PathMotion<T>& at) {
  std::array<V3, 3> turning, swept, sliding, W, E, n;
  std::array<int, 3> turning_freedom{}, sliding_freedom{};
  int turns = 0, slides = 0;
  turning.fill(V3::Zero()), sliding.fill(V3::Zero());
  for (int k = 0; k < facts.nv(); ++k) {
    const auto i = static_cast<std::size_t>(k);
    dual_angular[i] = dual_linear[i] = V3::Zero();
    if (facts.turns(k)) {
      const auto t = static_cast<std::size_t>(turns++);
      turning[t] = at.angular[i], swept[t] = at.linear[i], turning_freedom[t] = k;
    } else {
      const auto t = static_cast<std::size_t>(slides++);
      sliding[t] = at.linear[i], sliding_freedom[t] = k;
    }
  }
  const auto first_axis = [&](int freedom) {
    for (const Element& e : facts.path())
      if (e.freedom == freedom) return e.axis;
    return 2;
  };
  left_inverse(turns, turning.data(), W.data());
  left_inverse(slides, sliding.data(), E.data());
  const auto swept_by = [&](const V3& m) {  // W S_T,linᵀ m
    V3 out = V3::Zero();
    for (int t = 0; t < turns; ++t) out += W[static_cast<std::size_t>(t)] * swept[static_cast<std::size_t>(t)].dot(m);
    return out;
  };
  for (int t = 0; t < turns; ++t)
    dual_angular[static_cast<std::size_t>(turning_freedom[static_cast<std::size_t>(t)])] = W[static_cast<std::size_t>(t)];
  for (int t = 0; t < slides; ++t) {
    const auto k = static_cast<std::size_t>(sliding_freedom[static_cast<std::size_t>(t)]);
    dual_linear[k] = E[static_cast<std::size_t>(t)];
    dual_angular[k] = -swept_by(dual_linear[k]);
  }
  const auto born = [&](const std::array<int, 3>& of) { return at.born[static_cast<std::size_t>(of[0])]; };
  if (turns < 3) {
    const int count = across(turns, turning.data(), turns > 0 ? born(turning_freedom) : PathMotion<T>::M3::Identity().eval(),
                             first_axis(turning_freedom[0]), n.data());
    for (int i = 0; i < count; ++i, ++rows)
      row_angular[static_cast<std::size_t>(rows)] = n[static_cast<std::size_t>(i)],
      row_linear[static_cast<std::size_t>(rows)] = V3::Zero();
  }
  if (slides < 3) {
    const int count = across(slides, sliding.data(), slides > 0 ? born(sliding_freedom) : PathMotion<T>::M3::Identity().eval(),
                             first_axis(sliding_freedom[0]), n.data());
    for (int i = 0; i < count; ++i, ++rows)
      row_linear[static_cast<std::size_t>(rows)] = n[static_cast<std::size_t>(i)],
      row_angular[static_cast<std::size_t>(rows)] = -swept_by(n[static_cast<std::size_t>(i)]);
  }
}

}  // namespace invar
