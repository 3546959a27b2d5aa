// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "invar/mech/massless.hpp"

namespace invar {

void PivotedQr::reflect(int k, Eigen::Ref<MatX> y) const {
  const Eigen::Index below = a_.rows() - k - 1;
  const auto v = a_.col(k).tail(below);
  for (Eigen::Index c = 0; c < y.cols(); ++c) {
    const double s = beta_[k] * (y(k, c) + v.dot(y.col(c).tail(below)));
    y(k, c) -= s;
    y.col(c).tail(below) -= s * v;
  }
}

int PivotedQr::factor(double tolerance) {
  const int columns = static_cast<int>(a_.cols());
  const int rows = static_cast<int>(a_.rows());
  std::iota(order_.begin(), order_.end(), 0);
  double largest = 0;
  for (int k = 0; k < columns; ++k) {
    if (k >= rows) return k;
    // The column with most left comes next.
    int best = k;
    double most = -1;
    for (int c = k; c < columns; ++c)
      if (const double left = a_.col(c).tail(rows - k).norm(); left > most) {
        most = left;
        best = c;
      }
    largest = std::max(largest, most);
    if (!(most > tolerance * largest)) return k;
    if (best != k) {
      a_.col(k).swap(a_.col(best));
      std::swap(order_[static_cast<std::size_t>(k)], order_[static_cast<std::size_t>(best)]);
    }
    // Reflector that sends the rest of column k to (alpha, 0, ...), the sign against cancellation.
    const double alpha = a_(k, k) > 0 ? -most : most;
    const double head = a_(k, k) - alpha;
    a_.col(k).tail(rows - k - 1) /= head;
    beta_[k] = -head / alpha;
    a_(k, k) = alpha;
    for (int c = k + 1; c < columns; ++c) reflect(k, a_.col(c));
  }
  return columns;
}

void PivotedQr::apply_transpose(Eigen::Ref<MatX> y) const {
  for (int k = 0; k < a_.cols(); ++k) reflect(k, y);
}

void PivotedQr::apply(Eigen::Ref<VecX> y) const {
  for (int k = static_cast<int>(a_.cols()); k-- > 0;) reflect(k, y);
}

void PivotedQr::solve(const VecX& y, VecX& z) const {
  const int n = static_cast<int>(a_.cols());
  for (int k = n; k-- > 0;) {
    double sum = y[k];
    for (int c = k + 1; c < n; ++c) sum -= a_(k, c) * z[order_[static_cast<std::size_t>(c)]];
    z[order_[static_cast<std::size_t>(k)]] = sum / a_(k, k);
  }
}

void PivotedQr::solve_transpose(const VecX& z, VecX& y) const {
  for (int k = 0; k < a_.cols(); ++k) {
    double sum = z[order_[static_cast<std::size_t>(k)]];
    for (int c = 0; c < k; ++c) sum -= a_(c, k) * y[c];
    y[k] = sum / a_(k, k);
  }
}

VecX PivotedQr::null_vector(int rank) const {
  VecX z = VecX::Zero(a_.cols());
  z[order_[static_cast<std::size_t>(rank)]] = 1.0;
  for (int k = rank; k-- > 0;) {
    double sum = -a_(k, rank);
    for (int c = k + 1; c < rank; ++c) sum -= a_(k, c) * z[order_[static_cast<std::size_t>(c)]];
    z[order_[static_cast<std::size_t>(k)]] = sum / a_(k, k);
  }
  return z / z.norm();
}

}  // namespace invar
