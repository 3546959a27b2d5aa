// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/cylindrical.hpp"
#include "invar/model/joint/fixed.hpp"
#include "invar/model/joint/free.hpp"
#include "invar/model/joint/planar.hpp"
#include "invar/model/joint/prismatic.hpp"
#include "invar/model/joint/revolute.hpp"
#include "invar/model/joint/screw.hpp"
#include "invar/model/joint/spherical.hpp"
#include "invar/model/joint/universal.hpp"
#include "invar/model/spec.hpp"

namespace invar {

/// Calls f with an object of the kind's type: the one place where a JointKind becomes code.
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

inline int coordinates(JointKind kind) {
  return with_kind(kind, [](auto k) { return decltype(k)::nq; });
}
inline int freedoms(JointKind kind) {
  return with_kind(kind, [](auto k) { return decltype(k)::nv; });
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
