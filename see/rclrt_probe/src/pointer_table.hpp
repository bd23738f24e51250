// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a pointer of the program stands for. Readers take no lock.
///
/// Shared words and why their order is enough:
/// - key: stored once, by a writer that holds the lock of the writers, with release after the first value of its place.
///   Never changed again. A reader loads it with acquire, so it finds the value that belongs to it.
/// - value: stored by writers under that lock, with release after what it leads to; loaded with acquire. 0: forgotten.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace rclrt_probe
{

template <typename T, unsigned kBits>
class PointerTable
{
public:
  PointerTable() = default;
  ~PointerTable() { munmap(places_, kSize * sizeof(Place)); }
  PointerTable(const PointerTable &) = delete;
  PointerTable & operator=(const PointerTable &) = delete;

  /// Null: unknown.
  T * find(const void * pointer) const noexcept
  {
    const auto key = reinterpret_cast<uintptr_t>(pointer);
    for (std::size_t i = first_of(key);; i = (i + 1) & kMask) {
      const uintptr_t here = places_[i].key.load(std::memory_order_acquire);
      if (here == key) {
        return places_[i].value.load(std::memory_order_acquire);
      }
      if (here == 0) {
        return nullptr;  // It is never full.
      }
    }
  }

  /// One writer at a time. False: there is no room, and never will be. Null forgets the pointer.
  bool set(const void * pointer, T * value) noexcept
  {
    const auto key = reinterpret_cast<uintptr_t>(pointer);
    if (key == 0) {
      return false;
    }
    for (std::size_t i = first_of(key);; i = (i + 1) & kMask) {
      Place & place = places_[i];
      const uintptr_t here = place.key.load(std::memory_order_relaxed);  // the writers' own
      if (here == key) {
        place.value.store(value, std::memory_order_release);
        return true;
      }
      if (here == 0) {
        if (used_ == kMost) {
          return false;
        }
        ++used_;
        place.value.store(value, std::memory_order_release);
        place.key.store(key, std::memory_order_release);
        return true;
      }
    }
  }

private:
  static constexpr std::size_t kSize = std::size_t{1} << kBits;
  static constexpr std::size_t kMask = kSize - 1;
  static constexpr std::size_t kMost = kSize / 4 * 3;

  struct Place
  {
    std::atomic<uintptr_t> key;
    std::atomic<T *> value;
  };

  static std::size_t first_of(uintptr_t key) noexcept
  {
    return (static_cast<uint64_t>(key) * 0x9E3779B97F4A7C15u) >> (64 - kBits);
  }

  static Place * make()
  {
    // Zeros that take no memory before they are used: most programs have few entities.
    void * const made = mmap(
      nullptr, kSize * sizeof(Place), PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) {
      throw std::bad_alloc();
    }
    return static_cast<Place *>(made);
  }

  Place * const places_ = make();
  std::size_t used_ = 0;
};

}  // namespace rclrt_probe
