// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A ring of job records: one thread writes, one reads, nobody waits.
///
/// Shared words and why their order is enough:
/// - head_: records written so far. Only the writer stores it, with release after the record; the
///   reader loads it with acquire, so it sees every record below head_ complete.
/// - tail_: records read so far. Only the reader stores it, with release after it has copied them
///   out; the writer loads it with acquire, so it overwrites a slot only after it was copied.
/// - dropped_: only the writer stores it; a statistic, so relaxed is enough.
/// A full ring drops the new record and counts it: what is kept is never torn. push() is real-time
/// safe: no lock, no allocation, a bounded number of steps. model/trace_ring.pml checks the order.
#ifndef TRACE_RING_HPP_
#define TRACE_RING_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rclrt_trace/record.h"

namespace rclrt_core
{

class TraceRing
{
public:
  /// Room for at least `capacity` records; 0 records nothing.
  explicit TraceRing(std::size_t capacity)
  {
    if (capacity > 0) {
      std::size_t size = 1;
      while (size < capacity) {
        size *= 2;
      }
      mask_ = size - 1;
      records_.reset(new rclrt_job_record[size]);
    }
  }

  /// Writer only.
  void push(const rclrt_job_record & record) noexcept
  {
    if (!records_) {
      return;
    }
    const uint64_t head = head_.load(std::memory_order_relaxed);  // own word
    if (head - tail_.load(std::memory_order_acquire) > mask_) {
      dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
    records_[head & mask_] = record;
    head_.store(head + 1, std::memory_order_release);
  }

  /// Reader only: visit and remove what was there on entry, oldest first.
  template <typename Visitor>
  void drain(const Visitor & visit)
  {
    const uint64_t head = head_.load(std::memory_order_acquire);
    for (uint64_t i = tail_.load(std::memory_order_relaxed); i != head; ++i) {
      const rclrt_job_record record = records_[i & mask_];
      tail_.store(i + 1, std::memory_order_release);
      visit(record);
    }
  }

  uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

private:
  std::unique_ptr<rclrt_job_record[]> records_;
  uint64_t mask_ = 0;
  std::atomic<uint64_t> head_{0};
  std::atomic<uint64_t> tail_{0};
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace rclrt_core

#endif  // TRACE_RING_HPP_
