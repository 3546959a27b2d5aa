// SPDX-License-Identifier: Apache-2.0
//
// For a node with matrix D, rows E by the inner node, columns F on it, and border blocks B (columns), C (rows):
//   Z = D^-1 E,  Y = D^-1 B
//   inner:   D -= F Z,  B -= F Y,  C -= C Z,      corner -= C Y
// Right sides go the same way: y = D^-1 r, r_inner -= F y, r_border -= C y. On the way back x = y - Z x_inner - Y z.
#include "invar/mech/block_tree.hpp"

#include <algorithm>
#include <cmath>

#include "invar/base/check.hpp"

namespace invar {
namespace {

// c -= a b for one column b of a's columns, skipping zeros (blocks are sparse).
void subtract_product(const MatX& a, const double* b, double* c) {
  const Eigen::Index rows = a.rows();
  for (Eigen::Index k = 0; k < a.cols(); ++k) {
    const double f = b[k];
    if (f == 0) continue;
    const double* column = a.data() + k * rows;
    for (Eigen::Index i = 0; i < rows; ++i) c[i] -= f * column[i];
  }
}

}  // namespace

bool factor_in_place(MatX& a, std::vector<int>& exchange, double least) {
  const Eigen::Index n = a.rows();
  for (Eigen::Index k = 0; k < n; ++k) {
    double* pivot_column = a.data() + k * n;
    Eigen::Index pivot = k;
    double scale = 0;
    for (Eigen::Index i = 0; i < k; ++i) scale = std::max(scale, std::abs(pivot_column[i]));
    for (Eigen::Index i = k; i < n; ++i)
      if (std::abs(pivot_column[i]) > std::abs(pivot_column[pivot])) pivot = i;
    scale = std::max(scale, std::abs(pivot_column[pivot]));
    exchange[static_cast<std::size_t>(k)] = static_cast<int>(pivot);
    if (!(std::abs(pivot_column[pivot]) > least * std::max(scale, 1.0))) return false;
    if (pivot != k)
      for (Eigen::Index j = 0; j < n; ++j) std::swap(a(k, j), a(pivot, j));
    const double inverse = pivot_column[k] = 1 / pivot_column[k];
    for (Eigen::Index i = k + 1; i < n; ++i) pivot_column[i] *= inverse;
    for (Eigen::Index j = k + 1; j < n; ++j) {
      double* column = a.data() + j * n;
      const double f = column[k];
      if (f == 0) continue;
      for (Eigen::Index i = k + 1; i < n; ++i) column[i] -= f * pivot_column[i];
    }
  }
  return true;
}

void solve_in_place(const MatX& lu, const std::vector<int>& exchange, double* x) {
  const Eigen::Index n = lu.rows();
  for (Eigen::Index k = 0; k < n; ++k) std::swap(x[k], x[exchange[static_cast<std::size_t>(k)]]);
  for (Eigen::Index k = 0; k < n; ++k) {
    const double f = x[k];
    if (f == 0) continue;
    const double* column = lu.data() + k * n;
    for (Eigen::Index i = k + 1; i < n; ++i) x[i] -= f * column[i];
  }
  for (Eigen::Index k = n - 1; k >= 0; --k) {
    const double* column = lu.data() + k * n;
    x[k] *= column[k];
    const double f = x[k];
    if (f == 0) continue;
    for (Eigen::Index i = 0; i < k; ++i) x[i] -= f * column[i];
  }
}

BlockTree::BlockTree(std::vector<int> inner, std::vector<int> size, int shared, int border)
    : shared_(shared), border_(border), corner_(MatX::Zero(border, border)), corner_exchange_(static_cast<std::size_t>(border)) {
  for (std::size_t k = 0; k < inner.size(); ++k) {
    INVAR_CHECK(inner[k] < static_cast<int>(k) && size[k] >= shared, "inner nodes come first and share what they have");
    Node node{inner[k],
              size[k],
              total_,
              {},
              {},
              {},
              {},
              {},
              std::vector<int>(static_cast<std::size_t>(size[k])),
              std::vector<char>(static_cast<std::size_t>(border), 0)};
    node.own = MatX::Zero(size[k], size[k]);
    node.by_inner = MatX::Zero(size[k], inner[k] < 0 ? 0 : shared);
    node.on_inner = MatX::Zero(inner[k] < 0 ? 0 : shared, size[k]);
    node.border_columns = MatX::Zero(size[k], border);
    node.border_rows = MatX::Zero(border, size[k]);
    nodes_.push_back(std::move(node));
    total_ += size[k];
  }
  total_ += border;
}

void BlockTree::clear() {
  for (Node& node : nodes_) {
    node.own.setZero();
    node.by_inner.setZero();
    node.on_inner.setZero();
    node.border_columns.setZero();
    node.border_rows.setZero();
  }
  corner_.setZero();
}

int BlockTree::eliminate(double least) {
  for (int k = nodes() - 1; k >= 0; --k) {
    Node& node = nodes_[static_cast<std::size_t>(k)];
    if (!factor_in_place(node.own, node.exchange, least)) return k;
    for (int j = 0; j < border_; ++j)
      node.touched[static_cast<std::size_t>(j)] = !node.border_columns.col(j).isZero(0) || !node.border_rows.row(j).isZero(0);
    for (Eigen::Index j = 0; j < node.by_inner.cols(); ++j) solve_in_place(node.own, node.exchange, node.by_inner.col(j).data());
    for (int j = 0; j < border_; ++j)
      if (node.touched[static_cast<std::size_t>(j)]) solve_in_place(node.own, node.exchange, node.border_columns.col(j).data());
    // The corner, then the inner node.
    for (int j = 0; j < border_; ++j)
      if (node.touched[static_cast<std::size_t>(j)])
        subtract_product(node.border_rows, node.border_columns.col(j).data(), corner_.col(j).data());
    if (node.inner < 0) continue;
    Node& in = nodes_[static_cast<std::size_t>(node.inner)];
    for (int j = 0; j < shared_; ++j) subtract_product(node.on_inner, node.by_inner.col(j).data(), in.own.col(j).data());
    for (int j = 0; j < border_; ++j)
      if (node.touched[static_cast<std::size_t>(j)])
        subtract_product(node.on_inner, node.border_columns.col(j).data(), in.border_columns.col(j).data());
    if (border_ == 0) continue;
    for (int c = 0; c < shared_; ++c)
      subtract_product(node.border_rows, node.by_inner.col(c).data(), in.border_rows.col(c).data());
  }
  return -1;
}

bool BlockTree::finish(double least) { return border_ == 0 || factor_in_place(corner_, corner_exchange_, least); }

void BlockTree::forward(VecX& r) const {
  double* z = r.data() + first_border();
  for (int k = nodes() - 1; k >= 0; --k) {
    const Node& node = at(k);
    double* x = r.data() + node.first;
    solve_in_place(node.own, node.exchange, x);
    if (node.inner >= 0) subtract_product(node.on_inner, x, r.data() + at(node.inner).first);
    subtract_product(node.border_rows, x, z);
  }
}

void BlockTree::backward(VecX& r) const {
  double* z = r.data() + first_border();
  if (border_ > 0) solve_in_place(corner_, corner_exchange_, z);
  for (int k = 0; k < nodes(); ++k) {
    const Node& node = at(k);
    double* x = r.data() + node.first;
    if (node.inner >= 0) subtract_product(node.by_inner, r.data() + at(node.inner).first, x);
    for (int j = 0; j < border_; ++j)
      if (node.touched[static_cast<std::size_t>(j)])
        for (int i = 0; i < node.size; ++i) x[i] -= node.border_columns(i, j) * z[j];
  }
}

}  // namespace invar
