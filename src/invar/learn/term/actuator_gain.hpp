// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/actuator.hpp"
#include "invar/learn/term.hpp"
#include "invar/mech/joint_rows.hpp"

namespace invar {

/// Actuators that push more than they are told: what each does with its present input, one column per actuator. A coefficient of
/// 0.1 is a gain of 1.1.
class ActuatorGain final : public TermOf<ActuatorGain> {
 public:
  /// `inputs`: the place of each actuator's input in the surroundings. The model must outlive it.
  ActuatorGain(const Model& model, std::vector<Actuator> actuators, std::vector<int> inputs)
      : model_(model), actuators_(std::move(actuators)), inputs_(std::move(inputs)) {
    for (const Actuator& a : actuators_) joints_.push_back(joint_of(a.freedom()));
  }

  int columns() const override { return static_cast<int>(actuators_.size()); }
  std::string label(int k) const override { return "gain of actuator '" + actuators_[static_cast<std::size_t>(k)].name() + "'"; }
  std::string unit(int) const override { return "1"; }

  template <class Emit>
  void each(const Bodies& bodies, const Surroundings& around, Emit&& emit) const {
    for (std::size_t k = 0; k < actuators_.size(); ++k) {
      const double input = around.inputs[static_cast<std::size_t>(inputs_[k])];
      if (joints_[k] >= 0) {
        push_joint(bodies, k, input, emit);
        continue;
      }
      Actuator::BodyWrench on[2];
      const int n = actuators_[k].push(bodies, input, on);
      for (int i = 0; i < n; ++i) emit(static_cast<int>(k), on[i].body, on[i].wrench);
    }
  }

 private:
  int joint_of(Eigen::Index freedom) const {
    for (std::size_t j = 0; freedom >= 0 && j < model_.joints().size(); ++j)
      if (freedom < model_.joints()[j].v0 + model_.joints()[j].nv) return static_cast<int>(j);
    return -1;
  }

  template <class Emit>
  void push_joint(const Bodies& bodies, std::size_t k, double input, Emit&& emit) const {
    const Joint& joint = model_.joints()[static_cast<std::size_t>(joints_[k])];
    JointAt at;
    joint_at(model_, joints_[k], bodies, false, at);
    const Vec6 dual = input * at.dual.col(actuators_[k].freedom() - joint.v0);
    const Wrench on_child{dual.head<3>(), dual.tail<3>()};
    emit(static_cast<int>(k), joint.child, on_child.about(at.arm_child));
    if (joint.parent != kWorld) emit(static_cast<int>(k), joint.parent, -on_child.about(at.arm_parent));
  }

  const Model& model_;
  std::vector<Actuator> actuators_;
  std::vector<int> inputs_;
  std::vector<int> joints_;  // per actuator; -1: acts at points
};

}  // namespace invar
