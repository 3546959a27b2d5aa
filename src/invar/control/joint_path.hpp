// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/base/error.hpp"
#include "invar/control/pose_reference.hpp"
#include "invar/mech/minimal/joint_tree.hpp"

namespace invar {

struct JointPathOptions {
  bool attitude = true;      ///< whether the frame shall have the attitude of the path, too
  double spacing = 0.01;     ///< s, between nodes, at most; nodes lie on all events of the path
  double tolerance = 1e-10;  ///< what may be left at a node: rad, and m at the model's length
};

/// Motions of joints that carry a frame along its path.
struct JointPath {
  struct Freedom {
    int joint, freedom;   ///< of the model; of the joint
    std::string name;     ///< "joint", or "joint.k" where it has several freedoms
    Reference reference;  ///< Quintic, rad or m
  };
  std::vector<Freedom> freedoms;  ///< the independent ones of the tree; in loops the others follow
  Bodies start;                   ///< at the first node, moving
  double position = 0;            ///< m: the largest distance from the path midway between nodes
  double attitude = 0;            ///< rad; zero where no attitude was asked for
};

/// Solves for the joints along the path of a named frame, from one time to another, beginning as near to q as reach() does.
/// At every node the frame is where the path is, and rates and second rates of the joints are those that its twist and
/// acceleration ask for, exactly:
///   J q̇ = V,   J q̈ = V̇ - J̇ q̇.
/// Where an arm has freedoms to spare the rates are the least (angles counted at the model's length) and the second rates their
/// derivative, so that neighbouring nodes lie on one smooth motion. Between nodes quintics: the frame is off by O(spacing⁶).
/// Freedoms of balls and floating bodies have no reference and rest; where they move the frame the path is refused.
/// Refused in words, too, with time and distance: a path that leaves the reach or asks for what a singular configuration cannot
/// do, joints beyond their limits (freedoms to spare are not used to avoid them), loops that cannot be closed.
/// The tree's independent freedoms must be chosen, at q. Allocates.
Result<JointPath> joint_path(const JointTree& tree, const std::string& frame, const PoseReference& path, double from, double to,
                             const VecX& q, const VecX& wound, const JointPathOptions& options = {});

}  // namespace invar
