// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/bodies.hpp"
#include "invar/mech/plane.hpp"

namespace invar {

/// Paper C, section 3: N links in a plane, hinged in a row to the ground. Every matrix of the paper under its own letter, for
/// study, control and tests; what steps in time is the natural formulation.
///
/// All vectors stack pairs of components along e1, e2 of the plane (m), link by link from the ground:
///   xi   centre of gravity of link i from its joint i           2N    (21)
///   x    centre of gravity from the World origin                2N    x = base + J xi
///   X    joints 1 .. N and the tool centre point                2N+2
///   phi  absolute angles of xi_i from e1, rad                   N     relative ones: D phi
/// Neither the centre of gravity nor the first joint has to lie where the paper puts it: with A_i = L_i/l_i R^T(beta_i) in place
/// of alpha_i (docs/papers.md C4) blocks of two by two take the place of numbers times I_2, and `base` that of X_1 = 0.
/// The paper's torques tau act on the relative angles; those of the model are sign(i) times as large. Joint springs, dampers and
/// motors are such torques. The springs of the paper are the model's tendons.
class PlanarChain {
 public:
  using Vec2 = Eigen::Vector2d;
  using Mat2 = Eigen::Matrix2d;

  /// The chain of a model. Refused with the reason where the model is none: joints that are not hinges about one normal,
  /// branches, loops, rotors, a centre of gravity on its joint (l_i = 0). The tool centre point is the origin of `tcp`, a frame
  /// of the last link; without a name it is the frame "tcp" where there is one, else the last centre of gravity.
  static Result<PlanarChain> of(const Model& model, const std::string& tcp = {});

  int links() const { return static_cast<int>(links_.size()); }
  const Plane& plane() const { return plane_; }
  int body(int i) const { return links_[i].body; }
  int joint(int i) const { return links_[i].joint; }
  double sign(int i) const { return links_[i].sign; }  ///< +1, or -1 where the coordinate of the model counts clockwise
  double l(int i) const { return links_[i].c.norm(); }
  const Mat2& A(int i) const { return links_[i].A; }  ///< alpha_i I_2 where the centre of gravity lies on the line of joints

  // Kinematics, 3.1
  MatX J() const;          ///< (22)                                             2N x 2N
  MatX J_tcp() const;      ///< (23)                                             2 x 2N
  MatX t(int i) const;     ///< (25): t_i^T, the rows i of J^-1; docs/papers.md C1  2 x 2N
  MatX J_inverse() const;  ///< (24)                                             2N x 2N
  MatX D() const;          ///< (26)                                             N x N
  MatX D_inverse() const;  ///< (26)                                             N x N
  MatX L() const;          ///< (32), diag l_i                                   N x N

  VecX x_from_xi(const VecX& xi) const;
  VecX xi_from_x(const VecX& x) const;
  VecX X_from_xi(const VecX& xi) const;
  VecX phi_from_xi(const VecX& xi) const;
  VecX xi_from_phi(const VecX& phi) const;
  VecX xi_from_angles(const VecX& q) const;   ///< joint coordinates of the model, stacked as there
  VecX angles_from_xi(const VecX& xi) const;  ///< in (-pi, pi]
  VecX x_of(const Bodies& bodies) const;
  VecX x_dot_of(const Bodies& bodies) const;

  // Constraints, 3.2
  VecX g(const VecX& xi) const;         ///< (27)                                   N
  MatX G(const VecX& xi) const;         ///< (28), (29)                             N x 2N
  VecX xi_perp(const VecX& xi) const;   ///< (31)                                   2N
  MatX dxi_dphi(const VecX& xi) const;  ///< (32), diag xi_perp_i                   2N x N

  // Energies, 3.3 and 3.4
  MatX M() const;  ///< (34)                                                      2N x 2N
  /// J^T M J, built without J^-1: the mass of xi_dot. Its condition number is that of a chain; (34)'s grows like
  /// (L_i/l_i - 1)^2N.                                                             2N x 2N
  MatX M_xi() const;
  double V_g(const VecX& x) const;           ///< (35), J
  VecX gradient_V_g() const;                 ///< with respect to x, N                 2N
  double V_s(const VecX& xi) const;          ///< (36)-(38), J; docs/papers.md C2, C5
  VecX gradient_V(const VecX& xi) const;     ///< of V_g + V_s with respect to x, N  2N
  VecX gradient_V_xi(const VecX& xi) const;  ///< the same with respect to xi, built without J^-1

  // Inputs, 3.5, and control, 5
  MatX B_0(const VecX& xi) const;                     ///< (40)                                 2N x N
  MatX B(const VecX& xi) const;                       ///< (40)                                 2N x N
  MatX H(const VecX& xi) const;                       ///< (48) with l_i R, docs/papers.md C3   2N x 2N
  MatX P() const;                                     ///< (47): [G^T B_0] = H P^T              2N x 2N
  VecX torques(const VecX& xi, const VecX& F) const;  ///< (49), the tau of forces F on the centres of gravity
  /// (45): forces that pull the tool centre point towards `target` with stiffness K and damping D, on top of what V needs.
  VecX impedance(const VecX& xi, const VecX& x_dot, const Vec2& target, const Mat2& K, const Mat2& D_x) const;

 private:
  struct Link {
    int body, joint;
    double sign, mass, inertia;  ///< kg; kg m² about the normal through the centre of gravity
    Vec2 c;                      ///< centre of gravity from the joint, in b1, b2 of the body: xi_i = R(theta_i) c
    Mat2 A;                      ///< X_i+1 - X_i = A_i xi_i
  };
  struct Point {  ///< of a tendon: X_link + C xi_link in the plane (`at` on the ground, link -1), `offset` along the normal
    int link;
    Mat2 C;
    Vec2 at;
    double offset;
  };
  struct Line {
    std::vector<Point> points;
    double stiffness, rest;
    bool tension_only;
  };

  PlanarChain() = default;
  MatX E(const Point& point) const;
  Vec3 position(const Point& point, const VecX& X, const VecX& xi) const;
  double stretch(const Line& line, const VecX& X, const VecX& xi) const;

  Plane plane_;
  Vec2 base_ = Vec2::Zero(), gravity_ = Vec2::Zero();
  std::vector<Link> links_;
  std::vector<Line> lines_;
  std::vector<int> coordinates_;  ///< per link: where the angle of its joint stands among the model's

  friend class PlanarChainBuilder;
};

}  // namespace invar
