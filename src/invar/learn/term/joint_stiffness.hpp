// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/learn/term/joint_columns.hpp"
#include "invar/mech/passive.hpp"

namespace invar {

/// Springs in joints beyond those of the model, about the rest positions that the model names: the effort -(q - rest) per scalar
/// freedom, angles within half a turn; of a ball the moment of the model's own spring law with unit stiffness. Coefficients add
/// to `stiffness` of the model.
class JointStiffness final : public TermOf<JointStiffness> {
 public:
  JointStiffness(const Model& model, const std::vector<int>& joints, Sharing sharing) : on_(model, joints, sharing) {}

  int columns() const override { return on_.classes().count(); }
  std::string label(int k) const override { return "stiffness of '" + on_.classes().names[static_cast<std::size_t>(k)] + "'"; }
  std::string unit(int k) const override { return on_.unit(k, "N m/rad", "N/m"); }
  const FreedomClasses& classes() const { return on_.classes(); }

  template <class Emit>
  void each(const Bodies& bodies, const Surroundings&, Emit&& emit) const {
    JointAt at;
    for (std::size_t i = 0; i < on_.classes().freedoms.size(); ++i) {
      const FreedomColumn& f = on_.classes().freedoms[i];
      const Joint& joint = on_.model().joints()[static_cast<std::size_t>(f.joint)];
      joint_at(on_.model(), f.joint, bodies, true, at);
      const Vec6 w = unit_spring(joint, f.freedom, at);
      const Wrench on_child{w.head<3>(), w.tail<3>()};
      emit(f.column, joint.child, on_child.about(at.arm_child));
      if (joint.parent != kWorld) emit(f.column, joint.parent, -on_child.about(at.arm_parent));
    }
  }

 private:
  // On the child at the joint point, World. A spring of a ball about one of its axes has a moment along all three.
  static Vec6 unit_spring(const Joint& joint, int freedom, const JointAt& at) {
    const int ball = ball_start(joint);
    const auto rest = [&](int k) { return joint.passive[static_cast<std::size_t>(k)].rest; };
    if (freedom < ball) return -(at.q[freedom] - rest(freedom)) * at.dual.col(freedom);
    const Quat q_FM(at.q[ball], at.q[ball + 1], at.q[ball + 2], at.q[ball + 3]);
    const Vec3 moment = spherical_spring_moment(joint.spring_law, Vec3::Unit(freedom - ball),
                                                Vec3(rest(ball), rest(ball + 1), rest(ball + 2)), q_FM);
    return at.dual.middleCols<3>(ball) * moment;
  }

  JointColumns on_;
};

}  // namespace invar
