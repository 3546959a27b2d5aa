// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "invar/base/status.hpp"
#include "invar/mech/kkt_problem.hpp"

namespace invar {

/// Householder QR with column pivoting, A P = [Q1 Q2][R; 0], that refactors without heap. Full column rank is asked for.
class PivotedQr {
 public:
  PivotedQr(int rows, int columns)
      : a_(MatX::Zero(rows, columns)), beta_(VecX::Zero(columns)), order_(static_cast<std::size_t>(columns)) {}

  MatX& matrix() { return a_; }  ///< fill with A, then factor()
  /// Columns found independent, relative to the largest one.
  int factor(double tolerance);
  /// y := Qᵀ y or Q y, for a matrix or vector with as many rows as A.
  void apply_transpose(Eigen::Ref<MatX> y) const;
  void apply(Eigen::Ref<VecX> y) const;
  /// z = P R⁻¹ y and y = R⁻ᵀ Pᵀ z.
  void solve(const VecX& y, VecX& z) const;
  void solve_transpose(const VecX& z, VecX& y) const;
  /// A unit vector of the null space when only `rank` columns are independent.
  VecX null_vector(int rank) const;

 private:
  void reflect(int k, Eigen::Ref<MatX> y) const;
  MatX a_;                  // R on and above the diagonal, reflectors below
  VecX beta_;               // reflector k: 1 − beta v vᵀ with v = (1, a_(k+1.., k))
  std::vector<int> order_;  // P
};

/// How many directions of each body have no inertia: 6 for a massless body, 3 for a point mass, 1 for an ideal rod. An
/// eigenvalue of the scaled mass counts as zero below 1e-14 of the largest one of the same body.
std::vector<int> idle_directions(const KktProblem& problem);

/// Inverse of each mass on its range, W, and an orthonormal basis of its kernel in the first `idle` columns of Z.
/// Ends with NoInertia at a body that has more idle directions than it is said to have.
Verdict invert_masses(const KktProblem& problem, const std::vector<int>& idle, std::vector<Mat6>& W, std::vector<Mat6>& Z);

/// Removes idle directions exactly. M > 0 on ker J holds iff J Z has full column rank; then, with J Z = [Q1 Q2][R; 0] in each
/// cluster of such bodies tied by common blocks,
///     F = Q1 R⁻ᵀ Zᵀ f + Q2 φ,     Q2ᵀ J_m x_m = Q2ᵀ γ,     z = R⁻¹ Q1ᵀ (γ − J_m x_m),     x = x_m + Z z:
/// the cluster becomes a hyper-joint with rows Q2ᵀ J_m between its massive neighbours. A row with compliance inside a cluster
/// is written as a rotor of its own (an extra body of the condensed problem) so that the hyper-joint stays a plain constraint.
class Condensation {
 public:
  Condensation(const KktProblem& problem, const std::vector<int>& idle);

  /// The condensed problem: structure fixed, numbers from the last refresh.
  const KktStructure& structure() const { return structure_; }
  const std::vector<Mat6>& jacobian() const { return jacobian_; }
  const std::vector<Mat6>& inverse_mass() const { return W_; }
  const VecX& compliance() const { return compliance_; }

  /// New numbers; W and Z from invert_masses. NoInertia names the body, direction() its idle twist.
  Verdict refresh(const KktProblem& problem, const std::vector<Mat6>& W, const std::vector<Mat6>& Z);
  const Vec6& direction() const { return direction_; }

  /// Right sides for the condensed problem, and the way back. expand uses the right sides of the last condense.
  void condense(const VecX& f, const VecX& gamma, VecX& f_c, VecX& gamma_c);
  void expand(const VecX& x_c, const VecX& F_c, VecX& x, VecX& F);
  /// Multipliers alone: F of the problem that belongs to F_c when nothing acts on the idle directions.
  void expand_stress(const VecX& F_c, VecX& F) const;

  /// The row of the problem that stands for a condensed row (inside a cluster: the first row of its first block), and whether
  /// a block belongs to a cluster.
  int row(int condensed_row) const { return row_of_condensed_[static_cast<std::size_t>(condensed_row)]; }
  int block(int condensed_row) const { return original_.block_of_row(row(condensed_row)); }
  bool in_cluster(int block) const { return cluster_of_block_[static_cast<std::size_t>(block)] >= 0; }
  bool same_cluster(int block, int other) const {
    return in_cluster(block) &&
           cluster_of_block_[static_cast<std::size_t>(block)] == cluster_of_block_[static_cast<std::size_t>(other)];
  }

 private:
  struct Cluster {
    std::vector<int> bodies;         // with idle directions
    std::vector<int> first_unknown;  // per body of `bodies`
    std::vector<int> blocks;         // touching them
    std::vector<int> first_row;      // per block of `blocks`, in the cluster
    std::vector<int> neighbours;     // bodies of the condensed problem that keep inertia, rotors included
    int rows = 0, unknowns = 0;
    int first_block = 0, hyper_blocks = 0;  // in the condensed structure
    PivotedQr qr{0, 0};                     // rows x unknowns
    MatX massive;                           // Qᵀ J_m, rows x 6 neighbours
    VecX y, phi;                            // rows: work
    VecX t, z;                              // unknowns: R⁻ᵀ Zᵀ f, then z
  };

  void find_clusters(const KktProblem& problem);
  void lay_out(const KktProblem& problem);
  void add_hyper_joint(Cluster& cluster);
  Verdict refresh_cluster(const KktProblem& problem, Cluster& cluster);
  Verdict name_idle(const Cluster& cluster, int rank);
  void gather_rows(const Cluster& cluster, const VecX& rows, VecX& y) const;
  int idle(int body) const { return idle_[static_cast<std::size_t>(body)]; }

  KktStructure original_;
  std::vector<int> idle_;
  KktStructure structure_;
  std::vector<Mat6> jacobian_, W_, Z_;
  VecX compliance_;
  std::vector<Cluster> clusters_;
  std::vector<int> cluster_of_body_, cluster_of_block_;
  std::vector<int> condensed_block_;  // of each block outside clusters
  std::vector<int> rotor_of_block_;   // extra body of each block, -1 without
  std::vector<int> row_of_condensed_;
  Vec6 direction_ = Vec6::Zero();
};

}  // namespace invar
