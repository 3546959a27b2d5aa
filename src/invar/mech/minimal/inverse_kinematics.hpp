// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/minimal/joint_tree.hpp"

namespace invar {

struct ReachOptions {
  bool attitude = true;      ///< whether the attitude is asked for, too
  double tolerance = 1e-12;  ///< m at the model's length, rad
  int iterations = 200;
};

/// How a search for a configuration ended.
struct Reach {
  VecX q;               ///< coordinates of the tree, closures met
  Bodies bodies;        ///< there
  double position = 0;  ///< m, what is left
  double attitude = 0;  ///< rad
  int iterations = 0;
  bool reached = false;  ///< both within tolerance; otherwise q is the best that was found
};

/// Coordinates at which a frame has a pose in World, or comes as near to it as limits of joints and closures let it, from q
/// (damped least squares). A joint at its limit stays there as long as the search pushes against it. Fails as the closures do.
Verdict reach(const JointTree& tree, const Frame& frame, const Pose& X_WE, const VecX& q, const VecX& wound,
              const ReachOptions& options, Reach& out);

}  // namespace invar
