// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How Eigen lies in memory, the same for the library and for everybody who links it. Included by every header of ours that
/// shows Eigen.
///
/// A State that the library makes is destroyed by the program, so both must allocate and lay out alike, whatever -march,
/// sanitizer or compiler either was given. Left to itself, Eigen follows the flags: it takes malloc as it is where 16 bytes are
/// enough for the processor, and allocates by hand elsewhere (AVX, address sanitizer); one frees then what the other has
/// allocated.
///   EIGEN_MALLOC_ALREADY_ALIGNED=0   by hand everywhere: the pointer to free stands before the block, whatever its alignment
///   EIGEN_MAX_ALIGN_BYTES=64         as the widest processor wants it, so that its aligned loads work on blocks that the library
///                                    allocated, and so that sums do not depend on where a block happens to lie
///   EIGEN_MAX_STATIC_ALIGN_BYTES=16  members of objects: their layout does not follow the processor
/// CMake's target invar::invar and `pkg-config --cflags invar` define all three. docs/linking.md has more.
#if !defined(EIGEN_MAX_ALIGN_BYTES) || !defined(EIGEN_MAX_STATIC_ALIGN_BYTES) || !defined(EIGEN_MALLOC_ALREADY_ALIGNED)
#error \
    "Invar needs -DEIGEN_MAX_ALIGN_BYTES=64 -DEIGEN_MAX_STATIC_ALIGN_BYTES=16 -DEIGEN_MALLOC_ALREADY_ALIGNED=0 in all sources of the program: link the CMake target invar::invar, or take the flags of pkg-config --cflags invar (docs/linking.md)"
#elif EIGEN_MAX_ALIGN_BYTES != 64 || EIGEN_MAX_STATIC_ALIGN_BYTES != 16 || EIGEN_MALLOC_ALREADY_ALIGNED != 0
#error \
    "Eigen is set up in another way than Invar was built with; a program that mixes both crashes. Invar needs -DEIGEN_MAX_ALIGN_BYTES=64 -DEIGEN_MAX_STATIC_ALIGN_BYTES=16 -DEIGEN_MALLOC_ALREADY_ALIGNED=0 in all sources of the program, and no other values of these (docs/linking.md)"
#endif
#if defined(EIGEN_DEFAULT_TO_ROW_MAJOR) || defined(EIGEN_DONT_ALIGN) || defined(EIGEN_DONT_ALIGN_STATICALLY)
#error \
    "Invar was built without EIGEN_DEFAULT_TO_ROW_MAJOR, EIGEN_DONT_ALIGN and EIGEN_DONT_ALIGN_STATICALLY; a program that mixes both crashes (docs/linking.md)"
#endif

#include <Eigen/Core>
#include <cstddef>

namespace invar {

static_assert(sizeof(Eigen::Index) == sizeof(std::ptrdiff_t),
              "Invar was built with Eigen's own EIGEN_DEFAULT_DENSE_INDEX_TYPE (std::ptrdiff_t)");
static_assert(alignof(Eigen::Vector2d) == 16 && alignof(Eigen::Matrix<double, 8, 8>) == 16,
              "members of objects lie as they do in the library");

}  // namespace invar
