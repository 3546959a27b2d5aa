// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "invar/run/observers.hpp"

namespace invar {

/// A number that a run reports about itself. Where it has no value, `value` is NaN and `reason` says why.
struct Metric {
  std::string name;
  double value = std::numeric_limits<double>::quiet_NaN();
  std::string unit;
  std::string reason;
};

/// Extremes of a run, kept step by step; knows nothing of laws. All absolute, SI units. No heap after construction.
///
/// Momentum is compared within a stretch of time between two events in which no Port acts ("quiet"): outside the pulses of
/// a disturbance a free mechanism must keep it. Gravity and joints to the ground also change it, and are not excused.
class Tally {
 public:
  /// First state of the run.
  void start(const Observation& first);
  /// A smooth stretch begins at this state / one step has been made / the stretch is over.
  void open(const Observation& at);
  void step(const Observation& now, bool loaded);
  void close();
  /// The mechanism was edited: what it is from now on counts for the extremes.
  void edit(const Observation& now);
  /// Reactions at a recorded sample.
  void reactions(const std::vector<Wrench>& wrenches);

  const Observation& first() const { return first_; }
  const Observation& last() const { return last_; }

  double kinetic_max = 0;                                     ///< J
  double energy_drift = 0;                                    ///< largest |E - E(start)|, what edits added not counted, J
  double energy_gain = 0;                                     ///< E(now) - E(start), the same, J
  double power_balance = 0;                                   ///< largest |balance|, J
  double hamiltonian_balance = 0;                             ///< the same for the energy that the method itself keeps, J
  double power_balance_sum = 0, hamiltonian_balance_sum = 0;  ///< of the sizes of the former two over all steps, J
  double physical_balance = 0;            ///< the same for the energy with velocities put on the constraints, J
  double momentum_max = 0;                ///< N s
  double momentum_drift = 0;              ///< over quiet stretches, N s
  double angular_momentum_max = 0;        ///< about the World origin, N m s
  double angular_momentum_drift = 0;      ///< about the World origin, over quiet stretches, N m s
  double angular_momentum_com_drift = 0;  ///< about the common centre of mass, over quiet stretches, N m s
  double joint_gap = 0;                   ///< position residual, m or rad
  double velocity_residual = 0;           ///< m/s or rad/s
  double quaternion_norm = 0;
  double joint_force_max = 0;   ///< at recorded samples, N
  double joint_moment_max = 0;  ///< at recorded samples, N m
  double quiet_time = 0;        ///< s
  long steps = 0;
  long iterations = 0;     ///< of Newton's method over all steps
  int iterations_max = 0;  ///< in one step
  int substeps_max = 1;    ///< parts into which a step was divided
  long divided = 0;        ///< steps that were divided
  double divided_at = 0;   ///< s; the start of the first one
  double energy_size = 0;  ///< largest of |kinetic|, |potential| and |elastic|, J: what digits are relative to
  long samples = 0;

  /// J; how much energy the motion turned over: the largest of the kinetic energy, the changes of the potential and the elastic
  /// one, work and dissipation. What the power balance is compared with.
  double turned_over() const;
  /// "12 of 500 steps were divided, first at t = 0.35 s, at most into 4 parts"; empty where none was.
  std::string divided_steps() const;

  /// Everything above by name, in a fixed order.
  std::vector<Metric> metrics() const;

 private:
  void raise(const Observation& now);

  Observation first_, opened_, last_;
  bool loaded_ = false;
  struct Range {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    void take(double x) { low = std::min(low, x), high = std::max(high, x); }
    double width() const { return high > low ? high - low : 0; }
  };
  Range potential_, elastic_;                                          // J
  double work_ = 0;                                                    // largest |work| and dissipation, J
  double stretch_linear_ = 0, stretch_angular_ = 0, stretch_com_ = 0;  // drifts within the open stretch
};

}  // namespace invar
