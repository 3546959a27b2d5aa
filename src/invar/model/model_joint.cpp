// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "invar/model/coordinates.hpp"
#include "invar/model/joint/table.hpp"
#include "invar/model/model_check.hpp"

// A joint is computed with its axis along z (universal: second axis along x). Let T be the rotation that takes z to the axis
// and x to the second one. F and M coincide at q = 0 and both carry the axis, so F' = F T and M' = M T coincide there too, and
//   X_F'M' = T⁻¹ X_FM T
// is the same motion by the same q about z: the coordinates do not change.
//
// Held at q*, with X_FM(q*) = (R, p), the joint is a fixed one at the same joint point, the origin of M, and with the same axes,
// those of F: both frames go to (1, p) seen from F,
//   X_PF* = X_PF (1, p),   X_CM* = X_CM (Rᵀ, 0),   X_WF* = X_WF (1, p) = X_WM (Rᵀ, 0) = X_WM*,
// so that reactions and their verdicts keep their point and their components when a joint is locked or let go.
namespace invar {
namespace {

/// A unit vector within 1e-6 is made exact (beyond round-off with a warning); anything else is refused.
Result<Vec3> unit_axis(const JointSpec& joint, const Vec3& axis, const char* field, Warnings* warnings) {
  const double length = axis.norm();
  const Vec3 unit = axis / length;
  if (std::abs(length - 1) <= 1e-6) {
    if (std::abs(length - 1) > 1e-12 && warnings)
      warnings->push_back(
          error_at(joint.where, field, "joint '{}': {} has length {:.9g} and was normalised", joint.name, field, length).text());
    return unit;
  }
  const std::string advice =
      length > 0 && unit.allFinite()
          ? fmt::format("; for this direction write [{:.17g}, {:.17g}, {:.17g}]", unit.x(), unit.y(), unit.z())
          : "";
  return tl::unexpected(error_at(joint.where, field, "joint '{}': {} is not a unit vector, its length is {:.9g}{}", joint.name,
                                 field, length, advice));
}

/// The part of axis2 perpendicular to the axis: all of it but for 1e-6, or the spec is refused. Zero: any perpendicular.
Result<Vec3> second_axis(const JointSpec& spec, const Vec3& z, Warnings* warnings) {
  if (spec.axis2.isZero(0)) return any_perpendicular(z);
  const auto unit = unit_axis(spec, spec.axis2, "axis2", warnings);
  if (!unit) return unit;
  const double along = unit->dot(z);
  if (std::abs(along) > 1e-6)
    return tl::unexpected(error_at(spec.where, "axis2",
                                   "universal joint '{}': axis2 must be perpendicular to axis; they enclose {:.6g} degrees",
                                   spec.name, std::acos(along) * 180 / std::numbers::pi));
  if (std::abs(along) > 1e-12 && warnings)
    warnings->push_back(error_at(spec.where, "axis2", "joint '{}': axis2 was made perpendicular to axis", spec.name).text());
  return Vec3((*unit - along * z).normalized());
}

/// The turn T of the frames; identity for kinds without an axis.
Result<Quat> turn(const JointSpec& spec, Warnings* warnings) {
  if (kind_facts(spec.kind).axes() == 0) return Quat::Identity();
  const auto z = unit_axis(spec, spec.axis, "axis", warnings);
  if (!z) return tl::unexpected(z.error());
  const auto x = kind_facts(spec.kind).axes() == 2 ? second_axis(spec, *z, warnings) : Result<Vec3>(any_perpendicular(*z));
  if (!x) return tl::unexpected(x.error());
  Mat3 R;
  R << *x, z->cross(*x), *z;
  return normalized(Quat(R));
}

Passive passive_of(const JointSpec& spec, std::size_t k) {
  const auto entry = [k](const std::vector<double>& list, double otherwise) { return list.empty() ? otherwise : list[k]; };
  Passive p;
  p.stiffness = entry(spec.spring.stiffness, 0);
  p.rest = entry(spec.spring.rest, 0);
  p.damping = entry(spec.damping, 0);
  p.friction = entry(spec.friction, 0);
  p.friction_velocity = spec.friction_velocity;
  p.armature = entry(spec.armature, 0);
  p.lower = entry(spec.limits.lower, p.lower);
  p.upper = entry(spec.limits.upper, p.upper);
  p.stop_stiffness = std::isfinite(p.lower) || std::isfinite(p.upper) ? spec.limits.stiffness : 0;
  p.stop_damping = p.stop_stiffness > 0 ? spec.limits.damping : 0;
  return p;
}

}  // namespace

Result<JointFrames> make_frames(const JointSpec& spec, Warnings* warnings) {
  const auto T = turn(spec, warnings);
  if (!T) return tl::unexpected(T.error());
  JointFrames frames{
      {normalized(spec.at_parent.q * *T), spec.at_parent.p}, {normalized(spec.at_child.q * *T), spec.at_child.p}, *T};
  if (!spec.locked) return frames;
  const auto q = coordinates_from(spec.kind, spec.name, spec.locked_at, spec.where, "locked_at");
  if (!q) return tl::unexpected(q.error());
  const Pose X_FM = own_facts_of(spec.kind, spec.pitch).pose(q->data());
  frames.X_PF = frames.X_PF * Pose{Quat::Identity(), X_FM.p};
  frames.X_CM = frames.X_CM * Pose{X_FM.q.conjugate(), Vec3::Zero()};
  return frames;
}

Result<Joint> make_joint(const JointSpec& spec, int parent, int child, Warnings* warnings) {
  const auto frames = make_frames(spec, warnings);
  if (!frames) return tl::unexpected(frames.error());
  Joint j{};
  j.name = spec.name;
  j.kind = j.spec_kind = spec.kind;
  j.parent = parent, j.child = child;
  j.X_PF = frames->X_PF, j.X_CM = frames->X_CM, j.turn = frames->turn;
  j.pitch = spec.pitch;
  j.spring_law = spec.spring.law;
  j.cut = spec.cut;
  j.independent = spec.independent;

  // A locked joint keeps its place and loses its freedoms, and with them all that acts along them.
  if (spec.locked) {
    j.kind = JointKind::Fixed;
    j.facts = facts_of(j.kind);
    return j;
  }

  if (!spec.locked_at.empty() && warnings)
    warnings->push_back(error_at(spec.where, "locked_at", "joint '{}' has locked_at but is not locked", spec.name).text());

  j.facts = facts_of(j.kind, j.pitch);
  j.nq = j.facts->nq(), j.nv = j.facts->nv();
  for (int k = 0; k < j.nv; ++k) {
    const Passive p = passive_of(spec, static_cast<std::size_t>(k));
    j.has_spring = j.has_spring || p.stiffness != 0;
    j.has_passive = j.has_passive || p.stiffness != 0 || p.damping != 0 || p.friction != 0 || p.stop_stiffness != 0;
    j.passive.push_back(p);
  }
  return j;
}

}  // namespace invar
