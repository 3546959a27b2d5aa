// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "invar/base/error.hpp"
#include "invar/control/signal.hpp"
#include "invar/mech/augmented.hpp"

namespace invar {

/// A freedom of a joint that moves as told.
struct DriveSpec {
  std::string joint;
  int freedom = 0;
  Signal signal = Constant{0};  ///< its coordinate as a function of time, rad or m; value and rate must be continuous
  double correction = 20;       ///< 1/s; how fast deviations die out, critically damped
};

/// Efforts that make freedoms of joints follow given motions exactly, whatever else acts and however the rest moves:
///   a = q̈(t) + 2 c (q̇(t) - v) + c² (q(t) - q)     with the correction c for what integration leaves.
/// Accelerations are linear in efforts: one solve of the unreduced equations tells them without, one more per drive how they
/// answer to it. The load that it is given must be complete: it is the last environment of a System. Angles are compared modulo
/// a turn. Springs and couplings of joints that nobody drives are taken within half a turn of zero.
class Drive final : public Environment {
 public:
  /// Refuses unknown joints and freedoms, attitudes (balls, free bodies), freedoms named twice, and signals that nothing with
  /// inertia can follow. The model must outlive it; after an edit of the model in place, bound_to makes the one to go on with.
  static Result<std::shared_ptr<const Drive>> build(const Model& model, const std::vector<DriveSpec>& specs);

  void add(Instant at, const Bodies& bodies, Load& load) const override;
  double next_event(double t) const override;
  std::optional<std::shared_ptr<const Environment>> bound_to(const Model& model) const override;

  /// Where a drive wants its freedom to be.
  struct Aim {
    int joint, freedom;  ///< of the model; of the joint
    double q, v;
  };
  std::vector<Aim> aims(double t) const;

  /// Why these freedoms cannot be driven independently at such bodies (a crank and a rocker of one linkage, a joint of a truss),
  /// or an empty string. Who drives all the same gets no effort from a drive that cannot act.
  std::string objection(Instant at, const Bodies& bodies) const;

 private:
  struct One {
    int joint, freedom;
    Eigen::Index v;  // in the stacked freedoms of the model
    bool winds;
    Signal signal;
    double correction;
  };
  explicit Drive(const Model& model);
  bool respond(const Bodies& bodies) const;
  int solve_efforts() const;
  void expect_turns(Instant at, const Bodies& bodies) const;

  const Model& model_;
  std::vector<One> drives_;
  // Workspace.
  mutable Augmented unreduced_;
  mutable Bodies still_;
  mutable Accelerations accelerations_;
  mutable std::vector<Wrench> reactions_;
  mutable VecX q_, v_, vdot_, wound_, unit_, coupling_q_;
  mutable MatX response_;  // accelerations of driven freedoms per effort on them
  mutable VecX wanted_, scale_;
  mutable std::vector<int> order_;  // of columns
};

}  // namespace invar
