// SPDX-License-Identifier: Apache-2.0
#include "invar/io/build_info.hpp"

#include <fmt/format.h>
#include <hdf5.h>

#include <Eigen/Core>

namespace invar {

BuildInfo build_info() {
  BuildInfo info;
  info.version = INVAR_VERSION;
#if defined(__clang__)
  info.compiler = fmt::format("clang++ {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  info.compiler = fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
#if defined(__OPTIMIZE__)
  info.flags = "optimised";
#else
  info.flags = "not optimised";
#endif
#if defined(NDEBUG)
  info.flags += ", no asserts";
#else
  info.flags += ", asserts";
#endif
#if defined(__AVX512F__)
  info.flags += ", avx512";
#elif defined(__AVX2__)
  info.flags += ", avx2";
#endif
#if defined(__FMA__)
  info.flags += ", fma";
#endif
#if defined(__SANITIZE_ADDRESS__)
  info.flags += ", sanitizers";
#endif
  info.eigen = fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  info.hdf5 = fmt::format("{}.{}.{}", H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
  return info;
}

}  // namespace invar
