// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "invar/control/pose_reference.hpp"

namespace invar {

/// Wanted motions as laws take them: references, or any function with exact derivatives. Called in the step loop: no heap.
using Path = std::function<Jet(Instant)>;
using PosePath = std::function<PoseJet(Instant)>;

inline Path path(Reference reference) {
  return [reference = std::move(reference)](Instant at) { return jet(reference, at); };
}
inline PosePath path(PoseReference reference) {
  return [reference = std::move(reference)](Instant at) { return jet(reference, at); };
}

}  // namespace invar
