// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The rings of all threads that have made records, and what the OS does with these threads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "rclrt_core/trace_ring.hpp"

namespace rclrt_probe
{

/// How the OS schedules a thread. Two words, each a number by itself: stored by the thread when it takes its ring, and by
/// the writer in each round; loaded by the thread. Relaxed. So a change is in the records after a round at the latest.
class InForce
{
public:
  /// Asks the OS. `thread`: 0 for the caller.
  void refresh(int thread) noexcept;
  void put_into(rclrt_job_record * record) const noexcept;

private:
  std::atomic<uint32_t> policy_{RCLRT_POLICY_UNKNOWN};  ///< and in the upper half the priority
  std::atomic<uint64_t> cpus_{0};
};

struct Ring
{
  static constexpr std::size_t kCapacity = 2048;

  rclrt_core::TraceRing records{kCapacity};
  rclrt_core::TraceReader reader{records};  ///< the writer's
  InForce in_force;
  static constexpr int kFree = 0;
  static constexpr int kUnread = -1;  ///< its thread has ended, its records may not be read yet
  /// The thread that it belongs to, or one of these. A thread takes a ring by exchange (acquire) and gives it back with
  /// release; the writer frees it after it has read, with release. So what the next thread does to the ring comes after
  /// what the last one did, and after it was read.
  std::atomic<int> thread{kFree};
};

/// A ring of a thread that has ended goes to the next one; its records stay in it until they are read.
class Rings
{
public:
  static constexpr std::size_t kMost = 4096;

  /// For the calling thread. Allocates if none is free. Null: there are too many threads, or no memory.
  Ring * take(int thread) noexcept;
  static void give_back(Ring & ring) noexcept
  {
    ring.thread.store(Ring::kUnread, std::memory_order_release);
  }

  template <typename Visitor>
  void for_each(const Visitor & visit)
  {
    const std::size_t count = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count && i < kMost; ++i) {
      if (Ring * const ring = rings_[i].load(std::memory_order_acquire)) {
        visit(*ring);
      }
    }
  }

private:
  Ring * take_old(int state, int thread) noexcept;

  /// Each stored once, with release, by the thread that has made it.
  std::array<std::atomic<Ring *>, kMost> rings_{};
  /// Places given out. Raised before a place is filled: a reader finds null until then.
  std::atomic<std::size_t> count_{0};
};

}  // namespace rclrt_probe
