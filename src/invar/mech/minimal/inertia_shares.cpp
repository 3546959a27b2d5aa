// SPDX-License-Identifier: Apache-2.0
// The mechanism moves with one independent rate at a time, 1 rad/s or 1 m/s: Γ_i(k, k) is twice the energy that body i then has.
#include "invar/mech/minimal/inertia_shares.hpp"

#include <algorithm>

#include "invar/mech/kinematics.hpp"

namespace invar {

Verdict inertia_shares(const JointTree& tree, const VecX& q, const VecX& wound, Eigen::Index freedoms, bool body_by_body,
                       InertiaShares& out) {
  const Model& model = tree.model();
  const auto count = static_cast<Eigen::Index>(model.bodies().size());
  const Eigen::Index n = std::min(freedoms, static_cast<Eigen::Index>(tree.independent().size()));
  out = {};
  for (const int k : tree.independent()) out.coordinates.push_back(tree.freedom_name(k));
  out.bodies = MatX::Zero(body_by_body ? count : 0, n);
  out.rotors = out.all = VecX::Zero(n);
  VecX whole_q = q, rates = VecX::Zero(tree.nv()), joint_q, joint_v;
  Bodies bodies;
  if (const Verdict verdict = tree.complete(whole_q, rates, wound, bodies); !verdict.ok()) return verdict;
  const bool rotors =
      std::any_of(model.joints().begin(), model.joints().end(), [](const Joint& joint) { return joint.has_armature(); });
  for (Eigen::Index k = 0; k < n; ++k) {
    tree.move_with(tree.independent()[static_cast<std::size_t>(k)], rates, bodies);
    for (Eigen::Index b = 0; b < count; ++b) {
      const BodyState& s = bodies[static_cast<std::size_t>(b)];
      const Inertia& inertia = model.bodies()[static_cast<std::size_t>(b)].inertia;
      const Vec3 w = s.q_WB.conjugate() * s.w_WB;
      const double share = w.dot(inertia.I_C * w) + inertia.mass * s.v_WC.squaredNorm();
      if (body_by_body) out.bodies(b, k) = share;
      out.all[k] += share;
    }
    if (!rotors) continue;
    joint_coordinates(model, bodies, joint_q, joint_v);
    for (const Joint& joint : model.joints())
      for (int i = 0; i < joint.nv; ++i)
        out.rotors[k] += joint.passive[static_cast<std::size_t>(i)].armature * joint_v[joint.v0 + i] * joint_v[joint.v0 + i];
    out.all[k] += out.rotors[k];
  }
  return {};
}

}  // namespace invar
