// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/mech/kinematics.hpp"
#include "invar/mech/kkt_solver.hpp"
#include "invar/mech/scales.hpp"

namespace invar {

/// Moves Bodies onto the constraints of joints and couplings along the shortest way in the inertia metric: each correction x
/// solves M x + Jᵀ F = 0, J x = -(residual). Every connected part is closed by itself, with its own sizes, its own lengths of
/// Newton steps and its own end: what is not connected does not influence each other, not by a bit. No heap after construction.
class Projection {
 public:
  Projection(const Model& model, KktSolver& solver);

  /// Newton until the residual stops falling or is what rounding leaves; Ok when it is then below `tolerance` (rad, or parts of
  /// the length of the connected part: neither units nor size matter), or round-off, in every part.
  Verdict positions(Bodies& bodies, const VecX& wound, double tolerance, int max_iterations);
  /// One exact solve, unless J v is round-off already: afterwards J v = 0 to round-off.
  Verdict velocities(Bodies& bodies, const VecX& wound);

  /// Per joint, the relative acceleration along its rows that removes residuals like a critically tuned spring:
  /// -2 alpha (rate residual) - beta² (position residual), World, at M. Baumgarte's stabilisation.
  const std::vector<Twist>& baumgarte(const Bodies& bodies, double alpha, double beta);
  const VecX& baumgarte_couplings(const Bodies& bodies, const VecX& wound, double alpha, double beta);

 private:
  /// A connected part on its way to closed joints.
  struct Part {
    bool open = false;    // it is still corrected
    double gap = 0;       // the largest, rad or parts of its length; at positions
    int joint = -1;       // which has it; -1: a coupling
    double last = 0;      // gap before the last correction
    double wanted = 0;    // the largest correction that joints and couplings ask for, m or m/s
    double extent = 0;    // m: distance from the World origin within which it lies
    double speed = 0;     // m/s: which its points do not exceed by much
    double share = 1;     // of the correction that is tried
    bool settled = true;  // that share is taken
  };

  void measure(const Bodies& bodies, const VecX& wound);
  void measure_gaps(const Bodies& bodies, const VecX& wound);
  void close_what_is_round_off(const Bodies& bodies, bool rates);
  bool any_open() const;
  Part& part_of_joint(int joint);
  Part& part_of_body(std::size_t body);
  Verdict solve_open(const Bodies& bodies, KktInput input);
  Verdict solve_positions(const Bodies& bodies, const KktInput& input, double tolerance);
  void correct(Bodies& bodies, const VecX& wound, double tolerance);

  const Model& model_;
  KktSolver& solver_;
  Scales scales_;
  std::vector<Part> parts_;
  std::vector<char> wanted_;         // per body: of a part that is open
  std::vector<Twist> bias_;          // per joint
  VecX coupling_bias_, coupling_q_;  // per coupling
  VecX q_, v_;                       // joint coordinates and rates
  Accelerations correction_;         // per body
  Bodies trial_;                     // per body
  std::vector<Wrench> unused_;       // per joint
};

}  // namespace invar
