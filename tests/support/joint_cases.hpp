// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "invar/control/joint_law.hpp"

namespace invar::testing {

/// A mechanism for laws in freedoms, and where it starts.
struct JointCase {
  ModelSpec spec;
  Bodies start;
  std::string what;
};

/// Trees and loops, light and heavy, large and small; trees with springs and dampers where asked for.
JointCase drawn_joint_case(int k, bool passive);

/// Freedoms that describe the motion, by Cholesky's factors of the mobility with pivots: the most mobile of what is left, again
/// and again. Freedoms of balls have no coordinates and are left out; empty where the others are too few. Paths are not set.
std::vector<JointAim> independent_aims(const Model& model, const Bodies& bodies);

/// The same with paths that begin where the freedoms are, at their rates, and swing by 0.02; or rest where they are.
std::vector<JointAim> aims_from(const Model& model, const Bodies& start, bool moving);

}  // namespace invar::testing
