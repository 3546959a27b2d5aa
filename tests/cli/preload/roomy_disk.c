// SPDX-License-Identifier: Apache-2.0
// Preloaded by tests of full disks: every file system says that it has room, so that a run begins that will not fit. With
// INVAR_NO_TMPFILE in the environment none of them has files without a name.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

int statvfs(const char* path, struct statvfs* out) {
  (void)path;
  memset(out, 0, sizeof *out);
  out->f_bsize = out->f_frsize = 4096;
  out->f_blocks = out->f_bfree = out->f_bavail = 1ul << 40;
  return 0;
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
  va_end(rest);
  if ((flags & O_TMPFILE) == O_TMPFILE && getenv("INVAR_NO_TMPFILE") != NULL) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
