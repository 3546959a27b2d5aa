// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>

#include "invar/base/error.hpp"
#include "invar/model/joint/facts.hpp"
#include "invar/model/spec.hpp"

namespace invar {

struct Change;

/// Index of the ground wherever a body index stands.
inline constexpr int kWorld = -1;

/// Effort of the passive parts of one freedom: spring, damper, friction, stops. Zero where the spec has none.
struct Passive {
  double stiffness = 0;
  double rest = 0;
  double damping = 0;
  double friction = 0;
  double friction_velocity = 1e-3;
  double armature = 0;
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  double stop_stiffness = 0;
  double stop_damping = 0;

  bool has_stops() const { return std::isfinite(lower) || std::isfinite(upper); }
};

struct Body {
  std::string name;
  Inertia inertia;
  std::vector<ShapeSpec> shapes;
};

/// A joint ready for computation. Its frames F and M are turned so that the axis is z (universal: second axis x), which
/// leaves the coordinates q as they are; `turn` takes components along the axes of F here to those along F of the file. A
/// locked joint has kind Fixed; its file kind is `spec_kind`.
struct Joint {
  std::string name;
  JointKind kind;
  JointKind spec_kind;
  int parent;                          ///< body index or kWorld
  int child;                           ///< body index
  Pose X_PF;                           ///< F in the parent's body frame
  Pose X_CM;                           ///< M in the child's body frame
  Quat turn;                           ///< identity for kinds without an axis
  double pitch;                        ///< screw, m/rad
  std::shared_ptr<const Facts> facts;  ///< what its kind is; of a fixed joint where it is locked
  int nq, nv;                          ///< numbers of coordinates and freedoms (0 when locked)
  int q0, v0;                          ///< where they start in the stacked vectors of the model
  SpringLaw spring_law;
  bool has_spring;
  bool has_passive;  ///< any of spring, damping, friction, stops
  bool cut;
  bool independent;
  std::vector<Passive> passive;  ///< nv entries

  int rows() const { return facts->rows(); }
  /// Of freedom k: its rate is in rad/s, otherwise in m/s; an angle that can wind up; a coordinate of its own (see Facts).
  bool turns(int k) const { return facts->turns(k); }
  bool winds(int k) const { return facts->winds(k); }
  bool is_scalar(int k) const { return facts->is_scalar(k); }
  bool has_armature() const {
    return std::any_of(passive.begin(), passive.end(), [](const Passive& p) { return p.armature > 0; });
  }
};

/// "elbow", or "wrist.1" where a joint has several freedoms.
inline std::string freedom_name(const Joint& joint, int freedom) {
  return joint.nv == 1 ? joint.name : joint.name + "." + std::to_string(freedom);
}

struct Coupling {
  std::string name;
  int joint, freedom;  ///< driven
  int of, of_freedom;  ///< driving
  std::vector<double> coefficients;
};

struct Frame {
  std::string name;
  int body;   ///< kWorld allowed
  Pose X_BE;  ///< the frame in its body
};

/// A tendon ready for computation; see TendonSpec.
struct Tendon {
  struct Point {
    int body;  ///< kWorld allowed
    Vec3 p_BP;
  };
  std::string name;
  std::vector<Point> points;
  double stiffness, damping;
  double rest;  ///< m; the length without tension
  bool tension_only;

  /// Meant to pull: slack (no stretch) is worth a word. A spring between two points may push as well.
  bool is_cable() const { return tension_only || points.size() > 2; }
};

/// A checked mechanism, constant from here on. Bodies, joints, couplings, frames and tendons keep the order of the spec.
class Model {
 public:
  /// Checks everything that can be known without a configuration. Warnings (an axis normalised, say) go to `warnings`.
  static Result<Model> build(const ModelSpec& spec, std::vector<std::string>* warnings = nullptr);

  /// The same mechanism with other frames F and M, one of each per joint; everything else stays, scales included.
  Model with_joint_frames(const std::vector<Pose>& X_PF, const std::vector<Pose>& X_CM) const;

  /// Some bodies alone, with joints and couplings between them and the ground: indices, ascending. Without frames and tendons.
  Model part(const std::vector<int>& bodies, const std::vector<int>& joints, const std::vector<int>& couplings) const;

  const std::string& name() const { return name_; }
  const Vec3& gravity() const { return gravity_; }
  const std::vector<Body>& bodies() const { return bodies_; }
  const std::vector<Joint>& joints() const { return joints_; }
  const std::vector<Coupling>& couplings() const { return couplings_; }
  const std::vector<Frame>& frames() const { return frames_; }
  const std::vector<Tendon>& tendons() const { return tendons_; }

  int nq() const { return nq_; }  ///< joint coordinates, all joints stacked
  int nv() const { return nv_; }  ///< joint freedoms, all joints stacked

  /// Index by name, or nothing. find_body("world") gives kWorld.
  std::optional<int> find_body(std::string_view name) const;
  std::optional<int> find_joint(std::string_view name) const;
  std::optional<int> find_frame(std::string_view name) const;

  /// "world" for kWorld.
  const std::string& body_name(int body) const;

  /// The length that makes forces and moments comparable: root mean square distance of joint points from the centres of
  /// mass of their bodies (1 m where that is zero). A property of the model, so reactions do not depend on units.
  double length() const { return length_; }
  /// Mean mass of the bodies (1 kg where all are massless).
  double mean_mass() const { return mean_mass_; }

  /// Joint coordinates of [initial], stacked; joints that it does not name are at zero (identity).
  const VecX& initial_q() const { return initial_q_; }
  /// Which joints [initial] names.
  const std::vector<bool>& initial_named() const { return initial_named_; }

 private:
  friend class LiveModel;
  /// The numbers of an edited spec whose structure is that of this model: of what `change` names, and the scales. No heap, but
  /// where a polynomial has become longer.
  void take(const ModelSpec& spec, const Change& change);

  std::string name_;
  Vec3 gravity_ = Vec3::Zero();
  std::vector<Body> bodies_;
  std::vector<Joint> joints_;
  std::vector<Coupling> couplings_;
  std::vector<Frame> frames_;
  std::vector<Tendon> tendons_;
  int nq_ = 0, nv_ = 0;
  double length_ = 1, mean_mass_ = 1;
  VecX initial_q_;
  std::vector<bool> initial_named_;
};

/// The candidate nearest to `word` in spelling, for "did you mean": empty when nothing is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
/// "; did you mean 'x'?" for the end of a sentence that refuses a word, or nothing when nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);
/// "there is no body 'cupler'; did you mean 'coupler'?"
std::string there_is_no(std::string_view what, std::string_view name, const std::vector<std::string>& candidates);

/// The names of bodies, joints, couplings or frames.
template <class Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

}  // namespace invar
