// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/base/status.hpp"
#include "invar/mech/bodies.hpp"

namespace invar {

/// Right sides of the KKT system A (19) of all joints at given Bodies,
///   M x + Jᵀ F = f,   J x = gamma,
/// with x the body accelerations. `dynamics` adds gravity, gyroscopic terms and velocity products from the bodies; without
/// it only the given loads and biases count (projection, refinement, control).
struct KktInput {
  bool dynamics = true;
  bool settled =
      false;  ///< the bodies lie on the constraints: only then a redundancy that rests on dimensions can be told from none
  bool again = false;             ///< the last solve was a success, at these bodies and driving coordinates: factors may be kept
  bool correction = false;        ///< the answer is added to something much larger: no digits beyond the first few are asked for
  bool reactions = true;          ///< false: nobody asks for reactions, which may be left as they are
  const Port* port = nullptr;     ///< about the centres of mass; null: none
  const VecX* efforts = nullptr;  ///< per joint freedom; null: none
  const std::vector<Twist>* bias = nullptr;   ///< per joint: added to the acceleration of M in F along its rows, at M, World
  const VecX* coupling_bias = nullptr;        ///< per coupling: added to its right side
  const VecX* coupling_q = nullptr;           ///< per coupling: its driving coordinate, turns counted; null: as measured
  const std::vector<char>* wanted = nullptr;  ///< per body: its motion is asked for; connected parts with none may be left out
};

/// Solves the unreduced equations at given Bodies: by elimination over the spanning tree (few loops), by fronts over the joint
/// graph (many loops, weak rows), or next to a singular configuration (Passage).
class KktSolver {
 public:
  KktSolver() = default;
  virtual ~KktSolver() = default;
  KktSolver(const KktSolver&) = delete;
  KktSolver& operator=(const KktSolver&) = delete;

  /// Accelerations of all bodies and reactions of all joints (constraint part, on the parent, at the origin of M, World).
  /// No heap. Rows that depend on others carry no force of their own: see least_norm for the invariant choice.
  virtual Verdict solve(const Bodies& bodies, const KktInput& input, Accelerations& accelerations,
                        std::vector<Wrench>& reactions) = 0;
  /// Effort on the driven joint of a coupling in the last solve.
  virtual double coupling_effort(int coupling) const = 0;
};

}  // namespace invar
