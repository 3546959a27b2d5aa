// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "invar/learn/sharing.hpp"
#include "invar/learn/term.hpp"

namespace invar {

/// Forces towards or away from points in the World, on the centres of mass: along the line from the point, with a size that is a
/// sum of bumps over the distance x,
///   f = Σ_k c_k exp(-(x - x_k)²/(2 width²)) n,   x_k = (k + ½) reach/bumps, width = reach/bumps,
/// `bumps` columns per obstacle and class of bodies; positive coefficients push away.
class ObstacleTerm final : public TermOf<ObstacleTerm> {
 public:
  /// `obstacles`: which of the points of the surroundings, and what they are called.
  ObstacleTerm(const Model& model, std::vector<int> bodies, Sharing sharing, std::vector<int> obstacles,
               std::vector<std::string> names, int bumps, double reach);

  int columns() const override { return static_cast<int>(obstacles_.size()) * classes_.count() * bumps_; }
  std::string label(int k) const override;
  std::string unit(int) const override { return "N"; }

  template <class Emit>
  void each(const Bodies& bodies, const Surroundings& around, Emit&& emit) const {
    const double width = reach_ / bumps_;
    for (std::size_t o = 0; o < obstacles_.size(); ++o)
      for (std::size_t n = 0; n < bodies_.size(); ++n) {
        const Vec3 away =
            bodies[static_cast<std::size_t>(bodies_[n])].p_WC - around.obstacles[static_cast<std::size_t>(obstacles_[o])];
        const double x = away.norm();
        if (!(x > 0)) continue;  // no direction
        const int first = (static_cast<int>(o) * classes_.count() + classes_.of[n]) * bumps_;
        for (int k = 0; k < bumps_; ++k) {
          const double s = (x - (k + 0.5) * width) / width;
          emit(first + k, bodies_[n], Wrench{Vec3::Zero(), std::exp(-0.5 * s * s) / x * away});
        }
      }
  }

 private:
  std::vector<int> bodies_;
  Classes classes_;
  std::vector<int> obstacles_;
  std::vector<std::string> names_;
  int bumps_;
  double reach_;  // m
};

}  // namespace invar
