// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace invar {

/// How this library was built. Same input, same binary, same CPU model: same bits; so results say which binary it was.
struct BuildInfo {
  std::string version;   ///< "0.1.0"
  std::string compiler;  ///< "g++ 12.2.0"
  std::string flags;     ///< what the compiler was told, as far as code can see: "optimised, no asserts, avx2, fma"
  std::string eigen;     ///< "3.4.0"
  std::string hdf5;      ///< "1.10.8"
};
BuildInfo build_info();

}  // namespace invar
