// SPDX-License-Identifier: Apache-2.0
//
// Rows of joints in natural coordinates. f_k axes of F on the parent, m_k of M on the child, p = M - F (from F's origin to M's).
// Forms of a joint's facts are products of two of them. In a plane they are
//   no slide    p = 0 along e1, e2
//   one slide   (J f)·p = 0, f its axis and J a quarter turn in the plane
//   no turn     (J f)·m = 0 for an axis of F and the same one of M that show in the plane
// Off the solution that is meant (f3·m3 = -1, say) rows of directions vanish too; a motion does not get there.
#include <algorithm>

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
};

// Forms of the facts, which speak of axes of F and M and of p. Three of them on p say that it is zero, which is linear along the
// axes of World.
void rows_in_space(const Facts& facts, RowsOfJoint rows) {
  const NaturalCoordinates::Frames& at = rows.at;
  const auto is_level = [](const Form& form) { return !form.b.isZero(0); };
  const bool at_point = std::count_if(facts.forms().begin(), facts.forms().end(), is_level) == 3;
  if (at_point) rows.closed(3);
  for (const Form& form : facts.forms())
    for (int i = 0; i < 3; ++i) {
      if (form.b[i] != 0 && !at_point) rows.on_plane(at.f[i]);
      for (int j = 0; j < 3; ++j)
        if (form.A(i, j) != 0) rows.perpendicular(at.f[i], at.m[j]);
    }
}

// The axis of F that shows most of itself in the plane; the same one of M lies along it in a joint that does not turn.
int most_visible(const NaturalCoordinates::Frames& at) {
  int best = 0;
  for (int k = 1; k < 3; ++k)
    if (at.f[k].axes.norm() > at.f[best].axes.norm() + 1e-6) best = k;
  return best;
}

// Slides of a planar joint lie in the plane: none leaves a point, one a line, two nothing to hold. A turn is about the normal.
void rows_in_plane(const Facts& facts, RowsOfJoint rows) {
  const NaturalCoordinates::Frames& at = rows.at;
  int slides = 0, axis = -1;
  for (const Element& e : facts.path())
    if (e.motion == Element::Motion::Slide) ++slides, axis = e.axis;
  if (slides == 0) rows.closed(2);
  if (slides == 1) rows.on_plane(turned_left(at.f[axis]));
  if (facts.turning() != Turning::None) return;
  const int k = slides == 1 ? axis : most_visible(at);
  rows.perpendicular(turned_left(at.f[k]), at.m[k]);
}

}  // namespace

void NaturalCoordinates::add_joint_rows(int joint) {
  const Frames at = frames(joint);
  const Facts& facts = *model_.joints()[static_cast<std::size_t>(joint)].facts;
  // Pure numbers: lengths of the connected part. A power of two does not round.
  const double length = scales_.length_at(model_.joints()[static_cast<std::size_t>(joint)].child);
  const RowsOfJoint rows{at, forms_, 1 / power_of_two(length)};
  plane_ ? rows_in_plane(facts, rows) : rows_in_space(facts, rows);
}

}  // namespace invar
