// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/attitude_error.hpp"
#include "invar/control/limit_repulsion.hpp"
#include "invar/control/port_law.hpp"
#include "invar/control/repulsion.hpp"

namespace invar {

/// A frame of a body that shall follow a path, in position, attitude or both.
struct Task {
  std::string name;
  int body = 0;
  Pose X_BE;  ///< the frame in its body
  PosePath path;
  bool position = true, attitude = true;
  double position_rate = 1.5, attitude_rate = 3;  ///< Λ_e, 1/s
  /// For the last task, where it is not the first: what may be left undone where tasks before it leave too little motion, over
  /// the mobility that a body with the mass of the whole mechanism (and its length as radius of gyration) would have. Zero: all
  /// of it must be met.
  double damping = 0;
};

struct TaskLawSpec {
  PortGains gains;
  std::vector<Task> tasks;  ///< in order of priority
  double avoidance = 1;     ///< k_o: mobility of the avoiding motion, per unit of time
  /// The printed law: for a selection of bodies the weighted inverse of A (40) is J_tᵀ, so nothing couples the bodies
  /// (docs/papers.md A10-A12), and the attitude error is taken in body components (A7).
  bool as_printed = false;
};

/// A, law III: tasks first, in strict priority; what is left of the freedoms slides down the repulsive potential U.
///   ν_er = ν_ed - Λ_e e                                                          A (39)
///   ν_r = A (J_tᵀ y - k_o ∇U)   with J_t ν_r + D y = ν_er                        docs/papers.md A10-A12
/// and its exact derivative. A is the constrained inverse, so joints allow ν_r whatever the path asks for. Tasks without damping
/// D are met as they are asked for; the last one, with it, as well as what is left allows, the same in every World. A task
/// without damping that asks for more than there is is refused at the start; on the way rows are dropped, and told.
class TaskLaw final : public PortLaw {
 public:
  TaskLaw(const Model& model, TaskLawSpec spec, Repulsion repulsion, LimitRepulsion limits = {});

  std::span<const Obstacle> obstacles() const override { return repulsion_.obstacles(); }
  std::vector<Mark> marks() const override;
  void remember(Recall& memory) override;

 protected:
  Verdict refer(Instant at, Accelerations& nu_r, Accelerations& nu_r_dot) override;
  void choose_sides(Instant at, const Bodies& bodies) override;
  void track(double t) override;
  std::string cannot() const override;

 private:
  struct Follower {
    TurnSide side;
    int first = 0;  // of its rows
    PoseJet wanted;
    Vec3 arm;  // centre of mass -> frame, World
    Vec3 position_error = Vec3::Zero();
    double angle = 0;
    std::size_t at_position = 0, at_attitude = 0;  // in tracking_
    std::size_t p = 0, q = 0;                      // readings
  };
  void ask(Instant at);
  void printed(Accelerations& nu_r, Accelerations& nu_r_dot);
  Verdict columns();
  template <class Root>
  void eliminate(const MatX& gram, const Root& root);
  bool factor_whole();
  Verdict look_at_geometry();
  Verdict factor();
  void solve(VecX& y) const;
  double row(int r, const Accelerations& x) const;
  void add_row(int r, double y, Port& port) const;

  TaskLawSpec spec_;
  Repulsion repulsion_;
  LimitRepulsion limits_;
  std::vector<Follower> followers_;
  std::vector<int> task_of_row_, axis_of_row_;  // axis 0..2 linear, 3..5 angular, World
  std::vector<Accelerations> X_;                // A J_tᵀ, per row
  Field flow_;                                  // ν_r with its forces
  Model equal_;                                 // geometry alone: the mechanism with equal bodies
  ConstrainedInverse geometry_;
  Accelerations way_;
  bool looked_ = false;
  VecX damping_, equal_damping_, held_, wanted_, wanted_dot_, y_, y_dot_;
  MatX gram_, equal_gram_, L_;
  std::vector<Mat3> inverse_of_block_;
  std::vector<int> kept_;       // directions of every block of three rows
  std::vector<Mat3> left_;      // projections onto them, where any is in doubt
  std::vector<double> length_;  // of the parts of their bodies, m
  Port f_, f_dot_, slope_, slope_rate_;
  int reached_ = 0, switches_ = 0, clear_ = -1, within_ = -1;
  std::size_t clearance_ = 0;
};

}  // namespace invar
