// SPDX-License-Identifier: Apache-2.0
#pragma once

// For the sources of this room only.
namespace invar {

enum class Share { Exclusive, Shared };

/// Takes a lock on an open file (flock), which is held as long as the file is open. False only where somebody else holds a lock
/// that conflicts with it: a file system that has no locks keeps nobody out.
bool take_lock(int fd, Share kind);

}  // namespace invar
