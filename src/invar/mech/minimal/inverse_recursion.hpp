// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/minimal/joint_tree.hpp"
#include "invar/mech/passive_law.hpp"

namespace invar {

/// Inverse dynamics over the joint tree for any number S: given motions u (a small displacement, value zero), rates v and
/// accelerations a of all freedoms of the tree at coordinates q, the efforts that are missing on every freedom, and by how much
/// closures and couplings are violated. Everything in World axes, bodies at their centres of mass.
///
/// Displacements enter through the law of joints, d/dt X_FM = S q': X_FM moves by the twist S u, a ball's attitude by exp(u) from
/// the left. Of all kinds only the second axis x of a universal joint moves in F, by u_0 e_z × x. So dual numbers need the
/// joints' facts for values only.
template <class S>
class InverseRecursion {
 public:
  using Vector = Eigen::Matrix<S, Eigen::Dynamic, 1>;
  using V3 = Vec3Of<S>;
  using M3 = Eigen::Matrix<S, 3, 3>;
  using V6 = Eigen::Matrix<S, 6, 1>;
  using Screws = Eigen::Matrix<S, 6, Eigen::Dynamic, Eigen::ColMajor, 6, 6>;

  /// q: completed coordinates of the tree. `load` is held: wrenches as they are in World, efforts as they are on the joints.
  InverseRecursion(const JointTree& tree, const VecX& q, const VecX& wound, const Load& load);

  /// Motion of all bodies and joints.
  void move(const Vector& u, const Vector& v, const Vector& a);
  /// Rows of closures, then of couplings, not scaled: Φ_q v and its derivative Φ_q a + Φ̇_q v, after move.
  const Vector& rows() const { return rows_; }
  const Vector& rows_rate() const { return rows_rate_; }

  /// Rates of all joints, stacked as in the model.
  Vector rates() const;

  /// What inertia asks for less what acts, on the freedoms of the tree; `multipliers`: forces of the rows, as they are. After
  /// move.
  void balance(const VecX& multipliers, Vector& missing);

 private:
  struct BodyAt {
    M3 R = M3::Identity();
    V3 p = V3::Zero(), v = V3::Zero(), w = V3::Zero(), a = V3::Zero(), alpha = V3::Zero();
  };
  struct JointAt {
    M3 R_F;                // World from F
    V3 P;                  // the joint point, World
    Screws columns, dual;  // in F
    double q[7] = {};      // value of its coordinates
    S u[6], v[6], a[6];    // displacement, rates, accelerations of its freedoms
    V6 bias;
    Rows C;  // of a joint outside the tree; of a universal one row 0 is replaced by `across`
    V3 across;
  };
  struct Force {
    V3 moment = V3::Zero(), force = V3::Zero();
  };

  const BodyAt& body(int b) const { return b == kWorld ? ground_ : bodies_[static_cast<std::size_t>(b)]; }
  void face(const Joint& joint, JointAt& at) const;
  void place_node(const JointTree::Node& n, const Vector& u, const Vector& v, const Vector& a);
  void place_floating(const JointTree::Node& n, const Vector& u, const Vector& v, const Vector& a);
  void measure(int j);
  V6 row(const Joint& joint, const JointAt& at, Eigen::Index k) const;
  S driving(const Coupling& c, int derivative) const;
  void note_rows();
  Vector efforts() const;
  void add_tendons(std::vector<Force>& on) const;
  void add_outside(const VecX& multipliers, const Vector& effort, std::vector<Force>& on) const;

  const JointTree& tree_;
  const Model& model_;
  const VecX& q_;
  const Load& load_;
  std::vector<int> outside_;  // joints outside the tree: closures first
  BodyAt ground_;
  std::vector<BodyAt> bodies_;
  std::vector<JointAt> joints_;
  Vector rows_, rows_rate_;
};

}  // namespace invar
