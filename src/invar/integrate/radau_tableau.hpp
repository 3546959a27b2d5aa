// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>

#include "invar/geom/vector.hpp"

namespace invar {

/// Radau IIA with three stages: collocation at the zeros c of d²/dx² (x² (x-1)³), the last of which is the end of the step.
/// Y_i = y0 + z_i, z = h A f(Y). With A⁻¹ T = T L and L = diag(real, [a b; -b a]), w = T⁻¹ z, the three coupled systems
/// A⁻¹ z / h - J z = ... fall apart into one with the shift real/h and one, complex, with (a + i b)/h for w_2 - i w_3.
struct RadauTableau {
  RadauTableau();

  Vec3 c;                     ///< nodes
  Mat3 A_inverse;             ///< of A_ij = ∫_0^{c_i} L_j, L_j Lagrange's polynomials at c
  double real;                ///< the real eigenvalue of A⁻¹
  std::complex<double> pair;  ///< a + i b, b > 0
  Mat3 T, T_inverse;
  /// The error h (f(y0)/real + Σ (b̂_i - b_i) f(Y_i)) of a formula of order 3 that also uses the slope at the start, written with
  /// the z: f(y0)/real · h + Σ e_i z_i.
  Vec3 e;
  /// Collocation polynomial y0 + Σ z_i weight_i(s), s = (t - t0)/h, which vanishes at 0: the values of the weights at s.
  Vec3 weights(double s) const;

  static const RadauTableau& get();
};

}  // namespace invar
