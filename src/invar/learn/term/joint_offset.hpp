// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/term/joint_columns.hpp"

namespace invar {

/// Constant efforts on freedoms: springs that rest elsewhere, amplifiers that are off zero. Where the model has a spring the
/// coefficient shifts its rest position; elsewhere it stays a load.
class JointOffset final : public TermOf<JointOffset> {
 public:
  JointOffset(const Model& model, const std::vector<int>& joints, Sharing sharing) : on_(model, joints, sharing) {}

  int columns() const override { return on_.classes().count(); }
  std::string label(int k) const override { return "offset of '" + on_.classes().names[static_cast<std::size_t>(k)] + "'"; }
  std::string unit(int k) const override { return on_.unit(k, "N m", "N"); }
  const FreedomClasses& classes() const { return on_.classes(); }

  template <class Emit>
  void each(const Bodies& bodies, const Surroundings&, Emit&& emit) const {
    on_.each(bodies, [](const FreedomColumn& f, const Joint&, const JointAt&, auto&& push) { push(f.column, 1.0); }, emit);
  }

  /// The same with one pair of wrenches per joint.
  void add(const Bodies& bodies, const Surroundings&, const double* coefficients, Port& port) const override {
    on_.add(
        bodies,
        [&](std::span<const FreedomColumn> freedoms, const double*, double* efforts) {
          for (std::size_t k = 0; k < freedoms.size(); ++k) efforts[k] += coefficients[freedoms[k].column];
        },
        port);
  }

 private:
  JointColumns on_;
};

}  // namespace invar
