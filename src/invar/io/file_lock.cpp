// SPDX-License-Identifier: Apache-2.0
#include "invar/io/file_lock.hpp"

#include <sys/file.h>

#include <cerrno>

namespace invar {

bool take_lock(int fd, Share kind) {
  const int operation = (kind == Share::Shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  while (::flock(fd, operation) != 0)
    if (errno != EINTR) return errno != EWOULDBLOCK;  // ENOLCK, EOPNOTSUPP: there are no locks here
  return true;
}

}  // namespace invar
