// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>
#include <span>
#include <vector>

#include "invar/geom/vector.hpp"

namespace invar {

/// A block of constraint rows: rows first_row .. first_row+rows-1, touching the bodies of touches first_touch .. +touches-1.
struct KktBlock {
  int first_row = 0;
  int rows = 0;  ///< 0..6
  int first_touch = 0;
  int touches = 0;
};

/// Which rows touch which bodies. Blocks are joints (0..6 rows, one or two bodies), couplings (one row, more bodies) or
/// whatever else ties bodies together. The ground is not a body: a joint to the ground touches one body only.
class KktStructure {
 public:
  static constexpr int kMaxRows = 6;

  explicit KktStructure(int bodies) : bodies_(bodies) {}

  /// Adds a block of `rows` rows on different bodies; returns its index.
  int add(int rows, std::span<const int> bodies);
  int add(int rows, std::initializer_list<int> bodies) { return add(rows, std::span<const int>(bodies.begin(), bodies.size())); }

  int bodies() const { return bodies_; }
  int rows() const { return rows_; }
  int blocks() const { return static_cast<int>(blocks_.size()); }
  int touches() const { return static_cast<int>(body_of_touch_.size()); }
  const KktBlock& block(int j) const { return blocks_[static_cast<std::size_t>(j)]; }
  int body(int touch) const { return body_of_touch_[static_cast<std::size_t>(touch)]; }
  int block_of_row(int row) const { return block_of_row_[static_cast<std::size_t>(row)]; }

 private:
  int bodies_ = 0;
  int rows_ = 0;
  std::vector<KktBlock> blocks_;
  std::vector<int> body_of_touch_;  // touches
  std::vector<int> block_of_row_;   // rows
};

/// The equations of motion at one instant over any body-joint graph,
///     M x + Jᵀ F = f,     J x − c F = γ,
/// with comparable numbers: twists (v_C, ℓ_i ω) with the length of each body, rows (v, ℓ ω_rel) along orthonormal directions and
/// multipliers (f, m/ℓ)/m0 with length and mass of the connected part (see Scales), M_i = diag(m 1, Θ/ℓ_i²)/m0 (any symmetric
/// positive semidefinite 6x6 is allowed), forces (f, n/ℓ_i)/m0; accelerations stay in m/s². A row with compliance
/// c > 0 is no constraint but an inertia: an armature on a freedom of a joint is the row along that freedom, c = 1/armature.
/// The structure is fixed; mass, jacobian and compliance are refilled at every instant.
struct KktProblem {
  explicit KktProblem(KktStructure s)
      : structure(std::move(s)),
        mass(static_cast<std::size_t>(structure.bodies()), Mat6::Identity()),
        jacobian(static_cast<std::size_t>(structure.touches()), Mat6::Zero()),
        compliance(VecX::Zero(structure.rows())) {}

  /// J of block j on the k-th body it touches: the first `rows` rows count, the others must stay zero.
  Mat6& jac(int j, int k) { return jacobian[static_cast<std::size_t>(structure.block(j).first_touch + k)]; }
  const Mat6& jac(int j, int k) const { return jacobian[static_cast<std::size_t>(structure.block(j).first_touch + k)]; }

  const KktStructure structure;
  std::vector<Mat6> mass;      ///< bodies
  std::vector<Mat6> jacobian;  ///< touches
  VecX compliance;             ///< rows, >= 0
  std::vector<Mat3> turn;      ///< bodies: axes of a body in which its mass is constant, or empty where nobody tells
};

/// y += J x and y += Jᵀ F for jacobians stored as in KktProblem; x has 6 entries per body, F and y one per row.
void add_jacobian_times(const KktStructure& s, const std::vector<Mat6>& jacobian, const VecX& x, VecX& y);
void add_transpose_times(const KktStructure& s, const std::vector<Mat6>& jacobian, const VecX& F, VecX& y);

/// Norm of every row of J; 1 for a row that touches nothing.
VecX row_lengths(const KktProblem& p);

/// What a candidate (x, F) leaves over: rf = f − M x − Jᵀ F, rg = γ − J x + c F. Outputs are sized by the caller.
void kkt_residual(const KktProblem& p, const VecX& f, const VecX& gamma, const VecX& x, const VecX& F, VecX& rf, VecX& rg);

}  // namespace invar
