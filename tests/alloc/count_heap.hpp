// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace invar::testing {

/// Counts the calls that ask the heap for memory (malloc, calloc, realloc, aligned forms, and so operator new) from its
/// construction on, in the whole program and by every library in it. Only the executable that contains count_heap.cpp counts.
class HeapCount {
 public:
  HeapCount() : start_(total()) {}
  long calls() const { return total() - start_; }

 private:
  static long total();
  long start_;
};

}  // namespace invar::testing
