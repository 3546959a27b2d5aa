// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "invar/base/error.hpp"
#include "invar/geom/vector.hpp"

// For the sources of this room only.
namespace invar {

/// Channels of a recording in memory, by path.
struct RecordedColumns {
  struct Column {
    int size = 1;                // numbers per sample
    std::vector<double> values;  // sample by sample
  };
  std::map<std::string, Column> channels;
  std::size_t samples = 0;
  bool cut = false;   // a log that just stops
  std::string scene;  // JSON of what pages draw; empty where nothing is told
};

/// From a log, every intact record; from HDF5, every dataset of doubles. At most 1 GiB of numbers.
Result<RecordedColumns> columns_of_log(const std::string& path);
Result<RecordedColumns> columns_of_hdf5(const std::string& path);

/// Where the centre of mass of a recorded body is, in its frame, from a time on.
struct RecordedCentre {
  double from;  // s
  Vec3 p_BC;    // m
};
/// Per body, in order of time; empty where the recording does not say. An HDF5 file does not: the log beside it is asked.
std::map<std::string, std::vector<RecordedCentre>> recorded_centres(const RecordedColumns& columns, const std::string& path);

}  // namespace invar
