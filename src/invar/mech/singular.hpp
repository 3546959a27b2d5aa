// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "invar/mech/branch.hpp"

namespace invar {

/// Counts the singular configurations that a motion crosses. Between two states a and b the rows of a group of loops with
/// Φ_a = U Σ Vᵀ of rank r have C = Uᵀ Φ_b V Σ⁻¹, near the identity; its eigenvalues with negative real part are the directions
/// that crossed. (A determinant is blind where two cross at once; pivots of rows that somebody kept say nothing about all rows.)
/// What was crossed is then located on the branch between the two, and its rank is counted there.
/// Ordinary steps cost a comparison of bodies: rows are looked at only where the motion may have reached a singular configuration
/// since they were looked at last, judged by σ then and by the sine that the solver knows. Groups of more than 160 freedoms are
/// not watched.
class Singularities {
 public:
  explicit Singularities(const Model& model);

  /// Whether there is anything to watch, and nothing that is too large for it.
  bool watches() const { return !loops_.groups().empty() && whole_; }

  /// The first state; settled.
  void begin(const Bodies& bodies, const VecX& wound);
  /// Rank and mobility counted there, and whether they differ from those of regular configurations as far as these are known.
  int rank_at_start() const { return rank_at_start_; }

  struct Crossing {
    double theta;        ///< where in the step, 0 to 1
    int rank, freedoms;  ///< counted there
    int joint;           ///< one on the loops that cross
    /// The motions that all rows of these loops allow in the singular configuration, a basis: there, with unit velocities. Empty
    /// where it was not located.
    std::vector<Bodies> motions = {};
  };
  /// Bodies at a place 0 <= theta <= 1 of the step.
  using Between = std::function<void(double, Bodies&)>;
  /// What was crossed in the step that ends at `now`. `sine`: of the weakest row there, as the solver has it; 0: not known.
  const std::vector<Crossing>& step(const Bodies& now, const VecX& wound, double sine, const Between& between);

 private:
  struct Look {
    VecX q;
    LoopRank rank;
  };
  void look(const Bodies& bodies, std::vector<Look>& out);
  void learn_rank(std::size_t group, const LoopRank& seen);
  int crossed(std::size_t group, const Look& a, const VecX& q_b);
  void locate(std::size_t group, const Look& a, const Look& b, int directions, double from, double to);
  int rank_of_all(std::size_t group, int of_group) const;
  std::vector<Bodies> motions_at(std::size_t group, const VecX& q, const LoopRank& there) const;
  bool calm(double distance, double sine);

  Loops loops_;
  bool whole_ = true;
  std::vector<int> regular_;  // per group: rank at regular configurations seen so far
  int rank_at_start_ = 0;
  Bodies before_, between_;
  double sine_before_ = 0;
  double budget_ = 0;                   // how far bodies may move from before_ without meeting a singular configuration
  bool fresh_ = false;                  // reference_ is where before_ is, or at the last regular configuration before it
  std::vector<Look> reference_, next_;  // per group
  VecX wound_, v_;
  std::vector<Crossing> crossings_;
};

}  // namespace invar
