// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/sharing.hpp"
#include "invar/learn/term.hpp"

namespace invar {

/// What a fluid does to bodies that move through it, per body axis i and with velocities relative to the measured flow, u = v_C -
/// flow:
///   force  -s u_i e_i,   moment  -s ω_i e_i,   s = 1, |u|, |ω|
/// 18 columns per class of bodies. At rest in the fluid nothing acts; positive coefficients take energy relative to it.
class Drag final : public TermOf<Drag> {
 public:
  static constexpr int kPerBody = 18;

  Drag(const Model& model, std::vector<int> bodies, Sharing sharing);

  int columns() const override { return kPerBody * classes_.count(); }
  std::string label(int k) const override;
  std::string unit(int k) const override;
  bool dissipates(int) const override { return true; }

  /// Linear, with |u|, with |ω|: water that is slow enough for the one does nothing by the others.
  int groups() const override { return 3; }
  int group(int column) const override { return column % kPerBody / 6; }

  /// Columns within a class: 6 s + i for forces, 6 s + 3 + i for moments.
  template <class Emit>
  void each(const Bodies& bodies, const Surroundings& around, Emit&& emit) const {
    for (std::size_t n = 0; n < bodies_.size(); ++n) {
      const BodyState& at = bodies[static_cast<std::size_t>(bodies_[n])];
      const Mat3 R = at.q_WB.toRotationMatrix();
      const Vec3 u = R.transpose() * (at.v_WC - around.flow), w = R.transpose() * at.w_WB;
      const double sizes[] = {1.0, u.norm(), w.norm()};
      for (int s = 0; s < 3; ++s)
        for (int i = 0; i < 3; ++i) {
          const int column = kPerBody * classes_.of[n] + 6 * s + i;
          emit(column, bodies_[n], Wrench{Vec3::Zero(), -sizes[s] * u[i] * R.col(i)});
          emit(column + 3, bodies_[n], Wrench{-sizes[s] * w[i] * R.col(i), Vec3::Zero()});
        }
    }
  }

  /// The same with the three sizes summed before axes are turned: a third of the time.
  void add(const Bodies& bodies, const Surroundings& around, const double* coefficients, Port& port) const override;

 private:
  std::vector<int> bodies_;
  Classes classes_;
};

}  // namespace invar
