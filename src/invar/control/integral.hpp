// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/recall.hpp"

namespace invar {

/// z = ∫ s dt for laws that remember it between steps only: z_k and s_k of the last look, at t_k, and at a time t after it the
/// trapezoid z_k + (t - t_k)(s_k + s)/2, a function of t and s; second order in the step. Read and taken in blocks. No heap.
class Integral {
 public:
  explicit Integral(Eigen::Index size) : z_(VecX::Zero(size)), s_(z_) {}

  template <int N>
  Eigen::Matrix<double, N, 1> at(double t, Eigen::Index block, const Eigen::Matrix<double, N, 1>& s) const {
    if (!begun_) return Eigen::Matrix<double, N, 1>::Zero();
    return z_.segment<N>(block) + (0.5 * (t - t_)) * (s_.segment<N>(block) + s);
  }

  /// A look between two steps, all blocks and then the time; a block that would be longer than `most` ends there. Returns its
  /// length over `most`.
  template <int N>
  double take(double t, Eigen::Index block, const Eigen::Matrix<double, N, 1>& s, double most) {
    Eigen::Matrix<double, N, 1> z = at<N>(t, block, s);
    const double size = z.norm();
    if (size > most) z *= most / size;
    z_.segment<N>(block) = z, s_.segment<N>(block) = s;
    return size / most;
  }
  void taken(double t) { t_ = t, begun_ = true; }
  void remember(Recall& memory) { memory(z_), memory(s_), memory(t_), memory(begun_); }

 private:
  VecX z_, s_;
  double t_ = 0;
  bool begun_ = false;
};

}  // namespace invar
