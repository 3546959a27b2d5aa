// SPDX-License-Identifier: Apache-2.0
//
// Eigenvalues are taken in coordinates z = Lᵀ q, Γ = L Lᵀ, in which metres, radians, light and heavy parts are alike:
//   at rest, undamped    K̂ z = -λ² z,  K̂ = L⁻¹ (∂r/∂q) L⁻ᵀ symmetric
//   otherwise            [Ĝ 1; -K̂ -Ĉ] (z; z') = λ (z; z'),  Ĉ = L⁻¹ (∂r/∂v) L⁻ᵀ, Ĝ = Lᵀ G L⁻ᵀ
#include "invar/mech/minimal/modes.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace invar {
namespace {

// Rounding of C, of the symmetry of K, and of its eigenvalues (see Modes::is_zero), relative to what they are made of.
constexpr double kDamped = 1e-11, kAskew = 1e-9, kNeutral = 1e-12;

// A deviation of an attitude by u turns with the rate w of the ball: u' = v + w × u.
MatX turning(const JointTree& tree, const Balance& b) {
  MatX out = MatX::Zero(b.E.cols(), b.E.cols());
  MatX all = MatX::Zero(tree.nv(), b.E.cols());
  for (const JointTree::Node& n : tree.nodes()) {
    const int at = n.facts->ball() < 0 ? -1 : n.v0 + n.facts->ball();
    if (at >= 0) all.middleRows<3>(at) = hat(b.v.segment<3>(at)) * b.E.middleRows<3>(at);
  }
  for (Eigen::Index i = 0; i < out.rows(); ++i) out.row(i) = all.row(tree.independent()[static_cast<std::size_t>(i)]);
  return out;
}

// Shapes of all joints, scaled so that the largest entry is one, floating bodies included.
void finish(const JointTree& tree, const Balance& b, Mode& mode) {
  const Model& model = tree.model();
  mode.joints = b.joint_rates * mode.shape;
  std::complex<double> largest = 0;
  const auto look = [&](std::complex<double> entry, double unit) {
    if (std::abs(entry) / unit > std::abs(largest) * (1 + 1e-9)) largest = entry / unit;
  };
  for (const Joint& joint : model.joints())
    for (int k = 0; k < joint.nv; ++k) look(mode.joints[joint.v0 + k], joint.turns(k) ? 1.0 : model.length());
  const Eigen::VectorXcd all = b.E * mode.shape;
  for (const JointTree::Node& node : tree.nodes())
    for (int k = 0; node.joint < 0 && k < node.nv; ++k) look(all[node.v0 + k], node.facts->turns(k) ? 1.0 : model.length());
  if (largest == 0.0) return;
  mode.joints /= largest;
  mode.shape /= largest;
}

}  // namespace

Verdict linearize(const JointTree& tree, const VecX& q, const VecX& v, const VecX& wound, const Load& load, Linear& out) {
  Derivatives d;
  if (const Verdict s = derivatives_at(tree, q, v, wound, load, d); !s.ok()) return s;
  const Eigen::Index n = d.vdot.size();
  out.coordinates = d.coordinates;
  out.vdot = d.vdot;
  out.balance = d.balance;
  out.A = MatX::Zero(2 * n, 2 * n);
  out.B = MatX::Zero(2 * n, tree.model().nv());
  out.A.topLeftCorner(n, n) = turning(tree, d.balance);
  out.A.topRightCorner(n, n).setIdentity();
  out.A.bottomLeftCorner(n, n) = d.by_q;
  out.A.bottomRightCorner(n, n) = d.by_v;
  out.B.bottomRows(n) = d.by_effort;
  return {};
}

Modes modes_of(const JointTree& tree, const Linear& linear) {
  Modes out;
  const Balance& b = linear.balance;
  const Eigen::Index n = b.Gamma.rows();
  if (n == 0) return out;
  const Eigen::LLT<MatX> factor(b.Gamma);
  const auto whiten = [&](const MatX& m) {
    const MatX left = factor.matrixL().solve(m);
    return MatX(factor.matrixL().solve(left.transpose()).transpose());
  };
  const MatX K = whiten(b.by_q), C = whiten(b.by_v), G = linear.A.topLeftCorner(n, n);
  const double size = K.norm();
  const double rate = std::sqrt(size);
  out.symmetric = b.v.isZero(0) && C.norm() <= kDamped * rate && (K - K.transpose()).norm() <= kAskew * size;
  const auto add = [&](std::complex<double> value, const Eigen::VectorXcd& z) {
    Mode mode;
    mode.value = value;
    mode.shape = factor.matrixU().solve(z);
    finish(tree, b, mode);
    out.largest = std::max(out.largest, std::abs(value));
    out.modes.push_back(std::move(mode));
  };
  if (out.symmetric) {
    const Eigen::SelfAdjointEigenSolver<MatX> eigen(0.5 * (K + K.transpose()));
    for (Eigen::Index i = 0; i < n; ++i) {
      const double square = eigen.eigenvalues()[i];
      const Eigen::VectorXcd z = eigen.eigenvectors().col(i).cast<std::complex<double>>();
      if (std::abs(square) <= kNeutral * size) {
        add(0, z);
      } else if (square > 0) {
        add({0, std::sqrt(square)}, z);
      } else {
        add(-std::sqrt(-square), z);
        add(std::sqrt(-square), z);
      }
    }
  } else {
    MatX A = MatX::Zero(2 * n, 2 * n);
    const MatX upper = factor.matrixU();
    A.topLeftCorner(n, n) = upper * factor.matrixU().template solve<Eigen::OnTheRight>(G);
    A.topRightCorner(n, n).setIdentity();
    A.bottomLeftCorner(n, n) = -K;
    A.bottomRightCorner(n, n) = -C;
    const Eigen::EigenSolver<MatX> eigen(A);
    for (Eigen::Index i = 0; i < 2 * n; ++i)
      if (eigen.eigenvalues()[i].imag() >= 0) add(eigen.eigenvalues()[i], eigen.eigenvectors().col(i).head(n));
  }
  std::stable_sort(out.modes.begin(), out.modes.end(),
                   [](const Mode& a, const Mode& c) { return std::abs(a.value) < std::abs(c.value); });
  return out;
}

}  // namespace invar
