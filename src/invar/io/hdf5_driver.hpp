// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "invar/io/whole_file.hpp"

// For the sources of this room only.
namespace invar {

/// An access list of HDF5 (a hid_t) whose files go into `file`, or a negative number. Until `leave` is called, `file` must
/// outlive all that is opened with it.
///
/// HDF5 does not survive a write that fails: what its cache could not get rid of is tried again when the program ends, on
/// structures that are gone. So it is never told: raw numbers go straight to the file, which keeps the first error of the system
/// to itself, and everything else (superblock, groups, headers, attributes) stays in memory, where nothing can fail, until HDF5
/// closes the file. Whoever writes asks `file` whether all went well.
std::int64_t access_through(WholeFile& file);

/// What HDF5 still holds open of `file`, because closing failed, writes nothing more into it.
void leave(const WholeFile& file);

}  // namespace invar
