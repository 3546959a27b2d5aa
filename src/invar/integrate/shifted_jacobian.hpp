// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>
#include <utility>
#include <vector>

#include "invar/integrate/chart.hpp"

namespace invar {

/// The Jacobian of y' = f(t, y) in the chart of a step at its origin, y = (u, v, aux), of systems of second order:
///   u' = dexp⁻¹_u v:   ∂u'/∂u = G,  ∂u'/∂v = 1        v' = a:  A_u, A_v        aux':  D_u, D_v, nothing depends on aux.
/// Law of its use: any matrix will do, a wrong one only makes Newton's method slow.
class ChartJacobian {
 public:
  void reset(const System& system, const Chart& chart);

  /// By differences at (t, origin), where f has the value `slope`; 2 n evaluations.
  Verdict take(System& system, Chart& chart, double t, const VecX& slope);

  Eigen::Index tangents() const { return A_v.rows(); }
  MatX A_v, G;
  MatX K1, K0;    // A_v + G and A_v G - A_u: (m - J) is solved through m² - m K1 + K0
  MatX D_u, D_v;  // auxiliaries x n

 private:
  MatX A_u;
  VecX y_, f_, u_, w_, moved_;
  double length_ = 1;
};

/// Solves (m - J) x = r for a real or complex shift m by one factorization of n x n, n the number of tangents:
///   (m - G) x_u - x_v = r_u,   (m - A_v) x_v - A_u x_u = r_v   ⇒   (m² - m K1 + K0) x_u = r_v + (m - A_v) r_u
/// and x_aux = (r_aux + D_u x_u + D_v x_v)/m. No heap after reset.
template <class S>
class ShiftedJacobian {
 public:
  using Vector = Eigen::Matrix<S, Eigen::Dynamic, 1>;
  using Matrix = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic>;

  void reset(const ChartJacobian& J, Eigen::Index size) {
    const Eigen::Index n = J.tangents();
    lu_.setZero(n, n);
    exchange_.assign(static_cast<std::size_t>(n), 0);
    b_.setZero(n);
    x.setZero(size);
  }

  /// False where the matrix is singular.
  bool factor(const ChartJacobian& J, S shift) {
    shift_ = shift;
    lu_ = (-shift) * J.K1.cast<S>() + J.K0.cast<S>();
    lu_.diagonal().array() += shift * shift;
    const Eigen::Index n = lu_.rows();
    for (Eigen::Index k = 0; k < n; ++k) {
      Eigen::Index pivot = 0;
      const double size = lu_.col(k).tail(n - k).cwiseAbs().maxCoeff(&pivot);
      if (!(size > 0) || !std::isfinite(size)) return false;
      exchange_[static_cast<std::size_t>(k)] = pivot += k;
      if (pivot != k) lu_.row(k).swap(lu_.row(pivot));
      lu_.col(k).tail(n - k - 1) *= S(1) / lu_(k, k);
      for (Eigen::Index j = k + 1; j < n; ++j)
        if (const S f = lu_(k, j); f != S(0)) lu_.col(j).tail(n - k - 1) -= f * lu_.col(k).tail(n - k - 1);
    }
    return true;
  }

  /// The right side, then the solution.
  Vector x;

  void solve(const ChartJacobian& J) {
    const Eigen::Index n = J.tangents();
    auto u = x.head(n);
    auto v = x.segment(n, n);
    auto aux = x.tail(x.size() - 2 * n);
    b_ = v + shift_ * u;
    for (Eigen::Index j = 0; j < n; ++j) b_ -= u[j] * J.A_v.col(j);
    substitute();
    v = shift_ * b_ - u;
    u = b_;
    for (Eigen::Index j = 0; j < n; ++j) {
      v -= u[j] * J.G.col(j);
      aux += u[j] * J.D_u.col(j);
    }
    for (Eigen::Index j = 0; j < n; ++j) aux += v[j] * J.D_v.col(j);
    aux *= S(1) / shift_;
  }

 private:
  void substitute() {
    const Eigen::Index n = lu_.rows();
    for (Eigen::Index k = 0; k < n; ++k) std::swap(b_[k], b_[exchange_[static_cast<std::size_t>(k)]]);
    for (Eigen::Index k = 0; k < n; ++k) b_.tail(n - k - 1) -= b_[k] * lu_.col(k).tail(n - k - 1);
    for (Eigen::Index k = n - 1; k >= 0; --k) {
      b_[k] /= lu_(k, k);
      b_.head(k) -= b_[k] * lu_.col(k).head(k);
    }
  }

  S shift_{};
  Matrix lu_;
  std::vector<Eigen::Index> exchange_;
  Vector b_;
};

}  // namespace invar
