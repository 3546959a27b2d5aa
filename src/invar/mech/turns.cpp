// SPDX-License-Identifier: Apache-2.0
#include "invar/mech/turns.hpp"

#include <cmath>

#include "invar/mech/kinematics.hpp"

namespace invar {
namespace {

// An angle this far (rad) from where its rate led may as well lie on another turn: half a turn, less a margin for what the
// stages of the step saw.
constexpr double kLost = 2.4;

}  // namespace

void begin_turns(const Model& model, const Bodies& bodies, const VecX& told, State& x) {
  VecX q, v;
  x.wound = wound_at(model, bodies, told);
  joint_coordinates(model, bodies, q, v);
  x.wound_rate = VecX::Zero(model.nv());
  for (const Joint& joint : model.joints())
    for (int k = 0; k < joint.nv; ++k)
      if (joint.winds(k)) x.wound_rate[joint.v0 + k] = v[joint.v0 + k];
}

// The nearest turn to where the rates led is right unless the rates changed beyond recognition within the step.
Verdict count_turns(const Model& model, const Bodies& bodies, VecX& q, VecX& v, State& x) {
  Verdict verdict;
  joint_coordinates(model, bodies, q, v);
  unwind(model, x.wound, q);
  for (int j = 0; j < static_cast<int>(model.joints().size()); ++j) {
    const Joint& joint = model.joints()[static_cast<std::size_t>(j)];
    for (int k = 0; k < joint.nv; ++k) {
      if (!joint.winds(k)) continue;
      const double surprise = std::abs(q[joint.q0 + k] - x.wound[joint.v0 + k]);
      if (verdict.ok() && !(surprise < kLost)) verdict = {Status::StepTooLarge, joint.child, j, surprise};
      x.wound[joint.v0 + k] = q[joint.q0 + k];
      x.wound_rate[joint.v0 + k] = v[joint.v0 + k];
    }
  }
  return verdict;
}

}  // namespace invar
