// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "allocations.hpp"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(RCLRT_SANITIZE_address) || defined(RCLRT_SANITIZE_thread)
#define HAS_SANITIZER 1
#else
#define HAS_SANITIZER 0
#endif

namespace
{

// Relaxed: statistics, read when nothing is going on.
std::atomic<uint64_t> count{0};
std::atomic<int64_t> bytes{0};

[[maybe_unused]] void * note(void * taken) noexcept
{
  if (taken != nullptr) {
    count.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(static_cast<int64_t>(malloc_usable_size(taken)), std::memory_order_relaxed);
  }
  return taken;
}

[[maybe_unused]] void forget(void * given_back) noexcept
{
  if (given_back != nullptr) {
    bytes.fetch_sub(
      static_cast<int64_t>(malloc_usable_size(given_back)), std::memory_order_relaxed);
  }
}

}  // namespace

namespace memory
{

bool counts_allocations() noexcept { return HAS_SANITIZER == 0; }
uint64_t allocations() noexcept { return count.load(std::memory_order_relaxed); }
int64_t allocated_bytes() noexcept { return bytes.load(std::memory_order_relaxed); }

}  // namespace memory

#if !HAS_SANITIZER

// The C library's own names for what is replaced here.
extern "C" {
void * __libc_malloc(std::size_t size);
void * __libc_calloc(std::size_t count, std::size_t size);
void * __libc_realloc(void * old, std::size_t size);
void * __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void * old);

void * malloc(std::size_t size) noexcept { return note(__libc_malloc(size)); }

void * calloc(std::size_t number, std::size_t size) noexcept
{
  return note(__libc_calloc(number, size));
}

void * realloc(void * old, std::size_t size) noexcept
{
  forget(old);
  void * const taken = __libc_realloc(old, size);
  if (taken == nullptr && old != nullptr && size > 0) {
    note(old);  // it is still there
    return nullptr;
  }
  return note(taken);
}

void * memalign(std::size_t alignment, std::size_t size) noexcept
{
  return note(__libc_memalign(alignment, size));
}

void * aligned_alloc(std::size_t alignment, std::size_t size) noexcept
{
  return note(__libc_memalign(alignment, size));
}

int posix_memalign(void ** taken, std::size_t alignment, std::size_t size) noexcept
{
  *taken = note(__libc_memalign(alignment, size));
  return *taken == nullptr ? ENOMEM : 0;
}

void free(void * old) noexcept
{
  forget(old);
  __libc_free(old);
}
}

#endif  // !HAS_SANITIZER
