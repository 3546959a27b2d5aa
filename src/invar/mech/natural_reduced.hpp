// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "invar/base/status.hpp"
#include "invar/mech/block_tree.hpp"
#include "invar/mech/natural_coordinates.hpp"
#include "invar/mech/spanning_tree.hpp"

namespace invar {

/// Accelerations of natural coordinates, M a - Gᵀλ = f, G a = -G'v, with the rows that keep bodies rigid solved beforehand: all
/// accelerations that they allow are a = a_p + Z y, whatever the directors are,
///   space  Z: p'' and directors D⁻ᵀ (w × e_i), a_p: directors -D⁻ᵀ V'V        (D the directors, V their velocities, as columns)
///   plane  Z: p'' and w J d, a_p: -d |v|²/|d|²
/// so that 6 (3) numbers per body and the rows of joints are left: Zᵀ M Z y - (G Z)ᵀ λ = Zᵀ(f - M a_p), G Z y = -G'v - G a_p. A
/// node of the tree holds a body and the joint that it hangs on; closures form the border. Scales, the choice of independent
/// closure rows, and inertia on loan are as in NaturalElimination. No heap after construction.
class NaturalReduced {
 public:
  explicit NaturalReduced(const NaturalCoordinates& coordinates);

  /// Takes the scales of a model that was edited in place. False where its spanning tree is another one now. No heap.
  bool refresh();

  /// Decides at x which closure rows are independent of all others, by squares of sines: those of the joint graph may be more
  /// (see rank.hpp; then these equations are not those of the mechanism). Rank is geometry: masses do not enter. Where the rows
  /// of the tree do not even hold each other (Singular, NotFinite, with a body) the choice stays as it was, and factor() fails in
  /// the same way until one succeeds.
  Verdict choose(const VecX& x);
  /// Rows of joints that count, those of the tree and the closures chosen, and what they leave free.
  int rank() const;
  int freedoms() const { return n_ * static_cast<int>(frames_.size()) - rank(); }

  /// Factors at x, v. NoInertia with a body where a motion that the joints allow moves nothing that has mass.
  Verdict factor(const VecX& x, const VecX& v);
  /// Accelerations under the forces f, both like x, into f. NoInertia where closures do not hold what has no inertia of its own;
  /// NotConverged where they do, but so weakly that the answer is lost in round-off.
  Verdict solve(const VecX& x, VecX& f);

 private:
  using Six = Eigen::Matrix<double, 6, 1>;
  struct Place {
    int node;   // -1: border
    int index;  // in the node's rows, or in the border
  };
  struct Frame {
    Mat3 T = Mat3::Identity();  // D⁻ᵀ
    Mat3 a_p = Mat3::Zero();    // of the directors; in the plane its first column
    Eigen::Vector2d d{1, 0};    // plane
  };
  struct Units {
    double position = 1, turning = 1, inertia = 1;
  };
  struct Loan {
    int body = 0, axis = 0;   // which of its directions: of moving, then principal ones of turning
    Six along = Six::Zero();  // in scaled numbers
  };
  int node_of(int body) const { return spanning_.node_of_body[static_cast<std::size_t>(body)]; }
  double unit(int b, int k) const;
  void measure();
  int lend_to(int body, std::array<Loan, 6>& loans) const;
  bool renew_loans();
  void place(const VecX& x, const VecX* v);
  void reduce(const NaturalVector& a, const Vec3& c, double factor, Six& row) const;
  template <class F>
  void for_rows(const VecX& x, F&& f) const;
  void assemble_rows(const VecX& x);
  Eigen::Matrix<double, 6, 6> mass_of(int b) const;
  void lend();
  void drop_inactive();
  void find_weakest();
  Verdict without_pivot();
  int joint_of(int body) const;
  void pull(int b, const double* f, Six& out) const;
  Verdict make_sure(const VecX& x);
  double size_of(const VecX& stacked) const;

  const NaturalCoordinates& c_;
  std::vector<bool> preferred_;  // per joint: holds a link without mass
  SpanningTree spanning_;
  std::vector<bool> looped_;    // per connected part
  int n_;                       // numbers per body
  std::vector<Units> units_;    // per body
  std::vector<double> weight_;  // per row of joints
  std::vector<Loan> loans_;
  std::vector<Place> place_;  // per row of joints
  std::vector<char> active_;  // per closure row
  Verdict chosen_;            // of the last choice
  BlockTree tree_;
  std::vector<Frame> frames_;   // per body
  VecX row_right_;              // per row of joints
  VecX right_, answer_, left_;  // stacked as the tree has it
  VecX size_, inverse_size_;    // per closure row: its square
  int weakest_ = -1;            // loan of the least pivot behind all closures
  double least_ = 1;            // that pivot
};

}  // namespace invar
