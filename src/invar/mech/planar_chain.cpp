// SPDX-License-Identifier: Apache-2.0
//
// With A_i the scaled rotation that takes xi_i to the vector from joint i to joint i+1 (they all commute):
//   x_i = X_i + xi_i,  X_i+1 = X_i + A_i xi_i      so  J_ij = A_j below the diagonal, 1 on it                   (22)
//   xi_i = x_i - X_i,  X_i+1 = (1 - A_i) X_i + A_i x_i
//   so  xi_i = x_i - sum_j<i  prod_k=j+1..i-1 (1 - A_k) A_j x_j                                          (25), docs/papers.md C1
// The second recursion is what makes J^-1 large where L_i > 2 l_i, and M of (34) with it.
#include "invar/mech/planar_chain.hpp"

#include <cmath>

namespace invar {
namespace {

using Vec2 = PlanarChain::Vec2;
using Mat2 = PlanarChain::Mat2;

Vec2 perp(const Vec2& a) { return {-a.y(), a.x()}; }

// Diagonal of N blocks of rows by columns, the i-th one made by `block`.
template <int Rows, int Columns, class F>
MatX diagonal(int n, F&& block) {
  MatX out = MatX::Zero(Rows * n, Columns * n);
  for (int i = 0; i < n; ++i) out.template block<Rows, Columns>(Rows * i, Columns * i) = block(i);
  return out;
}

}  // namespace

MatX PlanarChain::J() const {
  const int n = links();
  MatX J = MatX::Identity(2 * n, 2 * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j) J.block<2, 2>(2 * i, 2 * j) = A(j);
  return J;
}

MatX PlanarChain::J_tcp() const {
  MatX J(2, 2 * links());
  for (int i = 0; i < links(); ++i) J.block<2, 2>(0, 2 * i) = A(i);
  return J;
}

MatX PlanarChain::t(int i) const {
  MatX t = MatX::Zero(2, 2 * links());
  t.block<2, 2>(0, 2 * i).setIdentity();
  Mat2 product = Mat2::Identity();
  for (int j = i - 1; j >= 0; --j) {
    t.block<2, 2>(0, 2 * j) = -product * A(j);
    product *= Mat2::Identity() - A(j);
  }
  return t;
}

MatX PlanarChain::J_inverse() const {
  MatX T(2 * links(), 2 * links());
  for (int i = 0; i < links(); ++i) T.middleRows<2>(2 * i) = t(i);
  return T;
}

MatX PlanarChain::D() const {
  MatX D = MatX::Identity(links(), links());
  D.diagonal(-1).setConstant(-1);
  return D;
}

MatX PlanarChain::D_inverse() const { return MatX::Ones(links(), links()).triangularView<Eigen::Lower>(); }

MatX PlanarChain::L() const {
  return diagonal<1, 1>(links(), [this](int i) { return Eigen::Matrix<double, 1, 1>(l(i)); });
}

VecX PlanarChain::X_from_xi(const VecX& xi) const {
  VecX X(2 * links() + 2);
  X.head<2>() = base_;
  for (int i = 0; i < links(); ++i) X.segment<2>(2 * i + 2) = X.segment<2>(2 * i) + A(i) * xi.segment<2>(2 * i);
  return X;
}

VecX PlanarChain::x_from_xi(const VecX& xi) const { return X_from_xi(xi).head(2 * links()) + xi; }

VecX PlanarChain::xi_from_x(const VecX& x) const {
  VecX xi(2 * links());
  Vec2 X = base_;
  for (int i = 0; i < links(); ++i) {
    xi.segment<2>(2 * i) = x.segment<2>(2 * i) - X;
    X += A(i) * xi.segment<2>(2 * i);
  }
  return xi;
}

VecX PlanarChain::phi_from_xi(const VecX& xi) const {
  VecX phi(links());
  for (int i = 0; i < links(); ++i) phi[i] = std::atan2(xi[2 * i + 1], xi[2 * i]);
  return phi;
}

VecX PlanarChain::xi_from_phi(const VecX& phi) const {
  VecX xi(2 * links());
  for (int i = 0; i < links(); ++i) xi.segment<2>(2 * i) = l(i) * Vec2(std::cos(phi[i]), std::sin(phi[i]));
  return xi;
}

// theta_i, by which link i is turned from the configuration where all coordinates are zero, is the sum of its joints' angles.
VecX PlanarChain::xi_from_angles(const VecX& q) const {
  VecX xi(2 * links());
  double theta = 0;
  for (int i = 0; i < links(); ++i) {
    theta += sign(i) * q[coordinates_[i]];
    xi.segment<2>(2 * i) = Eigen::Rotation2Dd(theta) * links_[i].c;
  }
  return xi;
}

VecX PlanarChain::angles_from_xi(const VecX& xi) const {
  VecX q(links());
  Vec2 inner(1, 0);  // the direction of theta_i-1
  for (int i = 0; i < links(); ++i) {
    const Vec2 c = links_[i].c, at = xi.segment<2>(2 * i);
    const Vec2 outer(c.dot(at), perp(c).dot(at));
    q[coordinates_[i]] = sign(i) * std::atan2(perp(inner).dot(outer), inner.dot(outer));
    inner = outer.normalized();
  }
  return q;
}

VecX PlanarChain::x_of(const Bodies& bodies) const {
  VecX x(2 * links());
  for (int i = 0; i < links(); ++i) x.segment<2>(2 * i) = plane_.project(bodies[body(i)].p_WC);
  return x;
}

VecX PlanarChain::x_dot_of(const Bodies& bodies) const {
  VecX x_dot(2 * links());
  for (int i = 0; i < links(); ++i) x_dot.segment<2>(2 * i) = plane_.project(bodies[body(i)].v_WC);
  return x_dot;
}

VecX PlanarChain::g(const VecX& xi) const {
  VecX g(links());
  for (int i = 0; i < links(); ++i) g[i] = 0.5 * (xi.segment<2>(2 * i).squaredNorm() - l(i) * l(i));
  return g;
}

MatX PlanarChain::G(const VecX& xi) const {
  MatX G(links(), 2 * links());
  for (int i = 0; i < links(); ++i) G.row(i) = xi.segment<2>(2 * i).transpose() * t(i);
  return G;
}

VecX PlanarChain::xi_perp(const VecX& xi) const {
  VecX out(2 * links());
  for (int i = 0; i < links(); ++i) out.segment<2>(2 * i) = perp(xi.segment<2>(2 * i));
  return out;
}

MatX PlanarChain::dxi_dphi(const VecX& xi) const {
  return diagonal<2, 1>(links(), [&xi](int i) { return perp(xi.segment<2>(2 * i)); });
}

MatX PlanarChain::M() const {
  MatX M = diagonal<2, 2>(links(), [this](int i) { return Mat2(links_[i].mass * Mat2::Identity()); });
  for (int i = 0; i < links(); ++i) {
    const MatX t_i = t(i);
    M += links_[i].inertia / links_[i].c.squaredNorm() * t_i.transpose() * t_i;
  }
  return M;
}

// All masses beyond link i move with A_i xi_i, its own with xi_i.
MatX PlanarChain::M_xi() const {
  const int n = links();
  MatX M(2 * n, 2 * n);
  double beyond = 0;
  for (int i = n - 1; i >= 0; --i) {
    const Link& link = links_[i];
    const double own = link.mass + link.inertia / link.c.squaredNorm();
    M.block<2, 2>(2 * i, 2 * i) = own * Mat2::Identity() + beyond * A(i).transpose() * A(i);
    for (int j = 0; j < i; ++j) {
      M.block<2, 2>(2 * j, 2 * i) = A(j).transpose() * (link.mass * Mat2::Identity() + beyond * A(i));
      M.block<2, 2>(2 * i, 2 * j) = M.block<2, 2>(2 * j, 2 * i).transpose();
    }
    beyond += link.mass;
  }
  return M;
}

double PlanarChain::V_g(const VecX& x) const { return gradient_V_g().dot(x); }

VecX PlanarChain::gradient_V_g() const {
  VecX out(2 * links());
  for (int i = 0; i < links(); ++i) out.segment<2>(2 * i) = -links_[i].mass * gravity_;
  return out;
}

MatX PlanarChain::B_0(const VecX& xi) const {
  MatX B(2 * links(), links());
  for (int i = 0; i < links(); ++i) B.col(i) = t(i).transpose() * perp(xi.segment<2>(2 * i));
  return B;
}

MatX PlanarChain::B(const VecX& xi) const {
  const VecX lengths = L().diagonal();
  return B_0(xi) * lengths.cwiseAbs2().cwiseInverse().asDiagonal() * D().transpose();
}

MatX PlanarChain::H(const VecX& xi) const {
  return J_inverse().transpose() * diagonal<2, 2>(links(), [&xi](int i) {
           Mat2 lR;
           lR << xi.segment<2>(2 * i), perp(xi.segment<2>(2 * i));
           return lR;
         });
}

MatX PlanarChain::P() const {
  MatX P = MatX::Zero(2 * links(), 2 * links());
  for (int i = 0; i < links(); ++i) P(i, 2 * i) = P(links() + i, 2 * i + 1) = 1;
  return P;
}

VecX PlanarChain::torques(const VecX& xi, const VecX& F) const {
  return D_inverse().transpose() * (dxi_dphi(xi).transpose() * (J().transpose() * F));
}

VecX PlanarChain::impedance(const VecX& xi, const VecX& x_dot, const Vec2& target, const Mat2& K, const Mat2& D_x) const {
  const MatX map = J_tcp() * J_inverse();
  const Vec2 error = X_from_xi(xi).tail<2>() - target;
  return -map.transpose() * (K * error + D_x * (map * x_dot)) + gradient_V(xi);
}

}  // namespace invar
