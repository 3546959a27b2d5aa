// SPDX-License-Identifier: Apache-2.0
//
// Freedoms are measured in metres at the model's length, so that K is in N/m throughout. With the null vectors N of K the point
// is free along F = range(J N), and what is left of the range of J is H: C = H (Hᵀ J K⁺ Jᵀ H) Hᵀ, because a displacement along H
// may be accompanied by any motion along F for nothing.
#include "invar/mech/minimal/tip_stiffness.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace invar {
namespace {

// Rounding of the Hessian, relative to its largest eigenvalue; of directions of the point, squared, relative to how far it moves;
// and of that itself, squared, per metre that freedoms move.
constexpr double kNothing = 1e-11, kDirection = 1e-10, kStill = 1e-24;

/// Eigenvectors of a symmetric matrix whose values are above, or not above, a bound.
MatX space_of(const MatX& m, double bound, bool above) {
  if (m.rows() == 0) return m;
  const Eigen::SelfAdjointEigenSolver<MatX> eigen(m);
  MatX out(m.rows(), 0);
  for (Eigen::Index k = 0; k < m.rows(); ++k) {
    if ((std::abs(eigen.eigenvalues()[k]) > bound) != above) continue;
    out.conservativeResize(Eigen::NoChange, out.cols() + 1);
    out.col(out.cols() - 1) = eigen.eigenvectors().col(k);
  }
  return out;
}

// Velocities of the point for unit rates of the independent freedoms.
MatX motion_of(const JointTree& tree, const Balance& b, int body, const Vec3& p_BE) {
  MatX J(3, b.E.cols());
  Bodies bodies(tree.model().bodies().size());
  const auto at = static_cast<std::size_t>(body);
  for (Eigen::Index k = 0; k < J.cols(); ++k) {
    tree.place(b.q, b.E.col(k), bodies);
    J.col(k) = bodies[at].v_WC + bodies[at].w_WB.cross(bodies[at].q_WB * (p_BE - tree.model().bodies()[at].inertia.p_BC));
  }
  return J;
}

struct Axis {
  double stiffness;
  Vec3 along;
};

void order(std::array<Axis, 3>& axes, TipStiffness& out) {
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.stiffness < b.stiffness; });
  for (int k = 0; k < 3; ++k) {
    out.stiffness[k] = axes[static_cast<std::size_t>(k)].stiffness;
    out.axes.col(k) = axes[static_cast<std::size_t>(k)].along;
  }
}

// Rigid, free and held directions, and the compliance of the last. `drift`: where motions that nothing holds take the point.
void principal_axes(const MatX& J, const MatX& give, const MatX& drift, double bound, TipStiffness& out) {
  std::array<Axis, 3> axes;
  std::size_t known = 0;
  const MatX range = space_of(J * J.transpose(), bound, true), rigid = space_of(J * J.transpose(), bound, false);
  for (Eigen::Index k = 0; k < rigid.cols(); ++k) axes[known++] = {std::numeric_limits<double>::infinity(), rigid.col(k)};
  const MatX taken = range.transpose() * drift, both = taken * taken.transpose();
  const MatX F = range * space_of(both, bound, true), H = range * space_of(both, bound, false);
  for (Eigen::Index k = 0; k < F.cols(); ++k) axes[known++] = {0, F.col(k)};
  if (H.cols() > 0) {
    const MatX held = H.transpose() * J * give * J.transpose() * H;
    const Eigen::SelfAdjointEigenSolver<MatX> principal(held);
    for (Eigen::Index k = 0; k < H.cols(); ++k)
      axes[known++] = {1 / principal.eigenvalues()[k], H * principal.eigenvectors().col(k)};
    out.compliance = H * held * H.transpose();
  }
  order(axes, out);
}

}  // namespace

Verdict tip_stiffness(const JointTree& tree, const VecX& q, const VecX& wound, const Load& load, int body, const Vec3& p_BE,
                      TipStiffness& out) {
  out = {};
  const auto n = static_cast<Eigen::Index>(tree.independent().size());
  out.stiffness.setConstant(std::numeric_limits<double>::infinity());
  if (n == 0) return {};
  Balance b;
  if (const Verdict verdict = balance_at(tree, q, VecX::Zero(tree.nv()), wound, load, VecX::Zero(n), b); !verdict.ok())
    return verdict;
  VecX size(n);
  for (Eigen::Index k = 0; k < n; ++k) {
    const int freedom = tree.independent()[static_cast<std::size_t>(k)];
    size[k] = tree.size_of(freedom);
    out.coordinates.push_back(tree.freedom_name(freedom));
    out.largest = std::max(out.largest, std::abs(b.missing[k]) / size[k]);
  }
  out.missing = b.missing;
  const MatX K = size.cwiseInverse().asDiagonal() * (0.5 * (b.by_q + b.by_q.transpose())) * size.cwiseInverse().asDiagonal();
  const MatX J = motion_of(tree, b, body, p_BE) * size.cwiseInverse().asDiagonal();

  const double hardest = K.cwiseAbs().maxCoeff(), reach = J.cwiseAbs().maxCoeff();
  const Eigen::SelfAdjointEigenSolver<MatX> eigen(K);
  MatX give = MatX::Zero(n, n);
  for (Eigen::Index k = 0; k < n; ++k)
    if (std::abs(eigen.eigenvalues()[k]) > kNothing * hardest)
      give += eigen.eigenvectors().col(k) * eigen.eigenvectors().col(k).transpose() / eigen.eigenvalues()[k];
  principal_axes(J, give, J * space_of(K, kNothing * hardest, false), std::max(kDirection * reach * reach, kStill), out);
  return {};
}

}  // namespace invar
