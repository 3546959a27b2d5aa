// SPDX-License-Identifier: Apache-2.0
#include "alloc/count_heap.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

// A program may define malloc itself; glibc keeps its own under other names for that purpose. operator new of the C++
// library calls malloc, so one set of definitions sees both. The sanitizers have replaced malloc already: there we ask
// them to tell us of each call.
namespace {
std::atomic<long> heap_calls{0};
}

long invar::testing::HeapCount::total() { return heap_calls.load(); }

#if defined(__has_feature)  // clang's way to say it
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)

// Of sanitizer/allocator_interface.h, which not every compiler package ships.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*));

namespace {
void count_malloc(const volatile void*, std::size_t) { ++heap_calls; }
void ignore_free(const volatile void*) {}
const int hooked = __sanitizer_install_malloc_and_free_hooks(count_malloc, ignore_free);
}  // namespace

#else

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) {
  ++heap_calls;
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
  ++heap_calls;
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t size) {
  ++heap_calls;
  return __libc_realloc(p, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  ++heap_calls;
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++heap_calls;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t size) {
  ++heap_calls;
  *p = __libc_memalign(alignment, size);
  return *p == nullptr ? ENOMEM : 0;
}
void free(void* p) { __libc_free(p); }

}  // extern "C"

#endif
