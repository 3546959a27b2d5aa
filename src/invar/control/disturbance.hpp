// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "invar/base/error.hpp"
#include "invar/control/signal.hpp"

namespace invar {

/// In which axes the components of a wrench are constant.
enum class Axes {
  World,
  Local,  ///< of the body, or of the named frame: a follower load, A (55) writes moments this way
};

/// A wrench with a direction in space or in a body, times a time function. Exactly one of `body` and `frame` is named.
struct DisturbanceSpec {
  std::string body;   ///< acts at the body's centre of mass
  std::string frame;  ///< acts at the frame's origin
  Axes axes = Axes::World;
  Vec3 force = Vec3::Zero();   ///< N per unit of the signal
  Vec3 moment = Vec3::Zero();  ///< N m per unit of the signal, about the point of action
  Signal signal = Constant{1};
};

/// A wrench that acts from outside. Its share of the load, about the centre of mass C and in World components, is
///   force f, moment m + p_CE × f,   (f, m) = signal(t) (force, moment), turned by q_WB q_BE when the axes are local.
class Disturbance final : public Environment {
 public:
  /// Refuses unknown names (with the nearest known one), the ground, and signals that are no functions.
  static Result<Disturbance> build(const Model& model, const DisturbanceSpec& spec);

  void add(Instant at, const Bodies& bodies, Load& load) const override;
  double next_event(double t) const override { return invar::next_event(signal_, t); }
  std::optional<std::shared_ptr<const Environment>> bound_to(const Model& model) const override;

 private:
  Disturbance() = default;

  DisturbanceSpec spec_;

  std::size_t body_ = 0;
  Vec3 p_CE_B_ = Vec3::Zero();  // from the centre of mass to the point of action, body axes, m
  Quat q_BE_ = Quat::Identity();
  Axes axes_ = Axes::World;
  Wrench unit_;  // about E, in the axes said
  Signal signal_;
};

/// The effort of a motor on one freedom of a joint as a function of time: an open-loop command. N m or N.
struct EffortSpec {
  std::string joint;
  int freedom = 0;
  Signal signal = Constant{0};
};

/// Adds signal(t) to the effort of one freedom.
class EffortSignal final : public Environment {
 public:
  /// Refuses unknown joints, freedoms that the joint has not (a locked joint has none), and signals that are no functions.
  static Result<EffortSignal> build(const Model& model, const EffortSpec& spec);

  void add(Instant at, const Bodies& bodies, Load& load) const override;
  double next_event(double t) const override { return invar::next_event(signal_, t); }
  std::optional<std::shared_ptr<const Environment>> bound_to(const Model& model) const override;

 private:
  EffortSignal() = default;

  EffortSpec spec_;

  Eigen::Index freedom_ = 0;  // in the stacked efforts of the model
  Signal signal_;
};

}  // namespace invar
