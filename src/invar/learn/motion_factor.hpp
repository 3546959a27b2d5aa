// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/constrained_inverse.hpp"

namespace invar {

/// Motion shows a load d only through A d, A the constrained inverse: what joints carry leaves no trace. So loads are compared in
/// the metric |d|²_A = dᵀ A d, kg⁻¹ N², and A = B Bᵀ makes plain numbers of them, Bᵀ d, one per freedom of the mechanism.
/// B comes from A by a pivoted Cholesky factorisation; A's columns are solves over the graph, loops and massless bodies included.
/// A direction in which a body has no inertia and its joints leave it free has no finite answer: it has no row, and loads that
/// push along it are refused (unanswered).
/// Laws: B Bᵀ d = A d; Bᵀ of what joints carry is zero. No heap after the first call.
class MotionFactor {
 public:
  /// The model must outlive it.
  explicit MotionFactor(const Model& model);

  /// The motion: poses and velocities on the constraints.
  Verdict at(const Bodies& bodies);
  /// Bᵀ at that motion; `at` comes first.
  Verdict factor();

  int rows() const { return rows_; }
  /// rows × 6N; per body the force, then the moment about the centre of mass, World.
  auto Bt() const { return Bt_.topRows(rows_); }
  /// Bᵀ of one wrench, added to a column of `rows` numbers.
  template <class Column>
  void add(int body, const Wrench& w, Column&& out) const {
    Vec6 six;
    six << w.force, w.moment;
    out += Bt_.block<Eigen::Dynamic, 6>(0, 6 * body, rows_, 6).lazyProduct(six);  // column by column: no temporary
  }
  /// A body that a load pushes along a direction without an answer; -1: none.
  int unanswered(const Port& load) const;
  bool answers_all() const { return without_ == 0; }

  ConstrainedInverse& inverse() { return inverse_; }
  const Model& model() const { return inverse_.model(); }

 private:
  ConstrainedInverse inverse_;
  std::vector<Mat3> axes_;      // per body: principal axes, in body axes
  std::vector<char> answered_;  // per direction
  int without_ = 0;             // directions that have no answer
  std::vector<Mat3> R_;         // per body: principal axes, World
  MatX A_;                      // along principal axes, moments times the model's length
  MatX L_;                      // its factor, 6N × rows
  VecX left_;                   // what the diagonal still has
  MatX Bt_;
  int rows_ = 0;
  Port port_;
  Accelerations moved_;
};

/// What Newton's and Euler's equations of the model leave over, reactions not counted, about the centres of mass:
///   d = M a + ω × I ω - (gravity, springs, dampers, tendons) - (known wrenches and efforts).
/// `inverse` is at the motion of the sample.
void left_over(ConstrainedInverse& inverse, const Accelerations& accelerations, const Port& known, const VecX& efforts, Port& d);

/// The nearest accelerations that joints allow, in the metric of M. Their d differs from that of the measured ones by what joints
/// carry alone, and columns made of them are free of what joints forbid.
Verdict allowed(ConstrainedInverse& inverse, const Accelerations& measured, Port& workspace, Accelerations& out);

}  // namespace invar
