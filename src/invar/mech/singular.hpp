// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "invar/mech/branch.hpp"

namespace invar {

/// Counts the singular configurations that a motion crosses. Between two states a and b the rows of a group of loops with
/// Φ_a = U Σ Vᵀ of rank r have C = Uᵀ Φ_b V Σ⁻¹, near the identity; its eigenvalues with negative real part are the directions
/// that crossed. (A determinant is blind where two cross at once; pivots of rows that somebody kept say nothing about all rows.)
/// What was crossed is then located on the branch between the two, and its rank is counted there.
/// Ordinary steps cost a comparison of bodies, as seen from what carries the loops: rows are looked at only where the motion may
/// have reached a singular configuration since they were looked at last, judged by σ then and by the sine that the solver knows.
/// Groups of more than 160 freedoms are not watched.
class Singularities {
 public:
  explicit Singularities(const Model& model);
  const Model& model() const { return loops_.model(); }

  /// Groups of loops that are too large to be watched: their freedoms, and a joint that closes them (-1: couplings only).
  struct Unwatched {
    int freedoms, joint;
  };
  const std::vector<Unwatched>& unwatched() const { return unwatched_; }

  /// The first state; settled.
  void begin(const Bodies& bodies, const VecX& wound);

  struct Crossing {
    double theta;        ///< where in the step, 0 to 1
    bool located;        ///< the configuration was found on the branch; otherwise its rank is not known
    int rank, freedoms;  ///< of all rows, counted there
    int joint;           ///< one on the loops that cross
    std::size_t group;   ///< these loops, as a group of Loops
    /// Where it was located: the configuration, with velocities along the branch, and a basis of the motions that all rows of
    /// these loops allow there.
    Bodies there = {};
    std::vector<Bodies> motions = {};
  };
  /// Bodies at a place 0 <= theta <= 1 of the step.
  using Between = std::function<void(double, Bodies&)>;
  /// What was crossed in the step that ends at `now`. `sine`: of the weakest row there, as the solver has it; 0: not known.
  const std::vector<Crossing>& step(const Bodies& now, const VecX& wound, double sine, const Between& between);
  /// Joints of loops with one freedom that left their branch of motion in a singular configuration within that step: they go on
  /// in another direction than they came in.
  const std::vector<int>& left() const { return left_; }

  /// Loops that leave no motion, in or beside a singular configuration (least σ of their rows below kHeldSigma where the motion
  /// began): a joint of theirs (-1: couplings only) and that σ.
  struct Rigid {
    std::size_t group;
    int joint;
    double sigma;
    double moved = 0;  ///< rad, or parts of their length: the most that a state showed
  };
  const std::vector<Rigid>& rigid() const { return rigid_; }

 private:
  struct Look {
    VecX q;
    VecX t;  // scaled rates of the group
    LoopRank rank;
  };
  /// One group of loops.
  struct Watched {
    bool small = true;  // enough to be watched
    int regular = 0;    // rank at regular configurations seen so far
    double budget = 0;  // how far its bodies may move from before_ without meeting a singular configuration
    double way = 0;     // of its bodies since the beginning, rad
    std::size_t looks = 0;
    bool turning = false;  // at a singular configuration, as it seems
    VecX came_in, q_in;    // its tangent before that, where that was, and `way` then
    double way_in = 0;
    VecX begins;            // scaled rates at the beginning
    int rank_at_begin = 0;  // as counted there
    bool fresh = false;     // `reference` is where before_ is, or at the last regular configuration before it
    Look reference, next;
  };
  /// What a group crossed.
  struct Found {
    std::size_t group;
    int rank;  // of the group there
    Crossing crossing;
  };
  void look(std::size_t group, const Bodies& bodies, Look& out);
  bool compare(std::size_t group, const Look& a, const VecX& q_b, MatX& C);
  bool as_before(std::size_t group, const Bodies& now);
  int crossed(std::size_t group, const Look& a, const VecX& q_b);
  void look_at_direction(std::size_t group, double reach);
  void look_through(std::size_t group, const Bodies& now, double distance, const Between& between);
  void find_crossings(std::size_t group, const Look& a, const Look& b, double from, double to, double distance,
                      const Between& between);
  Found locate(std::size_t group, const Look& a, const Look& b, int directions, double from, double to, const Between& between);
  double when(const Branch& branch, double x, double from, double to, const Between& between);
  void count(double distance, const Between& between);
  int rank_nearby(std::size_t group, const Found& found, double distance, const Between& between);
  void stand(const Branch& branch, const Branch::Weakest& at, const Between& between, Crossing& out);
  bool young(Watched& group, double distance) const;
  void find_rigid();
  static VecX tangent(const Look& at);
  bool branch_leads(std::size_t group, const VecX& q_to);
  bool turned_off(std::size_t group, const VecX& before, const VecX& now) const;
  bool calm(Watched& group, double distance, double sine) const;

  Loops loops_;
  std::vector<Watched> groups_;
  std::vector<Unwatched> unwatched_;
  Bodies before_, between_;
  double sine_before_ = 0;
  VecX wound_, v_, t_, gap_;
  std::vector<Found> found_;
  std::vector<Crossing> crossings_;
  std::vector<int> left_;
  std::vector<Rigid> rigid_;
  Bodies began_;
};

}  // namespace invar
