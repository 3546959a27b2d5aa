// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/io/log.hpp"

namespace invar {

/// What was found in a log and written.
struct Written {
  std::uint64_t samples = 0;
  double from = 0, to = 0;  ///< s
  LogReader::Ending ending = LogReader::Ending::Open;
};

/// Writes every intact record of a log as HDF5: one dataset per channel at its path ("/bodies/crank/p", samples × size, or
/// samples alone for numbers), each with the attributes `unit` and `meaning`; attributes of the root: format (1), model,
/// scenario, seed, complete (0 where the log was cut or damaged). The file appears under `path` only when it is whole.
/// The same log gives the same bytes. Needs the memory of one block of rows and of the names, not of the recording. A disk that
/// fills up at any byte is an error like any other.
Result<Written> write_hdf5(LogReader& log, const std::string& path);

}  // namespace invar
