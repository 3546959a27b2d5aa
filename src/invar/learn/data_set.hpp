// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "invar/base/error.hpp"
#include "invar/learn/term.hpp"

namespace invar {

/// A motion at one instant as it was measured, and what is known to have acted.
struct DataSample {
  double t = 0;  ///< s
  Bodies bodies;
  Accelerations accelerations;
  Port port;                   ///< known wrenches about the centres of mass, World
  VecX efforts;                ///< known efforts on the freedoms, those of motors; not what joints do by themselves
  Vec3 flow = Vec3::Zero();    ///< measured, World, m/s
  std::vector<double> inputs;  ///< of actuators
};

/// One recording.
struct DataRun {
  std::string name;
  std::vector<DataSample> samples;
  std::string remark = {};  ///< what its file does not say, a clause; may be empty
};

/// What is learned from. Runs are the unit of honesty: strengths are chosen on whole runs that were not fitted, because
/// neighbouring samples of one run are nearly the same.
struct DataSet {
  std::vector<DataRun> runs;
  std::vector<std::string> obstacle_names;
  std::vector<Vec3> obstacles;           ///< points, World, m
  std::vector<std::string> input_names;  ///< of actuators

  std::size_t samples() const;
  /// What a term sees beside the bodies.
  Surroundings around(const DataSample& s) const { return {s.flow, obstacles, s.inputs, &s.accelerations}; }
  /// FNV-1a over every number: the same data have the same hash.
  std::uint64_t hash() const;
};

/// Refuses with run and sample: no runs, runs without samples, numbers that are not finite or beyond 1e15, quaternions that are
/// none, times that do not rise, sizes that do not belong to the model, poses with joints that are far open, velocities of which
/// joints forbid more than a tenth, and the same run twice: it would be fitted and judge at once.
Result<void> check(const DataSet& data, const Model& model);

/// Where poses of a run leave a joint most open: rad, or parts of the mechanism's length.
struct OpenJoint {
  double gap = 0;
  int joint = -1;
  std::size_t sample = 0;
};
OpenJoint most_open(const DataRun& run, const Model& model);

/// What joints forbid of the velocities of a run: the rest beside the nearest that they allow, in the metric of M.
struct Torn {
  double forbidden = 0;  ///< rms over the run, m/s: the square root of |v|²_M over the mass of the mechanism
  double moving = 0;     ///< rms of the velocities themselves, m/s
  double lasts = 0;      ///< s, from the first sample to the last
  /// Torn apart fastest, in the sample in which most is forbidden: a joint or a coupling, the other one is -1.
  int joint = -1, coupling = -1;
  std::size_t sample = 0;
  double rate = 0;  ///< at which it is, m/s (angular ones times the model's length)

  /// "joint 'elbow'", "coupling 'gear'".
  std::string who(const Model& model) const;
};
/// Samples at which the mechanism has no answer are passed over, and models with rotors, which learning refuses.
Torn torn(const DataRun& run, const Model& model);
/// Whether that is more than a part of the velocities of all runs, and would have opened a joint by more than `gap` of the length
/// in the time of its run. So noise of a mechanism that hardly moves is none.
bool is_torn(const Torn& run, double moving, double part, double length, double gap);
/// The same of every run, and how fast all of them are, rms.
struct AllTorn {
  std::vector<Torn> runs;
  double moving = 0;
};
AllTorn torn(const DataSet& data, const Model& model);

/// Accelerations from velocities: the derivative in the middle of a window of 2 `half` + 1 samples of the quadratic that fits
/// velocities best (Savitzky and Golay; equal time steps). The first and last `half` samples of every run are dropped. Refuses
/// uneven time steps and runs that are shorter than the window, with the run.
Result<void> differentiate(DataSet& data, int half);

/// Every `stride`-th sample of every run, `most` of them in all at most, evenly taken from the runs.
DataSet thinned(const DataSet& data, std::size_t most);

}  // namespace invar
