// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "invar/learn/sharing.hpp"
#include "invar/learn/term.hpp"
#include "invar/mech/joint_efforts.hpp"

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

  /// At most so many freedoms are filled at a time.
  static constexpr int kBatch = 48;

  /// Adds what efforts do, one pair of wrenches per joint: fill(freedoms, rates, efforts) adds to the efforts on these freedoms,
  /// which begin at zero. Behind their rates, up to the next multiple of eight, there are zeros.
  template <class Fill>
  void add(const Bodies& bodies, Fill&& fill, Port& port) const {
    constexpr std::size_t kJoints = kBatch / 6;
    JointEfforts at[kJoints];
    for (std::span<const FreedomColumn> left = classes_.freedoms; !left.empty();) {
      alignas(64) double v[kBatch] = {}, efforts[kBatch] = {};
      std::size_t joints = 0, n = 0;
      for (; joints < kJoints && n < left.size(); ++joints) {
        joint_efforts(model_, left[n].joint, bodies, at[joints]);
        for (Eigen::Index k = 0; k < at[joints].dual.cols(); ++k) v[n++] = at[joints].v[k];
      }
      fill(left.first(n), v, efforts);
      n = 0;
      for (std::size_t i = 0; i < joints; ++i) {
        const Joint& joint = model_.joints()[static_cast<std::size_t>(left[n].joint)];
        const Wrench on_child = at[i].wrench(efforts + n);
        port[static_cast<std::size_t>(joint.child)] += on_child.about(at[i].arm_child);
        if (joint.parent != kWorld) port[static_cast<std::size_t>(joint.parent)] -= on_child.about(at[i].arm_parent);
        n += static_cast<std::size_t>(joint.nv);
      }
      left = left.subspan(n);
    }
  }

 private:
  const Model& model_;
  FreedomClasses classes_;
};

}  // namespace invar
