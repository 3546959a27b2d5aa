// SPDX-License-Identifier: Apache-2.0
// Preloaded by tests of full disks: every file system says that it has room, so that a run begins that will not fit.
#include <string.h>
#include <sys/statvfs.h>

int statvfs(const char* path, struct statvfs* out) {
  (void)path;
  memset(out, 0, sizeof *out);
  out->f_bsize = out->f_frsize = 4096;
  out->f_blocks = out->f_bfree = out->f_bavail = 1ul << 40;
  return 0;
}
