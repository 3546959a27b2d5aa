// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "invar/base/error.hpp"

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
};

/// From a log, every intact record; from HDF5, every dataset of doubles. At most 1 GiB of numbers.
Result<RecordedColumns> columns_of_log(const std::string& path);
Result<RecordedColumns> columns_of_hdf5(const std::string& path);

}  // namespace invar
