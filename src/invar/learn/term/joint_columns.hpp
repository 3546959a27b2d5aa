// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/sharing.hpp"
#include "invar/learn/term.hpp"
#include "invar/mech/joint_rows.hpp"

namespace invar {

/// What terms of joints have in common: freedoms put into columns, and an effort that becomes two wrenches. An effort pushes the
/// child along the freedom and the parent the other way.
class JointColumns {
 public:
  /// The model must outlive it.
  JointColumns(const Model& model, const std::vector<int>& joints, Sharing sharing)
      : model_(model), classes_(freedom_classes(model, joints, sharing)) {}

  const Model& model() const { return model_; }
  const FreedomClasses& classes() const { return classes_; }
  /// "N m" over the unit of an angle, or "N" over that of a length.
  std::string unit(int column, const char* turn, const char* shift) const {
    return classes_.turns[static_cast<std::size_t>(column)] ? turn : shift;
  }

  /// Calls effort(freedom, joint, at, push) for every freedom; push(column, e) makes wrenches of an effort e on it.
  template <class Effort, class Emit>
  void each(const Bodies& bodies, Effort&& effort, Emit&& emit) const {
    JointAt at;
    int measured = -1;
    for (const FreedomColumn& f : classes_.freedoms) {
      if (f.joint != measured) joint_at(model_, measured = f.joint, bodies, true, at);
      const Joint& joint = model_.joints()[static_cast<std::size_t>(f.joint)];
      effort(f, joint, at, [&](int column, double e) {
        const Vec6 dual = e * at.dual.col(f.freedom);
        const Wrench on_child{dual.head<3>(), dual.tail<3>()};
        emit(column, joint.child, on_child.about(at.arm_child));
        if (joint.parent != kWorld) emit(column, joint.parent, -on_child.about(at.arm_parent));
      });
    }
  }

 private:
  const Model& model_;
  FreedomClasses classes_;
};

}  // namespace invar
