// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <string>

#include "invar/base/error.hpp"
#include "invar/control/disturbance.hpp"

namespace invar {

/// How an actuator is mounted, unknown to whoever commands it: it gives `gain` times its input, and at a frame it sits beside its
/// place, turned out of its direction.
struct Mounting {
  double gain = 1;
  Vec3 turn = Vec3::Zero();   ///< rotation vector in the axes of the frame, rad; force and thruster
  Vec3 shift = Vec3::Zero();  ///< of the point of action in the axes of the frame, m; force and thruster

  bool as_told() const { return gain == 1 && turn.isZero(0) && shift.isZero(0); }
};

/// Something that turns one number, its input, into forces on a mechanism. N m on angles, N otherwise.
struct ActuatorSpec {
  enum class Kind {
    Motor,     ///< effort on one freedom of a joint
    Cylinder,  ///< effort on a prismatic joint, or a force along the line between two points; positive pushes apart
    Force,     ///< force at a frame, either way along its direction
    Thruster,  ///< force at a frame, along its direction only: the lower limit is 0
  };
  Kind kind = Kind::Motor;
  std::string name;  ///< empty: that of the joint (with ".1", ".2" for later freedoms) or of the frame

  std::string joint;  ///< motor; cylinder without points
  int freedom = 0;
  std::vector<PointSpec> points;   ///< cylinder: its two ends, on different bodies
  std::string frame;               ///< force and thruster: acts at its origin
  Vec3 direction = Vec3::UnitX();  ///< of the force on the body, in `axes`; any length but zero
  Axes axes = Axes::Local;         ///< of the frame, or World

  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  double rate = std::numeric_limits<double>::infinity();  ///< largest change of the input per s
  double lag = 0;                                         ///< s; the input follows what it is told like a first-order filter
  double weight = 1;                                      ///< how much it is spared where others can do the same
  Mounting mounted = {};                                  ///< on the plant; the nominal model does not know

  bool is_instant() const { return lag == 0 && rate == std::numeric_limits<double>::infinity(); }
};

/// The name of an actuator: its own, or that of what it acts on.
std::string name_of(const ActuatorSpec& actuator);

/// An actuator on a model. Its load is linear in the input and depends on poses only:
///   motor     the input on its freedom
///   line      ±input along the unit vector between the two points, on either body; nothing where the points coincide
///   force     input times the direction at the frame's origin, turned by q_WB q_BE when the axes are local
class Actuator {
 public:
  /// Refuses unknown names, the ground, freedoms that are not there, points on one body, and numbers that make no actuator.
  /// `mounted`: as it really is, and not as it is told.
  static Result<Actuator> build(const Model& model, const ActuatorSpec& spec, bool mounted = false);

  /// Adds what it does with this input. No heap.
  void add(const Bodies& bodies, double input, Load& load) const;

  /// The freedom that it acts on, in the stacked efforts of the model; -1: it acts at points. Then `push` gives its wrenches
  /// about the centres of mass, World, and on how many bodies it acts.
  struct BodyWrench {
    int body = kWorld;
    Wrench wrench;
  };
  Eigen::Index freedom() const { return freedom_; }
  int push(const Bodies& bodies, double input, BodyWrench (&out)[2]) const;

  const ActuatorSpec& spec() const { return spec_; }
  const std::string& name() const { return spec_.name; }
  const char* unit() const { return unit_; }

 private:
  struct Point {
    int body = kWorld;
    Vec3 p = Vec3::Zero();  // from the centre of mass, body axes; on the ground from the origin of World
  };
  Actuator(const ActuatorSpec& spec, bool mounted);
  Result<void> on_joint(const Model& model);
  Result<void> on_line(const Model& model);
  Result<void> at_frame(const Model& model);

  ActuatorSpec spec_;
  const char* unit_ = "N";
  Eigen::Index freedom_ = -1;      // in the stacked efforts of the model; -1: a force at points
  Point ends_[2];                  // the first is not used by a force at a frame
  Vec3 direction_ = Vec3::Zero();  // zero: along the line between the ends
  Mounting mounting_;
};

/// All of them, or the first objection with the name of the actuator. Names must differ.
Result<std::vector<Actuator>> build_actuators(const Model& model, const std::vector<ActuatorSpec>& specs, bool mounted = false);

}  // namespace invar
