// SPDX-License-Identifier: Apache-2.0
//
// Rows of joints in natural coordinates. f_k axes of F on the parent, m_k of M on the child, p = M - F (from F's origin to M's).
//   space  ball              p = 0 along the axes of World                                linear
//          hinge             ball, and f1·m3 = f2·m3 = 0    (m3 - f3 = 0 would not have full rank)
//          cardan            ball, and f3·m1 = 0
//          slider            f1·p = f2·p = 0, and turned like the parent
//          cylindrical       f1·p = f2·p = 0, f1·m3 = f2·m3 = 0
//          planar            f3·p = 0, f1·m3 = f2·m3 = 0
//          fixed             ball, and turned like the parent
//          turned like       f2·m1 = f3·m2 = f1·m3 = 0: the three angles, to first order
//   plane  hinge, ball       p = 0 along e1, e2
//          slider            (J f3)·p = 0, (J f3)·m3 = 0
//          fixed             p = 0 along e1, e2, and f2·m1 = 0 with f1, f2 (m1, m2) an orthonormal pair in the plane
//          planar            nothing
// Off the solution that is meant (f3·m3 = -1, say) rows of directions vanish too; a motion does not get there.
#include "invar/mech/natural_coordinates.hpp"

namespace invar {

void NaturalCoordinates::add_internal_rows() {
  const int directors_of_body = plane_ ? 1 : 3;
  for (int b = 0; b < static_cast<int>(model_.bodies().size()); ++b)
    for (int i = 0; i < directors_of_body; ++i)
      for (int j = i; j < directors_of_body; ++j) {
        const double half = i == j ? 0.5 : 1.0;
        forms_.push_back({{b, 0, half * Vec3::Unit(i)}, {b, 0, Vec3::Unit(j)}, {}, i == j ? 0.5 : 0.0});
      }
}

NaturalCoordinates::Frames NaturalCoordinates::frames(int j) const {
  const Joint& joint = model_.joints()[static_cast<std::size_t>(j)];
  Frames out;
  for (int k = 0; k < 3; ++k) {
    out.f[k] = direction(joint.parent, joint.X_PF.q * Vec3::Unit(k));
    out.m[k] = direction(joint.child, joint.X_CM.q * Vec3::Unit(k));
  }
  out.F = point(joint.parent, joint.X_PF.p);
  out.M = point(joint.child, joint.X_CM.p);
  return out;
}

namespace {

NaturalVector scaled(NaturalVector a, double by) {
  a.axes *= by;
  a.position *= by;
  return a;
}

// J a: a quarter turn in the plane.
NaturalVector turned_left(NaturalVector a) {
  a.axes = Vec3(-a.axes.y(), a.axes.x(), 0);
  return a;
}

/// Collects the rows of one joint.
struct RowsOfJoint {
  const NaturalCoordinates::Frames& at;
  std::vector<NaturalForm>& out;
  double per_length;

  void closed(int dimension) {
    for (int k = 0; k < dimension; ++k) out.push_back({{kWorld, 0, per_length * Vec3::Unit(k)}, at.M, at.F, 0});
  }
  void on_plane(const NaturalVector& normal) { out.push_back({scaled(normal, per_length), at.M, at.F, 0}); }
  void perpendicular(const NaturalVector& a, const NaturalVector& b) { out.push_back({a, b, {}, 0}); }
  void same_axis() { perpendicular(at.f[0], at.m[2]), perpendicular(at.f[1], at.m[2]); }
  void turned_alike() { perpendicular(at.f[1], at.m[0]), perpendicular(at.f[2], at.m[1]), perpendicular(at.f[0], at.m[2]); }
};

void rows_in_space(JointKind kind, RowsOfJoint rows) {
  const NaturalCoordinates::Frames& at = rows.at;
  switch (kind) {
    case JointKind::Spherical: return rows.closed(3);
    case JointKind::Revolute: return rows.closed(3), rows.same_axis();
    case JointKind::Universal: return rows.closed(3), rows.perpendicular(at.f[2], at.m[0]);
    case JointKind::Prismatic: return rows.on_plane(at.f[0]), rows.on_plane(at.f[1]), rows.turned_alike();
    case JointKind::Cylindrical: return rows.on_plane(at.f[0]), rows.on_plane(at.f[1]), rows.same_axis();
    case JointKind::Planar: return rows.on_plane(at.f[2]), rows.same_axis();
    case JointKind::Fixed: return rows.closed(3), rows.turned_alike();
    case JointKind::Screw:
    case JointKind::Free: return;
  }
}

// The axis of F that shows most of itself in the plane; the same one of M lies along it in a fixed joint.
int most_visible(const NaturalCoordinates::Frames& at) {
  int best = 0;
  for (int k = 1; k < 3; ++k)
    if (at.f[k].axes.norm() > at.f[best].axes.norm() + 1e-6) best = k;
  return best;
}

void rows_in_plane(JointKind kind, RowsOfJoint rows) {
  const NaturalCoordinates::Frames& at = rows.at;
  switch (kind) {
    case JointKind::Spherical:
    case JointKind::Revolute: return rows.closed(2);
    case JointKind::Prismatic: return rows.on_plane(turned_left(at.f[2])), rows.perpendicular(turned_left(at.f[2]), at.m[2]);
    case JointKind::Fixed: {
      const int k = most_visible(at);
      return rows.closed(2), rows.perpendicular(turned_left(at.f[k]), at.m[k]);
    }
    default: return;
  }
}

}  // namespace

void NaturalCoordinates::add_joint_rows(int joint) {
  const Frames at = frames(joint);
  const JointKind kind = model_.joints()[static_cast<std::size_t>(joint)].kind;
  // Pure numbers: lengths of the connected part. A power of two does not round.
  const double length = scales_.length_at(model_.joints()[static_cast<std::size_t>(joint)].child);
  const RowsOfJoint rows{at, forms_, 1 / power_of_two(length)};
  plane_ ? rows_in_plane(kind, rows) : rows_in_space(kind, rows);
}

}  // namespace invar
