// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/model/joint/facts.hpp"
#include "invar/model/spec.hpp"

namespace invar {

/// The kinds of joints that files know, one line each in table.cpp. `pitch` is that of a screw, m/rad.
std::shared_ptr<const Facts> facts_of(JointKind kind, double pitch = 0);
/// The same without the heap.
Facts own_facts_of(JointKind kind, double pitch = 0);
/// What does not depend on parameters: counts, words, which freedoms turn.
const Facts& kind_facts(JointKind kind);
/// Those of a body that hangs on nothing.
const Facts& floating_facts();
/// Whether a description has to say the pitch.
bool takes_pitch(JointKind kind);

inline int coordinates(JointKind kind) { return kind_facts(kind).nq(); }
inline int freedoms(JointKind kind) { return kind_facts(kind).nv(); }

}  // namespace invar
