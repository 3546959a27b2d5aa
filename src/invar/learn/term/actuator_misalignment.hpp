// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/actuator.hpp"
#include "invar/learn/term.hpp"

namespace invar {

/// Forces and thrusters that point elsewhere: two small turns per actuator, about axes across its direction. The column of a turn
/// about u is the present input times u × direction at the frame's origin; coefficients are angles to first order.
class ActuatorMisalignment final : public TermOf<ActuatorMisalignment> {
 public:
  /// Takes the actuators that act along a direction at a frame; `inputs`: the places of their inputs in the surroundings.
  static Result<ActuatorMisalignment> build(const Model& model, const std::vector<Actuator>& actuators,
                                            const std::vector<int>& inputs);

  int columns() const override { return static_cast<int>(turned_.size()); }
  std::string label(int k) const override {
    return "misalignment " + std::to_string(k % 2 + 1) + " of actuator '" + turned_[static_cast<std::size_t>(k)].name() + "'";
  }
  std::string unit(int) const override { return "rad"; }

  template <class Emit>
  void each(const Bodies& bodies, const Surroundings& around, Emit&& emit) const {
    Actuator::BodyWrench on[2];
    for (std::size_t k = 0; k < turned_.size(); ++k) {
      const int n = turned_[k].push(bodies, around.inputs[static_cast<std::size_t>(inputs_[k])], on);
      for (int i = 0; i < n; ++i) emit(static_cast<int>(k), on[i].body, on[i].wrench);
    }
  }

 private:
  std::vector<Actuator> turned_;  // two per actuator: along u × direction
  std::vector<int> inputs_;
};

}  // namespace invar
