// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

namespace invar {

/// Neumaier's compensated sum: the error does not grow with the number of terms.
class CompensatedSum {
 public:
  void add(double x) {
    const double t = sum_ + x;
    rest_ += std::abs(sum_) >= std::abs(x) ? (sum_ - t) + x : (x - t) + sum_;
    sum_ = t;
  }
  double value() const { return sum_ + rest_; }

 private:
  double sum_ = 0;
  double rest_ = 0;
};

}  // namespace invar
