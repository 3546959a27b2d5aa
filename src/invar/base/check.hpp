// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdio>
#include <cstdlib>

/// Stops the program on a mistake of the programmer (a wrong size, an index out of range). Not for bad input: see Result.
#define INVAR_CHECK(condition, sentence)                                                                      \
  do {                                                                                                        \
    if (!(condition)) {                                                                                       \
      std::fprintf(stderr, "%s:%d: invar check failed: %s (%s)\n", __FILE__, __LINE__, sentence, #condition); \
      std::abort();                                                                                           \
    }                                                                                                         \
  } while (false)
