// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/dense.hpp"
#include "invar/mech/loops.hpp"
#include "invar/mech/loops_limits.hpp"

namespace invar {

/// Singular values and vectors of a group's rows at the place where the loops stand.
struct LoopRank {
  int rank = 0;      ///< counted: singular values above `null`
  double sigma = 1;  ///< the singular value of the group's regular rank, over `scale`
  double scale = 1;  ///< the largest one, or a tenth where all are smaller: rows that see nothing
  VecX values;       ///< all of them, falling
  MatX left, right;  ///< their vectors
};
/// `regular`: rank at regular configurations; 0: as counted. `null`: what counts as zero, in parts of the largest value.
LoopRank rank_of(const Loops& loops, std::size_t group, int regular, double null = kNullSigma);

/// Memory for looking at the rows of one group again and again without the heap.
struct LoopWork {
  LoopWork(const Loops& loops, std::size_t group);

  MatX J, back, product, slope;
  VecX gap, q, step;
  SvdOf svd;
  PencilRoots pencil;
};
void rank_of(const Loops& loops, std::size_t group, int regular, double null, LoopWork& work, LoopRank& out);
/// The rank that stands out of what gaps and rounding leave of rows that depend on others where loops are closed.
int rank_beyond_gaps(Loops& loops, std::size_t group, const LoopRank& seen, VecX& gap);

/// Where the straight line from q along the unit tangent t (scaled, of the group) first meets a singular configuration, to first
/// order: Σ + x NᵀΦ'G loses rank, N, Σ, G the singular triples at q below `weak` of the largest.
struct Ahead {
  bool found = false;
  double x = 0;        ///< along t, the root nearest to zero above `least`
  int directions = 0;  ///< that lose rank within `width` of it
};
Ahead look_ahead(Loops& loops, std::size_t group, const LoopRank& here, int regular, const VecX& q, const VecX& wound,
                 const VecX& t, double least, double width, double weak = kWatchedSigma);
Ahead look_ahead(Loops& loops, std::size_t group, const LoopRank& here, int regular, const VecX& q, const VecX& wound,
                 const VecX& t, double least, double width, double weak, LoopWork& work);

/// How far a group goes along the unit tangent t, measured over all its freedoms, while the one that moves most goes one radian,
/// or one length of the group: widths of bands are those of single joints, however many move together.
double spread(const VecX& t);

/// The branch of a motion through a singular configuration of one group of loops, known by regular configurations on both sides
/// (nodes), which are closed over all rows. Coordinate: x = tᵀ (q ⊖ q0), scaled. Between the nodes the complement of the tangent,
///   span{strong rows} ⊕ span Ĝ(x),
/// is a polynomial: the weak rows, which vanish at the singular configuration, are replaced by Ĝ. Ĝ_k = G_k (G_refᵀ G_k)⁻¹ has
/// neither signs nor rotations to follow.
class Branch {
 public:
  std::size_t group = 0;
  int rank = 0;             ///< regular
  int directions = 0;       ///< that lose rank
  VecX q0, t;               ///< of the tree; unit tangent of the group
  double centre = 0;        ///< x of the singular configuration
  double half = 0;          ///< half-width of the band in which Ĝ replaces the weak rows
  std::vector<int> strong;  ///< rows of the group that keep full rank
  double gap = 0;           ///< what loops miss between the nodes, in parts of their length: nodes may lie on two branches
  bool stands = false;      ///< no branch at all: the group is rigid at q0, all its freedoms are held there (see stand)

  /// No motion leaves q0 (rigid_at): Ĝ is the identity, and no row of the group is asked.
  void stand(std::size_t freedoms);

  /// Nodes at centre ± half {1, 1.6, 2.2, 2.8}. False where fewer than six are found. Measures the gap between them.
  bool build(Loops& loops, const VecX& wound);

  /// Ĝ and dĜ/dx: freedoms of the group x directions.
  void complement(double x, MatX& G, MatX& dG) const;
  /// The tangent from q0 to the branch at x, and its derivative.
  void position(double x, VecX& u, VecX& du) const;
  /// x in [low, high] where the i-th freedom of the group has gone `aim` (scaled); NaN where it does not get there.
  double where(Eigen::Index i, double aim, double low, double high) const;
  std::size_t nodes() const { return x_.size(); }
  /// The configuration between the nodes where σ is least, and the rank counted there.
  struct Weakest {
    double x;
    VecX q;         ///< of the tree
    LoopRank rows;  ///< and their rank
  };
  Weakest weakest(Loops& loops, const VecX& wound) const;
  double least() const { return x_.front(); }
  double largest() const { return x_.back(); }

 private:
  bool add_node(Loops& loops, const VecX& wound, double at, const VecX& curvature);
  bool weigh(Loops& loops, const VecX& wound);
  double gap_between(Loops& loops, const VecX& wound) const;
  VecX curvature(Loops& loops, const VecX& wound) const;
  static constexpr int kMost = 8;  // nodes
  using Weights = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMost, 1>;
  void weights(double x, Weights& value, Weights& slope) const;

  std::vector<double> x_;
  std::vector<VecX> u_;
  std::vector<MatX> G_;
};

}  // namespace invar
