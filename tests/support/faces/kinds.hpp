// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/table.hpp"
#include "support/faces/cylindrical.hpp"
#include "support/faces/fixed.hpp"
#include "support/faces/free.hpp"
#include "support/faces/planar.hpp"
#include "support/faces/prismatic.hpp"
#include "support/faces/revolute.hpp"
#include "support/faces/screw.hpp"
#include "support/faces/spherical.hpp"
#include "support/faces/universal.hpp"

namespace invar {

/// Hand-written faces of nine kinds, independent of facts: what the library says is judged by them. Calls f with that of a kind.
template <class F>
decltype(auto) with_kind(JointKind kind, F&& f) {
  switch (kind) {
    case JointKind::Revolute: return f(Revolute{});
    case JointKind::Prismatic: return f(Prismatic{});
    case JointKind::Screw: return f(Screw{});
    case JointKind::Cylindrical: return f(Cylindrical{});
    case JointKind::Universal: return f(Universal{});
    case JointKind::Spherical: return f(Spherical{});
    case JointKind::Planar: return f(Planar{});
    case JointKind::Free: return f(Free{});
    case JointKind::Fixed: break;
  }
  return f(Fixed{});
}

/// Whether the rate of freedom k is an angular one, rad/s; otherwise it is m/s.
inline bool turns(JointKind kind, int k) {
  switch (kind) {
    case JointKind::Prismatic: return false;
    case JointKind::Cylindrical: return k == 0;
    case JointKind::Planar: return k == 2;
    case JointKind::Free: return k >= 3;
    default: return true;
  }
}
/// Whether freedom k is an angle that can wind up: its coordinate is measured modulo one turn.
inline bool winds(JointKind kind, int k) {
  switch (kind) {
    case JointKind::Revolute:
    case JointKind::Universal: return true;
    case JointKind::Cylindrical: return k == 0;
    case JointKind::Planar: return k == 2;
    default: return false;
  }
}

}  // namespace invar
