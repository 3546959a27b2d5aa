// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <numeric>
#include <vector>

#include "invar/base/index.hpp"

namespace invar {

/// Disjoint sets of 0 .. n-1 that grow together: the connected components of a graph whose edges come one by one.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t n) : up_(n) { std::iota(up_.begin(), up_.end(), 0); }

  /// The element that stands for the component of a.
  int find(int a) {
    while (up_[size(a)] != a) a = up_[size(a)] = up_[size(up_[size(a)])];
    return a;
  }
  /// False: they were one already.
  bool join(int a, int b) {
    a = find(a), b = find(b);
    if (a == b) return false;
    up_[size(a)] = b;
    return true;
  }

 private:
  std::vector<int> up_;
};

}  // namespace invar
