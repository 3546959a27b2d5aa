// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace invar {

/// A maximum that NaN neither slips past nor falls out of: std::max(a, NaN) is a. Law: once `largest` is NaN it stays NaN.
inline void keep_largest(double& largest, double value) {
  if (value > largest || value != value) largest = value;
}

}  // namespace invar
