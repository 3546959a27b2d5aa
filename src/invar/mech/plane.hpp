// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "invar/model/model.hpp"

namespace invar {

/// The plane in which a mechanism moves, and the same plane as every body sees it. Both triads are right-handed and orthonormal.
/// While the joints hold, R_WB n_B = normal for every body, so that the angle of R_WB b1 from e1 is all there is to its
/// attitude, and the offset of its centre of mass along the normal is constant.
struct Plane {
  /// In body axes. In the configuration where all coordinates of the spanning tree are zero, R_WB b1 = e1.
  struct InBody {
    Vec3 b1, b2, n_B;
  };
  Vec3 e1, e2, normal;         ///< World; the normal is the axis of the first hinge, e2 points up where gravity does something
  std::vector<InBody> bodies;  ///< per body of the model

  Eigen::Vector2d project(const Vec3& a) const { return {a.dot(e1), a.dot(e2)}; }
  Vec3 lift(const Eigen::Vector2d& a) const { return a.x() * e1 + a.y() * e2; }
};

/// The plane of a mechanism that cannot leave it: every body hangs on the ground by joints that keep one direction (revolute and
/// planar joints about it, prismatic ones across it, fixed ones), every loop closes along it, and gravity is across it. Bodies
/// may lie at different offsets along the normal, and tendons may pull out of the plane: the joints hold that. Directions agree
/// within 1e-12. Law: whether there is a plane does not depend on how World is turned.
std::optional<Plane> plane_of(const Model& model);

/// Whether the kinds of its joints alone forbid a plane, whatever their frames are. No heap.
bool never_planar(const Model& model);

/// Why there is none, as a sentence that names the joint or body; empty where plane_of gives a plane.
std::string why_not_planar(const Model& model);

}  // namespace invar
