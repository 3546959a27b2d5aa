// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "invar/model/model.hpp"

namespace invar {

/// Pose and twist of one body, World components. Position and velocity are those of the centre of mass C.
struct BodyState {
  Vec3 p_WC = Vec3::Zero();  ///< m
  Vec3 v_WC = Vec3::Zero();  ///< m/s
  Vec3 w_WB = Vec3::Zero();  ///< rad/s
  Quat q_WB = Quat::Identity();

  /// Pose of the body frame.
  Pose X_WB(const Body& body) const { return {q_WB, p_WC - q_WB * body.inertia.p_BC}; }
  /// Velocity of the body-fixed point that is at p_WQ now.
  Vec3 velocity_at(const Vec3& p_WQ) const { return v_WC + w_WB.cross(p_WQ - p_WC); }
};

/// The state of every body, in the order of the model: the language between the rooms (bodies out).
using Bodies = std::vector<BodyState>;

/// Acceleration of one body: centre of mass and angular, World components.
struct BodyAcceleration {
  Vec3 a_WC = Vec3::Zero();      ///< m/s²
  Vec3 alpha_WB = Vec3::Zero();  ///< rad/s²
};
using Accelerations = std::vector<BodyAcceleration>;

/// One wrench per body about its centre of mass, World components: whatever acts from outside (port in).
using Port = std::vector<Wrench>;

/// Σ F·a + m·α: the pairing of wrenches with accelerations, or with anything else that has one vector of each per body.
inline double paired(const Port& port, const Accelerations& x) {
  double sum = 0;
  for (std::size_t b = 0; b < port.size(); ++b) sum += port[b].force.dot(x[b].a_WC) + port[b].moment.dot(x[b].alpha_WB);
  return sum;
}

/// What acts on a mechanism at one instant, besides gravity and its own passive joints.
struct Load {
  Port port;     ///< one per body
  VecX efforts;  ///< one per joint freedom, as stacked in the model; N m or N

  explicit Load(const Model& model) : port(model.bodies().size()), efforts(VecX::Zero(model.nv())) {}
  void clear() {
    for (Wrench& w : port) w = Wrench{};
    efforts.setZero();
  }
};

/// State of body b, or of the ground at rest for kWorld.
inline const BodyState& body_state(const Bodies& bodies, int b) {
  static const BodyState ground;
  return b == kWorld ? ground : bodies[b];
}

/// Pose of the body frame of b; identity for kWorld.
inline Pose body_pose(const Model& model, const Bodies& bodies, int b) {
  return b == kWorld ? Pose{} : bodies[b].X_WB(model.bodies()[b]);
}

}  // namespace invar
