// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace invar::kernel {

/// As many doubles as one register of the target holds. Wider vectors are split through memory by g++ and cost a factor of
/// five, so the width follows the target. Loads and stores need no alignment beyond that of a double.
#if defined(__AVX512F__)
inline constexpr int kLanes = 8;
#elif defined(__AVX__)
inline constexpr int kLanes = 4;
#else
inline constexpr int kLanes = 2;
#endif
typedef double Lanes __attribute__((vector_size(8 * kLanes), aligned(8), may_alias));

inline constexpr int kOctet = 8 / kLanes;  ///< registers that hold eight doubles

/// Eight doubles in registers.
struct Octet {
  Lanes part[kOctet];

  static Octet load(const double* p) {
    Octet v;
    for (int i = 0; i < kOctet; ++i) v.part[i] = reinterpret_cast<const Lanes*>(p)[i];
    return v;
  }
  void store(double* p) const {
    for (int i = 0; i < kOctet; ++i) reinterpret_cast<Lanes*>(p)[i] = part[i];
  }
  void add(const Octet& a, double s) {
    for (int i = 0; i < kOctet; ++i) part[i] += a.part[i] * s;
  }
  void subtract(const Octet& a, double s) {
    for (int i = 0; i < kOctet; ++i) part[i] -= a.part[i] * s;
  }
  void add(const Octet& a, const Octet& b) {
    for (int i = 0; i < kOctet; ++i) part[i] += a.part[i] * b.part[i];
  }
};

}  // namespace invar::kernel
