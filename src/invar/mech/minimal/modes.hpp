// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>

#include "invar/mech/minimal/derivatives.hpp"

namespace invar {

/// A small deviation x = (q, v) from a state, in the n independent freedoms, and a small change e of the efforts on all freedoms
/// of the model move as x' = A x + B e (from where the state itself would go). Deviations of attitudes are rotation vectors in
/// the axes of the first frame; seen from there they turn with the rate w of the ball, hence the block w × in A.
struct Linear {
  std::vector<std::string> coordinates;  ///< of the independent freedoms
  MatX A, B;                             ///< 2n x 2n, 2n x model.nv()
  VecX vdot;                             ///< accelerations at the state itself: zero at an equilibrium
  Balance balance;                       ///< Γ, E, what is missing and its derivatives
};
Verdict linearize(const JointTree& tree, const VecX& q, const VecX& v, const VecX& wound, const Load& load, Linear& out);

/// One way to move by itself: all freedoms as Re(shape exp(value t)).
struct Mode {
  std::complex<double> value;  ///< 1/s; of a pair the one with positive imaginary part
  Eigen::VectorXcd shape;      ///< on the independent freedoms
  Eigen::VectorXcd joints;     ///< on all freedoms of the model; of these and floating bodies the largest entry (rad, or m over
                               ///< the model's length) is one

  double frequency() const { return std::abs(value.imag()) / (2 * 3.14159265358979323846); }   ///< Hz; as it is seen
  double natural_frequency() const { return std::abs(value) / (2 * 3.14159265358979323846); }  ///< Hz; without its damping
  double damping_ratio() const { return std::abs(value) > 0 ? 0.0 - value.real() / std::abs(value) : 0; }
};

struct Modes {
  /// From rest with nothing that depends on rates: solved as K x = -value² Γ x, both symmetric, so values are exactly imaginary,
  /// or real and in pairs ± where the state is not stable. Freedoms that nothing drives have one mode each, of value zero.
  bool symmetric = false;
  std::vector<Mode> modes;  ///< slowest first; n where all are pairs, at most 2n
  double largest = 0;       ///< 1/s; over all values, also where they are rounding of zero

  /// Values whose size says nothing: below 1e-6 of the largest, where rounding of K is.
  bool is_zero(const Mode& mode) const { return std::abs(mode.value) <= 1e-6 * largest; }
};
/// Eigenvalues and modes of A.
Modes modes_of(const JointTree& tree, const Linear& linear);

}  // namespace invar
