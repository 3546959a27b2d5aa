// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/certificate.hpp"

namespace invar {

/// What is known of the remainder of a loop before it runs, from runs of the same family (docs/control.md).
struct RemainderBound {
  double most = std::numeric_limits<double>::infinity();  ///< d̄, N/sqrt(kg); infinite: nothing is known
  double after = 0;                                       ///< s since the first look that settling may take
  double confidence = 0;                                  ///< with which a new run of the family keeps it; 0: not told
  int runs = 0;                                           ///< that it was found from

  bool known() const { return most < std::numeric_limits<double>::infinity(); }
};

/// The remainder of a loop, whatever law makes it: all that its error equation is not,
///   e = M (ν̇ - ν̇_r) + C s + K_d s,     V̇ = -sᵀ K_d s + sᵀ e,     V = ½ sᵀ M s = ½ |s|²_M,
/// be it a force from outside, an error of the model, delay, lag, noise, or what integral action and an observer do against
/// these. Only what moves counts: sᵀ e <= |s|_M |e|_A, |e|²_A = eᵀ A e. With sᵀ K_d s >= rate |s|²_M and |e|_A <= d̄ therefore
///   d/dt |s|_M <= -rate |s|_M + d̄,     |s|_M(t) <= d̄/rate + (|s|_M(t_0) - d̄/rate)₊ exp(-rate (t - t_0)),
/// a bound that can be stated before the run. The score of a run is its largest |e|_A once settling is over. No heap in looks.
class Remainder {
 public:
  /// `rate`: 0 where the law promises none; then there is no bound on s.
  Remainder(const RemainderBound& bound, double rate) : bound_(bound), rate_(rate) {}

  /// Clauses and findings, where a bound is known.
  void state(Certificate& certificate);
  /// |e|_A, N/sqrt(kg), and |s|_M, m/s sqrt(kg), at a time.
  void look(double t, double e, double s, Certificate& certificate);

  const RemainderBound& bound() const { return bound_; }
  /// The largest |e|_A since settling is over; NaN where it never was.
  double score() const { return score_; }

 private:
  RemainderBound bound_;
  double rate_;
  double begin_ = std::numeric_limits<double>::quiet_NaN(), settled_ = begin_;  // s; first look, first one after settling
  double excess_ = 0;                                                           // |s|_M beyond the bound then
  double score_ = begin_;
  int within_ = -1, ultimate_ = -1;
};

}  // namespace invar
