// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ctime>

namespace invar::bench {

/// Processor time of this thread, s: what others do on the machine disturbs it least.
inline double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace invar::bench
