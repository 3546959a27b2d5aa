// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/term/joint_columns.hpp"

namespace invar {

/// Viscous friction in joints: the effort -v per freedom, v its rate. Coefficients add to `damping` of the model.
class JointViscous final : public TermOf<JointViscous> {
 public:
  JointViscous(const Model& model, const std::vector<int>& joints, Sharing sharing) : on_(model, joints, sharing) {}

  int columns() const override { return on_.classes().count(); }
  std::string label(int k) const override { return "damping of '" + on_.classes().names[static_cast<std::size_t>(k)] + "'"; }
  std::string unit(int k) const override { return on_.unit(k, "N m s/rad", "N s/m"); }
  bool dissipates(int) const override { return true; }
  const FreedomClasses& classes() const { return on_.classes(); }

  template <class Emit>
  void each(const Bodies& bodies, const Surroundings&, Emit&& emit) const {
    on_.each(
        bodies, [](const FreedomColumn& f, const Joint&, const JointAt& at, auto&& push) { push(f.column, -at.v[f.freedom]); },
        emit);
  }

  /// The same with one pair of wrenches per joint.
  void add(const Bodies& bodies, const Surroundings&, const double* coefficients, Port& port) const override {
    on_.add(
        bodies,
        [&](std::span<const FreedomColumn> freedoms, const double* v, double* efforts) {
          for (std::size_t k = 0; k < freedoms.size(); ++k) efforts[k] -= coefficients[freedoms[k].column] * v[k];
        },
        port);
  }

 private:
  JointColumns on_;
};

}  // namespace invar
