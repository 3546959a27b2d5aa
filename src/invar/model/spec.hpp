// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "invar/geom/inertia.hpp"
#include "invar/geom/pose.hpp"

namespace invar {

/// Where an item and its fields stand in a file ("models/crane.toml:14:9"); empty for items made by a program.
struct Where {
  std::string item;
  std::map<std::string, std::string> fields;

  const std::string& of(const std::string& field) const {
    const auto it = fields.find(field);
    return it == fields.end() ? item : it->second;
  }
};

enum class JointKind { Fixed, Revolute, Prismatic, Screw, Cylindrical, Universal, Spherical, Planar, Free };
inline constexpr int kJointKinds = 9;

/// The word of model files ("revolute").
const char* name(JointKind kind);

/// For drawing only; mass properties of a uniform solid can be taken from it (see BodySpec::inertia_from).
struct ShapeSpec {
  enum class Kind { Box, Cylinder, Capsule, Sphere, Mesh };
  Kind kind = Kind::Box;
  Pose at;                   ///< shape frame in the body frame
  Vec3 size = Vec3::Zero();  ///< box: edges, m
  double radius = 0;         ///< m
  double length = 0;         ///< m; along the shape frame's `axis`
  int axis = 2;              ///< 0, 1, 2 for x, y, z
  std::string file;          ///< mesh
};

struct BodySpec {
  std::string name;
  Inertia inertia;
  std::vector<ShapeSpec> shapes;
  Where where;
};

/// Elastic law of a joint. Scalar freedoms: effort = -stiffness (q - rest). The laws differ for spherical (and free) joints.
enum class SpringLaw {
  RotationVector,  ///< m = -dexp^-T K theta, theta = log(R_rest^T R_FM): conservative and frame invariant (default)
  Euler,           ///< potential of the angles of A (10), moment along the reciprocal axes: conservative, singular at 90°
  EulerPrinted,    ///< A (9) with the right sign but along the rotation axes themselves: pumps energy (docs/papers.md A4)
};

struct SpringSpec {
  SpringLaw law = SpringLaw::RotationVector;
  std::vector<double> stiffness;  ///< one per freedom; N m/rad or N/m; empty: no spring
  std::vector<double> rest;       ///< one per freedom; spherical: a rotation vector; empty: zero
};

/// Limits with compliant stops: inside the stop, by a depth d >= 0, the effort is stiffness d (1 + damping d'), never pulling.
struct LimitSpec {
  std::vector<double> lower;  ///< one per freedom; empty: none
  std::vector<double> upper;
  double stiffness = 1e5;  ///< N m/rad or N/m
  double damping = 0;      ///< s/rad or s/m
};

struct JointSpec {
  std::string name;
  JointKind kind = JointKind::Fixed;
  std::string parent = "world";
  std::string child;
  Pose at_parent;  ///< joint frame F on the parent's body frame
  Pose at_child;   ///< joint frame M on the child's body frame
  Vec3 axis =
      Vec3::UnitZ();  ///< in F; revolute, prismatic, screw, cylindrical: the axis; planar: the normal; universal: first axis
  Vec3 axis2 = Vec3::Zero();  ///< in M; universal: second axis, perpendicular to the first; zero: chosen
  double pitch = 0;           ///< screw: advance, m/rad
  SpringSpec spring;
  LimitSpec limits;
  std::vector<double> damping;      ///< per freedom, N m s/rad or N s/m
  std::vector<double> friction;     ///< Coulomb level per freedom, N m or N
  double friction_velocity = 1e-3;  ///< smoothing of Coulomb friction: level tanh(v / friction_velocity)
  std::vector<double> armature;     ///< rotor inertia per freedom, kg m² or kg
  bool locked = false;              ///< freedoms held at `locked_at`; their efforts become reactions
  std::vector<double> locked_at;    ///< joint coordinates; empty: zero
  bool cut = false;                 ///< prefer this joint as the closure of its loop
  bool independent = false;         ///< prefer its freedoms as the independent ones of minimal coordinates
  Where where;
};

/// q_joint = sum_k coefficients[k] q_of^k on one freedom of each joint. Gear or mimic: {offset, ratio}.
struct CouplingSpec {
  std::string name;
  std::string joint;
  int freedom = 0;
  std::string of;
  int of_freedom = 0;
  std::vector<double> coefficients;
  Where where;
};

struct FrameSpec {
  std::string name;
  std::string body = "world";
  Pose at;
  Where where;
};

/// A point fixed to a body: in its body frame, or in a named frame on it.
struct PointSpec {
  std::string body = "world";
  std::string frame;  ///< instead of a body
  Vec3 p = Vec3::Zero();
};

/// An elastic line through points on bodies, under one tension over its whole length: it slides through inner points without
/// friction. Two points make a spring. With s the sum of the distances between neighbouring points,
///   tension = pretension + stiffness (s - length) + damping s'.
struct TendonSpec {
  std::string name;
  std::vector<PointSpec> points;  ///< two at least
  double stiffness = 0;           ///< N/m
  double length = 0;              ///< m; at which the tension is `pretension`
  double pretension = 0;          ///< N
  double damping = 0;             ///< N s/m
  bool tension_only = false;      ///< goes slack instead of pushing
  Where where;
};

/// A tool or load that is rigidly fixed to a body: its mass counts with the body's, under a name of its own.
struct PayloadSpec {
  std::string name;
  std::string body;
  Inertia inertia;  ///< in the body's frame and axes
  Where where;
  std::vector<ShapeSpec> shapes = {};  ///< in the body's frame: drawn with the body while attached
};

/// An editable description of a mechanism. Nothing in it need make sense yet: see Model::build.
struct ModelSpec {
  std::string name = "unnamed";
  Vec3 gravity = Vec3(0, 0, -9.81);  ///< m/s²
  std::vector<BodySpec> bodies;
  std::vector<JointSpec> joints;
  std::vector<CouplingSpec> couplings;
  std::vector<FrameSpec> frames;
  std::vector<TendonSpec> tendons;
  std::vector<PayloadSpec> payloads;
  /// Joint coordinates of a start configuration ([initial] of a model file), by joint name.
  std::map<std::string, std::vector<double>> initial;
  Where where;
};

}  // namespace invar
