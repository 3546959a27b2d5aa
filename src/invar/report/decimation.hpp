// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "invar/io/log.hpp"

namespace invar {

/// Samples of some channels: times, and all numbers sample after sample.
struct Series {
  std::vector<double> t, y;
};

/// What of a recording goes onto a page: numbers as they were recorded, fewer of them.
struct Decimated {
  Layout layout;                 ///< with what was derived
  std::vector<Series> channels;  ///< one per channel but time; poses of bodies share their times
  std::uint64_t samples = 0;     ///< of the recording
  LogReader::Ending ending = LogReader::Ending::Open;
};

/// A channel that is computed from a row of the recording.
struct Derived {
  Channel channel;
  std::function<void(std::span<const double> row, std::span<double> out)> compute;
};

struct DecimationOptions {
  int poses = 601;      ///< samples of poses at most, even over the recording
  int extremes = 1001;  ///< of every other channel: of each stretch the samples with the least and the largest of each component
  /// Which channels are wanted at all; all where it is empty.
  std::function<bool(const Channel&)> wanted = {};
  /// Asked for every sample in order; they come after the channels of the recording, always wanted.
  std::vector<Derived> derived = {};
};

/// Whether a channel is the pose of a body.
bool is_pose(const Channel& channel);
/// Whether a channel is drawn together with poses, and so needs samples at their times: poses themselves, references of tasks,
/// stiffnesses.
bool goes_with_poses(const Channel& channel);

/// Reads a log twice, and keeps no more than the result. A recording that is short enough comes out whole.
/// Laws: every number is one of the recording, with its time; first and last samples are kept; for every channel the largest and
/// the least number of each component are.
Decimated decimate(LogReader& log, const DecimationOptions& options);

}  // namespace invar
